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
const LONGEST_SECONDS: f64 = 3.2e7;

/// Runs `work` beside the interpreter, and asks `tell` each time that signals are looked at and when
/// it is done. After `seconds` its course is over: what is known must do. On a signal, or where `tell`
/// fails, it is stopped, the work is waited for, and the exception is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    seconds: Option<f64>,
    work: impl FnOnce(&Course) -> T + Send,
    tell: impl Fn(&Course) -> PyResult<()>,
) -> PyResult<T> {
    let course = Course::default();
    let seconds = seconds.unwrap_or(LONGEST_SECONDS);
    let limit = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_SECONDS));
    std::thread::scope(|scope| {
        let (done, mut finished) = channel();
        let course = &course;
        scope.spawn(move || {
            // The receiver is gone only if the interpreter is: nobody is left to be told.
            let _ = done.send(work(course));
        });
        loop {
            // The receiver travels into the closure and back: it may be sent, but not shared.
            let outcome;
            (finished, outcome) = py.detach(move || {
                let outcome = finished.recv_timeout(SIGNAL_INTERVAL);
                (finished, outcome)
            });
            match outcome {
                Ok(result) => return tell(course).map(|()| result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(InternalError::new_err(()));
                }
            }
            if Instant::now() >= limit {
                course.end();
            }
            if let Err(signal) = py.check_signals().and_then(|()| tell(course)) {
                course.stop();
                return Err(signal);
            }
        }
    })
}
