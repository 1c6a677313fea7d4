//! Models of rings, and their outcomes as text.
//!
//! An outcome is a line of a reader's results: `1` message 1, whole; `-` no message yet; `lost 1-2`
//! a lap; `torn` a message that was never published; `damaged` an error of the reader.

use std::fmt::Write as _;

use nanotape_ring::{
    Message, Publish, Read, ReadError, Received, RingError, Start, StartError, Subscribe, Verified,
};
use nanotape_shm::models::Case;

/// A program of a writer and its readers, and its allowed outcomes.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) allowed: &'static [&'static str],
    pub(crate) run: fn() -> String,
}

impl Model {
    /// Fails if there is another outcome, and if an allowed one did not occur.
    pub(crate) fn check(&self) {
        self.case().check();
    }

    pub(crate) fn case(&self) -> Case {
        Case::new(self.name, self.allowed, self.run)
    }
}

/// A test for each model, with its name, and the list of all models.
macro_rules! models {
    ($($model:ident: $test:ident,)+) => {
        /// All models, for tests of every site.
        pub(crate) const MODELS: &[&Model] = &[$(&$model),+];

        $(#[test]
        fn $test() {
            $model.check();
        })+
    };
}

pub(crate) use models;

/// Publishes a message of `words` words, all of them `value`: the sequence number, plus a hundred
/// for the second writer.
pub(crate) fn publish(writer: &mut impl Publish, value: u64, words: usize) {
    let published = writer.publish(value as u16, &payload(value, words));
    assert_eq!(published, Ok(value % 100));
}

/// The payload of such a message.
pub(crate) fn payload(value: u64, words: usize) -> Vec<u8> {
    value.to_ne_bytes().repeat(words)
}

/// One read, as text.
pub(crate) fn read(reader: &mut impl Subscribe) -> String {
    let mut buffer = [0; 64];
    let read = reader.try_read(&mut buffer);
    text(read.map(|read| match read {
        Read::Message(received) => {
            Read::Message(message(received, &buffer[..received.length as usize]))
        }
        Read::Empty => Read::Empty,
        Read::Lapped(lapped) => Read::Lapped(lapped),
    }))
}

/// Runs it twice.
pub(crate) fn two(mut one: impl FnMut() -> String) -> String {
    let first = one();
    format!("{first}, {}", one())
}

/// One read in place, as text.
pub(crate) fn visit(reader: &mut impl Subscribe) -> String {
    text(reader.try_visit(|view: &Message<'_>| {
        let mut buffer = [0; 64];
        let length = view.copy_to(&mut buffer);
        message(view.received(), &buffer[..length])
    }))
}

/// One read of a batch, as text: `1+2` are two messages in one.
pub(crate) fn batch(reader: &mut impl Subscribe) -> String {
    let mut messages = Vec::new();
    let mut buffer = [0; 256];
    let read = reader.read_batch(&mut buffer, |received, bytes| {
        messages.push(message(received, bytes));
    });
    text(read.map(|read| match read {
        Read::Message(count) => {
            assert_eq!(count, messages.len() as u64);
            Read::Message(messages.join("+"))
        }
        Read::Empty => Read::Empty,
        Read::Lapped(lapped) => Read::Lapped(lapped),
    }))
}

/// Moves to another position, as text: the number of the next message.
pub(crate) fn seek(reader: &mut impl Subscribe, start: Start) -> String {
    match reader.seek(start) {
        Ok(()) => format!("at {}", reader.next_sequence()),
        Err(RingError::Start(StartError::NotYet { .. })) => "not yet".to_owned(),
        Err(error) => format!("{error}"),
    }
}

/// Reads until there is no message: the final state of a reader, after all writes.
pub(crate) fn rest(reader: &mut impl Subscribe) -> String {
    let mut all = String::new();
    loop {
        let next = read(reader);
        if next == "-" {
            return all;
        }
        let stuck = next.starts_with("damaged");
        let _ = write!(all, " {next}");
        if stuck {
            return all;
        }
    }
}

/// Whether a check of the whole contents reported damage.
pub(crate) fn verified(outcome: Result<Verified, RingError>) -> String {
    outcome.map_or_else(|error| error.to_string(), |_| "sound".to_owned())
}

fn text(read: Result<Read<String>, ReadError>) -> String {
    match read {
        Ok(Read::Message(message)) => message,
        Ok(Read::Empty) => "-".to_owned(),
        Ok(Read::Lapped(lapped)) => format!("lost {}-{}", lapped.from, lapped.to),
        Err(ReadError::Damaged { what, .. }) => format!("damaged: {what}"),
        Err(error) => format!("{error}"),
    }
}

/// The value of a valid message, or the invalid contents.
fn message(received: Received, bytes: &[u8]) -> String {
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|&chunk| u64::from_ne_bytes(chunk)).collect();
    let value = words.first().copied().unwrap_or(u64::MAX);
    let whole = words.iter().all(|&word| word == value)
        && received.sequence == value % 100
        && u64::from(received.type_id) == value;
    if whole {
        return value.to_string();
    }
    format!("torn: message {} of type {} is {words:?}", received.sequence, received.type_id)
}
