//! How long to wait for a stream that its writer is about to create.

use std::{sync::OnceLock, thread, time::Duration};

use nanotape_clock::{Clock, Stamp};

use crate::ShutdownFlag;

/// Time between two attempts.
const RETRY: Duration = Duration::from_millis(1);

/// The clock of all deadlines. A new clock measures its costs for 0.4 ms, and a reader that waits
/// makes a deadline for each wait.
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::monotonic)
}

/// The end of a wait that began when the value was made.
#[derive(Clone, Debug)]
pub struct Deadline {
    began: Stamp,
    wait: Duration,
}

impl Deadline {
    /// Ends after this time.
    pub fn after(wait: Duration) -> Self {
        Self { began: clock().stamp(), wait }
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        u128::from(clock().nanos_between(self.began, clock().stamp())) >= self.wait.as_nanos()
    }

    /// The whole duration of the wait.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// Opens something that might not exist yet: retries while an attempt fails with an error that
    /// `is_pending`, up to the deadline. Returns `None` if a shutdown was requested first.
    pub fn open<T, E>(
        &self,
        shutdown: &ShutdownFlag,
        is_pending: impl Fn(&E) -> bool,
        mut open: impl FnMut() -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        while !shutdown.is_requested() {
            match open() {
                Err(error) if is_pending(&error) && !self.is_over() => thread::sleep(RETRY),
                outcome => return outcome.map(Some),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_is_retried_until_the_deadline_or_a_shutdown() {
        let (flag, long) = (ShutdownFlag::new(), Deadline::after(Duration::from_secs(60)));
        let mut attempts = 0;
        let opened = long.open(
            &flag,
            |error| *error < 3,
            || {
                attempts += 1;
                if attempts == 5 { Ok(attempts) } else { Err(attempts % 3) }
            },
        );
        assert_eq!(opened, Ok(Some(5)));
        assert_eq!(long.open::<(), _>(&flag, |error| *error < 3, || Err(7)), Err(7));
        let over = Deadline::after(Duration::ZERO);
        assert_eq!(over.open::<(), _>(&flag, |_| true, || Err("not yet")), Err("not yet"));
        flag.request();
        assert_eq!(long.open::<(), _>(&flag, |_| true, || Err("not yet")), Ok(None));
        flag.sleep(Duration::from_secs(60));
    }
}
