//! Decodes the bytes of log excerpts to values, for readers that need values and not lines.
//!
//! Layout: `docs/formats/log.md`.
//! Failure: the bytes are untrusted. An invalid payload is a [`DecodeError`] with its offset;
//! nothing panics, allocates or reads twice.

mod values;

pub use values::{Errors, Value, Values};

use crate::layout::{self, Level, MAX_PAYLOAD_BYTES, TEXT_IS_CUT};

/// What is wrong with a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The payload ends too early.
    #[error("offset {offset}: {need} bytes needed, {have} left")]
    Truncated {
        /// Offset in the payload.
        offset: usize,
        /// Bytes that the value needs.
        need: usize,
        /// Bytes that are present.
        have: usize,
    },
    /// The payload is longer than the format allows.
    #[error("an excerpt of {length} bytes: a log has at most {MAX_PAYLOAD_BYTES}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The number is not a level's.
    #[error("offset {offset}: {number} is not a level")]
    Level {
        /// Offset in the payload.
        offset: usize,
        /// The number.
        number: u8,
    },
    /// The tag is not a value's.
    #[error("offset {offset}: {tag} is not the tag of a value")]
    Tag {
        /// Offset in the payload.
        offset: usize,
        /// The tag.
        tag: u8,
    },
}

/// An excerpt of a log. Texts are UTF-8 unless the file is damaged.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Record<'payload> {
    /// A program starts to log.
    Start {
        /// Its process id.
        pid: u32,
        /// Its name.
        program: &'payload [u8],
    },
    /// A call site is announced.
    CallSite(CallSite<'payload>),
    /// A thread is announced.
    Thread {
        /// Its number.
        thread: u32,
        /// Its name; empty if it has none.
        name: &'payload [u8],
    },
    /// An event.
    Event {
        /// The number of its call site.
        call_site: u32,
        /// The number of its thread; 0: unknown.
        thread: u32,
        /// The number of the innermost span that contains it; 0: none.
        span: u64,
        /// Values of its fields.
        values: Values<'payload>,
    },
    /// A text.
    Text(Text<'payload>),
    /// A span is announced.
    Span {
        /// Whether the span begins here.
        is_new: bool,
        /// The number of its call site.
        call_site: u32,
        /// The number of the thread that made it.
        thread: u32,
        /// Its number.
        span: u64,
        /// The number of the span that contains it; 0: none.
        parent: u64,
        /// Values of its fields.
        values: Values<'payload>,
    },
    /// A thread enters or leaves a span, or the span ends.
    Step {
        /// What happens.
        step: Step,
        /// The number of the span.
        span: u64,
        /// The number of the thread.
        thread: u32,
    },
    /// Events could not be written.
    Lost {
        /// Number of events.
        count: u64,
        /// When the first was lost, in ns since the UNIX epoch.
        first_ns: u64,
        /// When the last was lost.
        last_ns: u64,
        /// Why the first was lost.
        reason: &'payload [u8],
    },
}

/// A change of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A thread enters it.
    Enter,
    /// A thread leaves it, and may enter it again.
    Exit,
    /// It has ended.
    Close,
}

/// A location in the source that logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite<'payload> {
    /// Its number.
    pub call_site: u32,
    /// Its level.
    pub level: Level,
    /// Whether it makes spans and not events.
    pub is_span: bool,
    /// The line in its file; 0: unknown.
    pub line: u32,
    /// Its name, or that of its spans.
    pub name: &'payload [u8],
    /// Its target.
    pub target: &'payload [u8],
    /// Its module; empty: unknown.
    pub module: &'payload [u8],
    /// Its file; empty: unknown.
    pub file: &'payload [u8],
    fields: &'payload [u8],
}

impl<'payload> CallSite<'payload> {
    /// The names of its fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'payload [u8]> + use<'payload> {
        let mut cursor = Cursor { payload: self.fields, at: 0 };
        // Decoding has already checked all of them.
        std::iter::from_fn(move || cursor.name().ok())
    }
}

/// A line of text that a program logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'payload> {
    /// Its level.
    pub level: Level,
    /// The number of its thread; 0: unknown.
    pub thread: u32,
    /// Its target.
    pub target: &'payload [u8],
    /// Its file; empty: unknown.
    pub file: &'payload [u8],
    /// The line in its file; 0: unknown.
    pub line: u32,
    /// The text.
    pub text: &'payload [u8],
    /// Whether the text was cut.
    pub is_cut: bool,
}

/// Decodes an excerpt; `None` if its type is not a log's.
///
/// ```
/// use nanotape_logging::decode::{DecodeError, decode};
///
/// let lost = [3, 0, 0, 0, 0, 0, 0, 0];
/// let error = decode(0xFF0A, &lost).unwrap().unwrap_err();
/// assert_eq!(error, DecodeError::Truncated { offset: 8, need: 8, have: 0 });
/// assert_eq!(decode(7, &lost), None);
/// ```
pub fn decode(type_id: u16, payload: &[u8]) -> Option<Result<Record<'_>, DecodeError>> {
    let is_ours = layout::TYPES.iter().any(|(known, _)| *known == type_id);
    is_ours.then(|| decode_ours(type_id, payload))
}

fn decode_ours(type_id: u16, payload: &[u8]) -> Result<Record<'_>, DecodeError> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(DecodeError::TooLong { length: payload.len() });
    }
    let mut cursor = Cursor { payload, at: 0 };
    Ok(match type_id {
        layout::START => {
            let (pid, _) = (cursor.u32()?, cursor.u32()?);
            Record::Start { pid, program: cursor.rest() }
        }
        layout::CALL_SITE => Record::CallSite(call_site(cursor)?),
        layout::THREAD => {
            let (thread, _) = (cursor.u32()?, cursor.u32()?);
            Record::Thread { thread, name: cursor.rest() }
        }
        layout::EVENT => {
            let (call_site, thread, span) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
            Record::Event { call_site, thread, span, values: cursor.values() }
        }
        layout::TEXT => Record::Text(text(cursor)?),
        layout::SPAN_NEW | layout::SPAN_AGAIN => {
            let (call_site, thread) = (cursor.u32()?, cursor.u32()?);
            let (span, parent) = (cursor.u64()?, cursor.u64()?);
            let is_new = type_id == layout::SPAN_NEW;
            Record::Span { is_new, call_site, thread, span, parent, values: cursor.values() }
        }
        layout::SPAN_ENTER => step(cursor, Step::Enter)?,
        layout::SPAN_EXIT => step(cursor, Step::Exit)?,
        layout::SPAN_CLOSE => step(cursor, Step::Close)?,
        _ => {
            let (count, first_ns, last_ns) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
            Record::Lost { count, first_ns, last_ns, reason: cursor.rest() }
        }
    })
}

fn call_site(mut cursor: Cursor<'_>) -> Result<CallSite<'_>, DecodeError> {
    let number = cursor.u32()?;
    let level = cursor.level()?;
    let is_span = cursor.u8()? == 1;
    let count = cursor.u16()?;
    let (line, _) = (cursor.u32()?, cursor.u32()?);
    let (name, target) = (cursor.name()?, cursor.name()?);
    let (module, file) = (cursor.name()?, cursor.name()?);
    let from = cursor.at;
    for _ in 0..count {
        cursor.name()?;
    }
    let fields = &cursor.payload[from..cursor.at];
    Ok(CallSite { call_site: number, level, is_span, line, name, target, module, file, fields })
}

fn text(mut cursor: Cursor<'_>) -> Result<Text<'_>, DecodeError> {
    let level = cursor.level()?;
    let is_cut = cursor.u8()? & TEXT_IS_CUT != 0;
    cursor.u16()?;
    let thread = cursor.u32()?;
    let (line, _) = (cursor.u32()?, cursor.u32()?);
    let (target, file) = (cursor.name()?, cursor.name()?);
    Ok(Text { level, thread, target, file, line, text: cursor.rest(), is_cut })
}

fn step(mut cursor: Cursor<'_>, step: Step) -> Result<Record<'_>, DecodeError> {
    let (span, thread, _) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
    Ok(Record::Step { step, span, thread })
}

/// A position in a payload.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cursor<'payload> {
    payload: &'payload [u8],
    at: usize,
}

impl<'payload> Cursor<'payload> {
    fn take(&mut self, need: usize) -> Result<&'payload [u8], DecodeError> {
        let rest = &self.payload[self.at..];
        match rest.get(..need) {
            Some(bytes) => {
                self.at += need;
                Ok(bytes)
            }
            None => Err(DecodeError::Truncated { offset: self.at, need, have: rest.len() }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn level(&mut self) -> Result<Level, DecodeError> {
        let offset = self.at;
        let number = self.u8()?;
        Level::from_number(number).ok_or(DecodeError::Level { offset, number })
    }

    fn name(&mut self) -> Result<&'payload [u8], DecodeError> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    fn long(&mut self) -> Result<&'payload [u8], DecodeError> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    fn rest(self) -> &'payload [u8] {
        &self.payload[self.at..]
    }

    fn values(self) -> Values<'payload> {
        Values::new(self)
    }
}
