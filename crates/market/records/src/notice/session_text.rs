//! Human-readable text of the notices of a session, and back.

use std::fmt;

use nanotape_market::MessageNumbers;

use super::session::{GapNotice, RestoredCause, RestoredNotice, SuspectNotice, SuspectReason};

const COMPLETE: &str = "all books are complete: the missing messages came";
const SAME: &str = "book reliable: as it is";
const REPLACED: &str = "book reliable: replaced";
/// The same texts of programs before November 2026, whose tables may be read.
const SAME_BEFORE: &str = "book reliable: it is that of the snapshot";
const REPLACED_BEFORE: &str = "book reliable: replaced by that of the snapshot";
const SNAPSHOT: &str = "all books are those of the snapshot";
const BEFORE: &str = ", before message ";

impl fmt::Display for GapNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.gap.fmt(f)
    }
}

/// `any book may lack orders: messages 27 to 30 missing`.
impl fmt::Display for SuspectNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = MessageNumbers { first: self.first, next: self.next };
        write!(f, "any book may lack orders: {numbers} ")?;
        match self.reason {
            SuspectReason::LateJoin => f.write_str("before the session was joined"),
            _ => f.write_str("missing"),
        }
    }
}

/// `book reliable: replaced, before message 31`.
impl fmt::Display for RestoredNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.cause {
            RestoredCause::Complete => COMPLETE,
            RestoredCause::Same => SAME,
            RestoredCause::Replaced => REPLACED,
            RestoredCause::Snapshot => SNAPSHOT,
            RestoredCause::Unknown(_) => "reliable for an unknown reason",
        };
        write!(f, "{text}{BEFORE}{}", self.next)
    }
}

impl RestoredNotice {
    /// The cause and the number of the next message in the text of a notice.
    pub fn of_text(text: &str) -> Option<(RestoredCause, u64)> {
        let (cause, next) = text.rsplit_once(BEFORE)?;
        let cause = match cause {
            COMPLETE => RestoredCause::Complete,
            SAME | SAME_BEFORE => RestoredCause::Same,
            REPLACED | REPLACED_BEFORE => RestoredCause::Replaced,
            SNAPSHOT => RestoredCause::Snapshot,
            _ => return None,
        };
        Some((cause, next.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_taint_is_the_same_after_it_was_text() {
        for cause in [
            RestoredCause::Complete,
            RestoredCause::Same,
            RestoredCause::Replaced,
            RestoredCause::Snapshot,
        ] {
            let restored =
                RestoredNotice { instrument_id: 3, ts_event: 1, ts_recv: 2, cause, next: 31 };
            assert_eq!(RestoredNotice::of_text(&restored.to_string()), Some((cause, 31)));
        }
        assert_eq!(RestoredNotice::of_text("book reliable, before message 3"), None);
    }
}
