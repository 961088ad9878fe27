//! The one door for long work: the interpreter's lock is released, and Ctrl-C is answered.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use planopt_core::course::Course;
use pyo3::prelude::*;

use crate::errors::InternalError;

/// How often signals are looked at: well within the fifth of a second after which people press
/// Ctrl-C again.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The longest that anything may take: a year is no limit.
pub(crate) const LONGEST_SECONDS: f64 = 3.2e7;

/// Runs `work` beside the interpreter, and asks `tell` each time that signals are looked at and when
/// it is done. After so many `seconds` each of its courses is over: what is known must do. On a signal, or
/// where `tell` fails, all are stopped, the work is waited for, and the exception is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    seconds: &[f64],
    work: impl FnOnce(&[Course]) -> T + Send,
    tell: impl Fn(&[Course]) -> PyResult<()>,
) -> PyResult<T> {
    let limit = |seconds: &f64| Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_SECONDS));
    let (started, limits) = (Instant::now(), seconds.iter().map(limit));
    let limits: Vec<Duration> = limits.collect();
    let courses: Vec<Course> = limits.iter().map(|_| Course::default()).collect();
    std::thread::scope(|scope| {
        let (done, mut finished) = channel();
        let courses = &courses;
        scope.spawn(move || {
            // The receiver is gone only if the interpreter is: nobody is left to be told.
            let _ = done.send(work(courses));
        });
        loop {
            // The receiver travels into the closure and back: it may be sent, but not shared.
            let outcome;
            (finished, outcome) = py.detach(move || {
                let outcome = finished.recv_timeout(SIGNAL_INTERVAL);
                (finished, outcome)
            });
            match outcome {
                Ok(result) => return tell(courses).map(|()| result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(InternalError::new_err(()));
                }
            }
            let each = courses.iter().zip(&limits);
            each.filter(|(_, limit)| started.elapsed() >= **limit)
                .for_each(|(course, _)| course.end());
            if let Err(signal) = py.check_signals().and_then(|()| tell(courses)) {
                courses.iter().for_each(Course::stop);
                return Err(signal);
            }
        }
    })
}

/// Does something of each at the same time, on a thread of its own.
pub(crate) fn beside_each_other<Q: Send, A: Send>(
    each: impl Iterator<Item = Q>,
    ask: impl Fn(Q) -> A + Sync,
) -> Vec<A> {
    std::thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = each.map(|one| scope.spawn(move || ask(one))).collect();
        let answers = asked.into_iter().map(std::thread::ScopedJoinHandle::join);
        answers
            .map(|answer| answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
