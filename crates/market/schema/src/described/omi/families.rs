//! What the descriptions of the Open Markets Initiative leave to their readers: the byte order,
//! what precedes the fields, and what the type words of each exchange mean. The root element names
//! the family.

use crate::{TagKind, described::Meaning};

/// The protocols of one kind of root element.
pub(super) struct Family {
    /// What the name of the root element begins with.
    pub(super) root: &'static str,
    /// What is assumed, for the head of an imported schema.
    pub(super) form: &'static str,
    pub(super) is_little_endian: bool,
    pub(super) tag_kind: TagKind,
    pub(super) tag_offset: usize,
    /// Name, offset and type of the fields before those of a message.
    pub(super) head: &'static [(&'static str, usize, &'static str)],
    pub(super) begin: usize,
    pub(super) grows: bool,
    words: &'static [(&'static str, Meaning)],
}

const fn number(is_signed: Option<bool>, places: Option<usize>) -> Meaning {
    Meaning::Number { is_signed, places }
}

/// A whole number, of which the word states the sign.
const SIGNED: Meaning = number(Some(true), Some(0));
const UNSIGNED: Meaning = number(Some(false), Some(0));
/// A number that may have implied decimals.
const PLAIN: Meaning = number(Some(false), None);
const BITS: Meaning = Meaning::Bits(None);

/// The tables of data types in the specifications of the exchanges.
pub(super) static FAMILIES: [Family; 4] = [
    Family {
        root: "OmiIexTp",
        form: "OMI, IEX-TP: little-endian; the type is one character at byte 0",
        is_little_endian: true,
        tag_kind: TagKind::Char,
        tag_offset: 0,
        head: &[],
        begin: 1,
        grows: true,
        words: &[
            ("Byte", Meaning::Text),
            ("String", Meaning::Text),
            ("Byte (int)", UNSIGNED),
            ("Integer", UNSIGNED),
            ("Long", SIGNED),
            ("Price", number(Some(true), Some(4))),
            ("Timestamp", SIGNED),
            ("Event Time", UNSIGNED),
            ("bitfield", BITS),
        ],
    },
    Family {
        root: "OmiCboeEquitiesPitch",
        form: "OMI, Cboe PITCH: little-endian; the length is byte 0, the type byte 1",
        is_little_endian: true,
        tag_kind: TagKind::U8,
        tag_offset: 1,
        head: &[("length", 0, "MessageLength<u8>")],
        begin: 2,
        grows: true,
        words: &[
            ("Binary", PLAIN),
            ("Binary Long Price", number(Some(false), Some(4))),
            ("Binary Short Price", number(Some(false), Some(2))),
            ("Time Offset", UNSIGNED),
            ("Alpha", Meaning::Text),
            ("Alphanumeric", Meaning::Text),
            ("Printable ASCII", Meaning::Text),
            ("Bit Field", BITS),
        ],
    },
    Family {
        root: "OmiNasdaqEquitiesItch",
        form: "OMI, Nasdaq ITCH: big-endian; the type is one character at byte 0",
        is_little_endian: false,
        tag_kind: TagKind::Char,
        tag_offset: 0,
        head: &[],
        begin: 1,
        grows: false,
        words: &[
            ("Integer", UNSIGNED),
            ("Alpha", Meaning::Text),
            ("Price (4)", number(Some(false), Some(4))),
            ("Price (8)", number(Some(false), Some(8))),
        ],
    },
    Family {
        root: "OmiNysePillar",
        form: "OMI, NYSE Pillar: little-endian; the length is bytes 0 and 1, the type bytes 2 and 3",
        is_little_endian: true,
        tag_kind: TagKind::U16,
        tag_offset: 2,
        head: &[("message_length", 0, "MessageLength<u16>")],
        begin: 4,
        grows: true,
        // Prices are signed, and scaled by a code of the symbol: the word states neither.
        words: &[("Binary", number(None, None)), ("ASCII", Meaning::Text)],
    },
];

impl Family {
    /// What a type word means.
    pub(super) fn word(&self, word: &str) -> Option<Meaning> {
        let found = self.words.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, meaning)| *meaning)
    }

    /// The known words, for errors.
    pub(super) fn known(&self) -> String {
        self.words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    }
}
