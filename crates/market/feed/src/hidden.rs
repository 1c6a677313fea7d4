//! The search for a record inside a message that lacks bytes.

use nanotape_market::Damage;
use nanotape_wire::itch50::Message;

use crate::resync::{has_text_for_a_locate, record_before};

/// The record at the end of a message, if a whole record of a known type might begin there, and the
/// damage that it would prove. The record of the message itself is at `offset`.
///
/// In a message that lacks bytes, the next records take their position. If exactly one record's
/// length is missing, the chain of lengths still fits. One message in a million is like this by
/// chance: the caller checks whether time and stock of the inner record are plausible.
#[cold]
pub fn hidden_in(message: &[u8], offset: u64) -> Option<(Damage, Message<'_>)> {
    let record =
        record_before(message.get(1..)?).filter(|record| !has_text_for_a_locate(record))?;
    let inner = Message::decode(&record[2..]).ok()?;
    let offset = offset + (2 + message.len() - record.len()) as u64;
    Some((Damage::Hidden { offset, bytes: record.len() as u64 }, inner))
}
