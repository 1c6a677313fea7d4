//! The check that a message of a ring is the one that was published.

use nanotape_ring::Received;

use crate::{
    engine::message::{Length, is_sound},
    error::Error,
};

/// Checks the length of a message, and all of its payload except the stamp.
#[inline(always)]
pub(super) fn check(message: &[u8], length: impl Length, received: Received) -> Result<(), Error> {
    if received.length as usize == length.bytes() && is_sound(message, received.sequence) {
        return Ok(());
    }
    Err(wrong(received))
}

#[cold]
pub(super) fn wrong(received: Received) -> Error {
    Error::Wrong { sequence: received.sequence, length: received.length as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::message::{MESSAGE, USUAL_BYTES, Usual, fill};

    fn received(sequence: u64, length: u32) -> Received {
        Received { sequence, type_id: MESSAGE, length }
    }

    #[test]
    fn a_message_in_the_place_of_another_is_noticed() {
        let mut message = [0; USUAL_BYTES];
        fill(&mut message, 7);
        assert!(check(&message, Usual, received(7, 73)).is_ok());
        assert!(check(&message, Usual, received(8, 73)).is_err());
        assert!(check(&message, Usual, received(7, 72)).unwrap_err().is_finding());
    }
}
