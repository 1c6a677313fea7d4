//! What a plant waits for, on its board.
//!
//! A paced day begins at 03:00 with messages about the market, and goes on at 04:00: for an hour
//! nothing is published. This shows an operator that the plant is not stuck.

use std::time::Duration;

use nanotape_shm::Word;
use nanotape_tape::LongWaits;
use nanotape_types::NanosSinceMidnight;

use super::layout::{WAITING, WAITING_DUE_NS, WAITING_EVENT_NS, WAITING_JOINED};

/// What a plant waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// The time of the next message.
    Message {
        /// The exchange's time of the message, ns since the UNIX epoch.
        ts_event: u64,
        /// When it is due, ns since the UNIX epoch.
        due_ns: u64,
    },
    /// Named followers that join before the first record.
    Followers {
        /// How many have joined.
        joined: u64,
    },
    /// The recorder, which is half a ring behind.
    Recorder,
    /// A named follower that is half a ring behind: the slowest one.
    Follower,
}

const MESSAGE: u64 = 1;
const FOLLOWERS: u64 = 2;
const RECORDER: u64 = 3;
const FOLLOWER: u64 = 4;

impl Waiting {
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::Followers { .. } => "followers",
            Self::Recorder => "recorder",
            Self::Follower => "follower",
        }
    }

    /// The exchange's time of day of the next message, if it is waited for.
    pub fn until(self, midnight_ns: u64) -> Option<NanosSinceMidnight> {
        let Self::Message { ts_event, .. } = self else { return None };
        NanosSinceMidnight::new(ts_event.checked_sub(midnight_ns)?)
    }

    /// The words for an operator: `waiting until 04:00:00 (exchange time), in 59 min 58 s`.
    pub fn text(self, midnight_ns: u64, now_ns: u64) -> String {
        match (self, self.until(midnight_ns)) {
            (Self::Message { due_ns, .. }, Some(until)) => {
                let left = Duration::from_nanos(due_ns.saturating_sub(now_ns));
                LongWaits::text(until.get(), "exchange", left)
            }
            (Self::Message { .. }, None) => "waiting for the time of the next message".to_owned(),
            (Self::Followers { joined }, _) => {
                format!("waiting for named followers to join; joined: {joined}")
            }
            (Self::Recorder, _) => "waiting for the recorder, half a ring behind".to_owned(),
            (Self::Follower, _) => "waiting for a named follower, half a ring behind".to_owned(),
        }
    }
}

/// Stores what the plant waits for. The kind comes last, and is removed first.
pub(super) fn store(words: &[Word], waiting: Option<Waiting>) {
    words[WAITING].store(0);
    let Some(waiting) = waiting else { return };
    let kind = match waiting {
        Waiting::Message { ts_event, due_ns } => {
            words[WAITING_EVENT_NS].store(ts_event);
            words[WAITING_DUE_NS].store(due_ns);
            MESSAGE
        }
        Waiting::Followers { joined } => {
            words[WAITING_JOINED].store(joined);
            FOLLOWERS
        }
        Waiting::Recorder => RECORDER,
        Waiting::Follower => FOLLOWER,
    };
    words[WAITING].store(kind);
}

/// What the plant waits for; `None` if it works.
pub(super) fn load(word: impl Fn(usize) -> u64) -> Option<Waiting> {
    Some(match word(WAITING) {
        MESSAGE => {
            Waiting::Message { ts_event: word(WAITING_EVENT_NS), due_ns: word(WAITING_DUE_NS) }
        }
        FOLLOWERS => Waiting::Followers { joined: word(WAITING_JOINED) },
        RECORDER => Waiting::Recorder,
        FOLLOWER => Waiting::Follower,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_reads_as_a_time_and_the_rest_of_it() {
        let second = 1_000_000_000;
        let four = 4 * 3600 * second;
        for (early, text) in [(7, "7 s"), (3_598, "59 min 58 s"), (7_260, "2 h 1 min")] {
            let waiting = Waiting::Message { ts_event: 77 + four + 5, due_ns: early * second };
            let expected = format!("waiting until 04:00:00 (exchange time), in {text}");
            assert_eq!(waiting.text(77, 0), expected);
        }
        // Words of a damaged board: a time before midnight, and one that is over.
        let over = Waiting::Message { ts_event: four, due_ns: 3 };
        assert!(over.text(0, 4).ends_with("in 0 s"));
        assert_eq!(over.text(u64::MAX, 0), "waiting for the time of the next message");
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let words: Vec<Word> = (0..64).map(|_| Word::new(9)).collect();
        let load = || load(|word| words[word].as_read_only().load());
        let message = Waiting::Message { ts_event: 1, due_ns: 2 };
        let followers = Waiting::Followers { joined: 3 };
        assert_eq!(load(), None, "an unknown value");
        for waiting in [message, followers, Waiting::Recorder, Waiting::Follower] {
            store(&words, Some(waiting));
            assert_eq!(load(), Some(waiting));
            store(&words, None);
            assert_eq!(load(), None);
        }
    }
}
