//! The search for a record inside a message that lacks bytes.

use nanotape_market::Damage;
use nanotape_wire::itch50::Message;

use crate::resync::{has_text_for_a_locate, record_before};

/// The record at the end of a message, if a whole one of a known type might begin there, and the
/// damage that this would be. The message's own record is at `offset`.
///
/// A message that lacks bytes has the next ones in their position. If it lacks as many as the next
/// record has, the chain of lengths shows nothing. By chance one message in a million looks like
/// this: the caller judges whether time and stock of the inner one make sense there.
#[cold]
pub fn hidden_in(message: &[u8], offset: u64) -> Option<(Damage, Message<'_>)> {
    let record =
        record_before(message.get(1..)?).filter(|record| !has_text_for_a_locate(record))?;
    let inner = Message::decode(&record[2..]).ok()?;
    let offset = offset + (2 + message.len() - record.len()) as u64;
    Some((Damage::Hidden { offset, bytes: record.len() as u64 }, inner))
}
