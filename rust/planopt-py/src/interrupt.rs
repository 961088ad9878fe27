//! The one door for long work: the interpreter's lock is released, and Ctrl-C is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::InternalError;

/// How often signals are looked at: well within the fifth of a second after which people press
/// Ctrl-C again.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The longest that anything may take: a year is no limit.
const LONGEST_SECONDS: f64 = 3.2e7;

/// Runs `work` beside the interpreter. On a signal `stop` is set, the work is waited for, and the
/// signal's exception is raised.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    watched(py, work, |_| Ok(()))
}

/// The same, told to stop after some seconds.
pub(crate) fn limited<T: Send>(
    py: Python<'_>,
    seconds: f64,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let limit = after(seconds);
    watched(py, work, |stop| {
        stop.fetch_or(Instant::now() >= limit, Ordering::Relaxed);
        Ok(())
    })
}

/// When so many seconds have passed.
pub(crate) fn after(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_SECONDS))
}

/// The same, and `tell` is asked each time that signals are looked at; it may stop the work.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    tell: impl Fn(&AtomicBool) -> PyResult<()>,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, mut finished) = channel();
        let stop = &stop;
        scope.spawn(move || {
            // The receiver is gone only if the interpreter is: nobody is left to be told.
            let _ = done.send(work(stop));
        });
        loop {
            // The receiver travels into the closure and back: it may be sent, but not shared.
            let outcome;
            (finished, outcome) = py.detach(move || {
                let outcome = finished.recv_timeout(SIGNAL_INTERVAL);
                (finished, outcome)
            });
            match outcome {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(InternalError::new_err(()));
                }
            }
            if let Err(signal) = py.check_signals().and_then(|()| tell(stop)) {
                stop.store(true, Ordering::Relaxed);
                return Err(signal);
            }
        }
    })
}
