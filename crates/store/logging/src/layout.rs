//! Numbers of the format, as `docs/formats/log.md` states them: type ids, offsets, tags and bounds.

/// Type ids of excerpts.
pub const START: u16 = 0xFF00;
/// A call site is announced.
pub const CALL_SITE: u16 = 0xFF01;
/// A thread is announced.
pub const THREAD: u16 = 0xFF02;
/// An event.
pub const EVENT: u16 = 0xFF03;
/// A text.
pub const TEXT: u16 = 0xFF04;
/// A span begins, and is announced.
pub const SPAN_NEW: u16 = 0xFF05;
/// A span is announced again.
pub const SPAN_AGAIN: u16 = 0xFF06;
/// A thread enters a span.
pub const SPAN_ENTER: u16 = 0xFF07;
/// A thread leaves a span.
pub const SPAN_EXIT: u16 = 0xFF08;
/// A span has ended.
pub const SPAN_CLOSE: u16 = 0xFF09;
/// Events could not be written.
pub const LOST: u16 = 0xFF0A;

/// The last of the type ids that are reserved for logs; [`START`] is the first.
pub const LAST_TYPE_ID: u16 = 0xFF0F;

/// Every type id and the name of its excerpt.
pub const TYPES: [(u16, &str); 11] = [
    (START, "START"),
    (CALL_SITE, "CALL_SITE"),
    (THREAD, "THREAD"),
    (EVENT, "EVENT"),
    (TEXT, "TEXT"),
    (SPAN_NEW, "SPAN_NEW"),
    (SPAN_AGAIN, "SPAN_AGAIN"),
    (SPAN_ENTER, "SPAN_ENTER"),
    (SPAN_EXIT, "SPAN_EXIT"),
    (SPAN_CLOSE, "SPAN_CLOSE"),
    (LOST, "LOST"),
];

/// Whether an excerpt of this type is part of a log.
pub fn is_log(type_id: u16) -> bool {
    (START..=LAST_TYPE_ID).contains(&type_id)
}

/// Whether an excerpt of this type makes a line; the others are announcements.
pub fn is_line(type_id: u16) -> bool {
    matches!(type_id, EVENT | TEXT | LOST)
}

/// A field of fixed size: offset, size, name.
pub type Field = (usize, usize, &'static str);

/// The first fields of each excerpt, by its heading in the document.
pub const FIELDS: [(&str, &[Field]); 8] = [
    ("START", &[(0, 4, "pid"), (4, 4, "zero")]),
    (
        "CALL_SITE",
        &[
            (0, 4, "call_site"),
            (4, 1, "level"),
            (5, 1, "kind"),
            (6, 2, "fields"),
            (8, 4, "line"),
            (12, 4, "zero"),
        ],
    ),
    ("THREAD", &[(0, 4, "thread"), (4, 4, "zero")]),
    ("EVENT", &[(0, 4, "call_site"), (4, 4, "thread"), (8, 8, "span")]),
    (
        "TEXT",
        &[
            (0, 1, "level"),
            (1, 1, "flags"),
            (2, 2, "zero"),
            (4, 4, "thread"),
            (8, 4, "line"),
            (12, 4, "zero"),
        ],
    ),
    (
        "SPAN_NEW, SPAN_AGAIN",
        &[(0, 4, "call_site"), (4, 4, "thread"), (8, 8, "span"), (16, 8, "parent")],
    ),
    ("SPAN_ENTER, SPAN_EXIT, SPAN_CLOSE", &[(0, 8, "span"), (8, 4, "thread"), (12, 4, "zero")]),
    ("LOST", &[(0, 8, "count"), (8, 8, "first_ns"), (16, 8, "last_ns")]),
];

/// Tags of values and their names.
pub const TAGS: [(u8, &str); 11] = [
    (tag::BOOL, "bool"),
    (tag::U64, "u64"),
    (tag::I64, "i64"),
    (tag::F64, "f64"),
    (tag::U128, "u128"),
    (tag::I128, "i128"),
    (tag::STR, "str"),
    (tag::DEBUG, "debug"),
    (tag::BYTES, "bytes"),
    (tag::ERROR, "error"),
    (tag::LEFT_OUT, "left out"),
];

/// Tags of values.
pub(crate) mod tag {
    pub(crate) const BOOL: u8 = 1;
    pub(crate) const U64: u8 = 2;
    pub(crate) const I64: u8 = 3;
    pub(crate) const F64: u8 = 4;
    pub(crate) const U128: u8 = 5;
    pub(crate) const I128: u8 = 6;
    pub(crate) const STR: u8 = 7;
    pub(crate) const DEBUG: u8 = 8;
    pub(crate) const BYTES: u8 = 9;
    pub(crate) const ERROR: u8 = 10;
    pub(crate) const LEFT_OUT: u8 = 11;
    /// Flag of a value that was cut.
    pub(crate) const CUT: u8 = 0x80;
}

/// Bit of `flags`: the text was cut.
pub(crate) const TEXT_IS_CUT: u8 = 1;

/// `kind` of a call site that makes spans.
#[cfg(feature = "tracing")]
pub(crate) const KIND_SPAN: u8 = 1;

/// Maximum bytes of a name.
pub const MAX_NAME_BYTES: usize = 512;

/// Maximum bytes of a text, bytes or an error as a value.
pub const MAX_VALUE_BYTES: usize = 16_384;

/// Maximum number of an error and its causes.
pub const MAX_ERRORS: usize = 16;

/// Maximum bytes of a payload. The smallest segment of a journal holds it.
pub const MAX_PAYLOAD_BYTES: usize = 32_768;

/// Maximum bytes of the values of a span.
pub const MAX_SPAN_VALUE_BYTES: usize = 4096;

/// Maximum bytes of payload that announce the spans around an event. With the longest event they
/// fit into the smallest segment.
pub const MAX_SPANS_BYTES: usize = 16_384;

/// Maximum number of spans around an event that are announced with it, and shown.
pub const MAX_SPAN_DEPTH: usize = 64;

/// Severity of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// A failure.
    Error = 1,
    /// A possible problem.
    Warn = 2,
    /// Information for operators.
    Info = 3,
    /// Information for developers.
    Debug = 4,
    /// Every step.
    Trace = 5,
}

impl Level {
    /// All levels, the most severe first.
    pub const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// The level with this number in the format.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Error),
            2 => Some(Self::Warn),
            3 => Some(Self::Info),
            4 => Some(Self::Debug),
            5 => Some(Self::Trace),
            _ => None,
        }
    }

    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Trace => "TRACE",
        }
    }
}
