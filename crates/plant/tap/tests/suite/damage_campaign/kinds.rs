//! The kinds of damage, and the bytes of a day that each leaves intact.

use std::ops::Range;

use nanotape_harness::Random;

use crate::damage_campaign::{
    compressed::{Packing, Wound},
    day::Day,
};

const SECTOR: usize = 512;
const BLOCK: usize = 4096;

/// A kind of damage to a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Length and type of one record set to zero.
    ZeroedHead,
    /// The length alone set to zero.
    ZeroedLength,
    /// An aligned sector, or block of a file system, set to zero.
    ZeroedSector,
    ZeroedBlock,
    /// A block of 0xff: erased flash.
    ErasedBlock,
    /// 1 to 8 bytes inserted, anywhere.
    InsertedBytes,
    InsertedZeros,
    DeletedBytes,
    LengthBit,
    TypeBit,
    BodyBit,
    /// Up to 2,000 bytes replaced by random ones.
    RandomRange,
    /// 20 single bytes of 4,000 replaced.
    SprinkledBytes,
    /// Up to 5,000 bytes repeated.
    DuplicatedRange,
    /// Two aligned blocks swapped.
    SwappedBlocks,
    /// The end is missing.
    Truncated,
    /// Up to 5,000 bytes are missing: a file that was truncated, and continued later.
    MissingStretch,
    /// A head with an unknown type and a random length.
    UnknownHead,
    /// An aligned block replaced by an earlier one of the file.
    StaleBlock,
    /// Damage to the compressed file.
    Stored(Packing, Wound),
}

impl Kind {
    pub(crate) const ALL: [Self; 25] = [
        Self::ZeroedHead,
        Self::ZeroedLength,
        Self::ZeroedSector,
        Self::ZeroedBlock,
        Self::ErasedBlock,
        Self::InsertedBytes,
        Self::InsertedZeros,
        Self::DeletedBytes,
        Self::LengthBit,
        Self::TypeBit,
        Self::BodyBit,
        Self::RandomRange,
        Self::SprinkledBytes,
        Self::DuplicatedRange,
        Self::SwappedBlocks,
        Self::Truncated,
        Self::MissingStretch,
        Self::UnknownHead,
        Self::StaleBlock,
        Self::Stored(Packing::Gzip, Wound::Bit),
        Self::Stored(Packing::Gzip, Wound::Zeros),
        Self::Stored(Packing::Gzip, Wound::Cut),
        Self::Stored(Packing::Zstd, Wound::Bit),
        Self::Stored(Packing::Zstd, Wound::Zeros),
        Self::Stored(Packing::Zstd, Wound::Cut),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Stored(packing, wound) => format!("{packing:?}{wound:?}"),
            kind => format!("{kind:?}"),
        }
    }
}

/// A part of the original that is in the damaged bytes, at `to`, except for changed single bytes.
pub(crate) struct Stretch {
    pub(crate) from: Range<usize>,
    pub(crate) to: usize,
}

/// A damaged day, uncompressed.
pub(crate) struct Damaged {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stretches: Vec<Stretch>,
}

impl Damaged {
    /// Built from parts of the original, and other bytes between them.
    fn of_parts(day: &[u8], parts: &[Part<'_>]) -> Self {
        let mut damaged = Self { bytes: Vec::new(), stretches: Vec::new() };
        for part in parts {
            let to = damaged.bytes.len();
            match part {
                Part::Kept(from) => {
                    damaged.bytes.extend_from_slice(&day[from.clone()]);
                    damaged.stretches.push(Stretch { from: from.clone(), to });
                }
                Part::Other(bytes) => damaged.bytes.extend_from_slice(bytes),
            }
        }
        damaged
    }

    /// The original with bytes overwritten.
    fn overwritten(day: &[u8], at: usize, with: &[u8]) -> Self {
        let mut damaged = Self::of_parts(day, &[Part::Kept(0..day.len())]);
        damaged.overwrite(at, with);
        damaged
    }

    fn overwrite(&mut self, at: usize, with: &[u8]) {
        let end = (at + with.len()).min(self.bytes.len());
        self.bytes[at..end].copy_from_slice(&with[..end - at]);
    }
}

enum Part<'a> {
    Kept(Range<usize>),
    /// Bytes that are not a message of the day, or a copy of a message that is elsewhere too.
    Other(&'a [u8]),
}

/// Damages the bytes of a day. Not for damage to compressed files.
pub(crate) fn damage(kind: Kind, day: &Day, random: &mut Random) -> Damaged {
    let bytes = &day.bytes[..];
    let record = day.records[random.index(day.records.len())].clone();
    let (head, end) = (record.start, bytes.len());
    let at = random.index(end);
    let flipped = |at: usize, bit: usize| {
        let changed = bytes[at + bit / 8] ^ (0x80 >> (bit % 8));
        Damaged::overwritten(bytes, at + bit / 8, &[changed])
    };
    let block = |random: &mut Random| random.index(end / BLOCK) * BLOCK;
    match kind {
        Kind::ZeroedHead => Damaged::overwritten(bytes, head, &[0; 3]),
        Kind::ZeroedLength => Damaged::overwritten(bytes, head, &[0; 2]),
        Kind::ZeroedSector => Damaged::overwritten(bytes, at / SECTOR * SECTOR, &[0; SECTOR]),
        Kind::ZeroedBlock => Damaged::overwritten(bytes, at / BLOCK * BLOCK, &[0; BLOCK]),
        Kind::ErasedBlock => Damaged::overwritten(bytes, at / BLOCK * BLOCK, &[0xff; BLOCK]),
        Kind::InsertedBytes | Kind::InsertedZeros => {
            let count = random.between(1, 8);
            let new =
                if kind == Kind::InsertedZeros { vec![0; count] } else { random.bytes(count) };
            Damaged::of_parts(bytes, &[Part::Kept(0..at), Part::Other(&new), Part::Kept(at..end)])
        }
        Kind::DeletedBytes => {
            let after = (at + random.between(1, 8)).min(end);
            Damaged::of_parts(bytes, &[Part::Kept(0..at), Part::Kept(after..end)])
        }
        Kind::LengthBit => {
            let (head, bit) = misleading_bit(day, random).unwrap_or((head, random.index(16)));
            flipped(head, bit)
        }
        Kind::TypeBit => flipped(head + 2, random.index(8)),
        Kind::BodyBit => flipped(head + 3, random.index(8 * (record.len() - 3))),
        Kind::RandomRange => {
            let count = random.between(1, 2_000);
            Damaged::overwritten(bytes, at, &random.bytes(count))
        }
        Kind::SprinkledBytes => {
            let mut damaged = Damaged::overwritten(bytes, at, &[]);
            for _ in 0..20 {
                let place = (at + random.index(4_000)).min(end - 1);
                let byte = random.bytes(1);
                damaged.overwrite(place, &byte);
            }
            damaged
        }
        Kind::DuplicatedRange => {
            let from = at - random.between(1, 5_000).min(at);
            let copy = &bytes[from..at];
            Damaged::of_parts(bytes, &[Part::Kept(0..at), Part::Other(copy), Part::Kept(at..end)])
        }
        Kind::SwappedBlocks => {
            let (one, other) = (block(random), block(random));
            let (first, second) = (one.min(other), one.max(other));
            if first == second {
                return Damaged::overwritten(bytes, at, &[]);
            }
            let parts = [
                Part::Kept(0..first),
                Part::Kept(second..second + BLOCK),
                Part::Kept(first + BLOCK..second),
                Part::Kept(first..first + BLOCK),
                Part::Kept(second + BLOCK..end),
            ];
            Damaged::of_parts(bytes, &parts)
        }
        Kind::Truncated => Damaged::of_parts(bytes, &[Part::Kept(0..at)]),
        Kind::MissingStretch => {
            let after = (at + random.between(1, 5_000)).min(end);
            Damaged::of_parts(bytes, &[Part::Kept(0..at), Part::Kept(after..end)])
        }
        Kind::UnknownHead => {
            let length = misleading_length(&record, day, random).to_be_bytes();
            let tag = loop {
                let tag = random.number() as u8;
                if nanotape_wire::itch50::length_of(tag).is_none() {
                    break tag;
                }
            };
            Damaged::overwritten(bytes, head, &[length[0], length[1], tag])
        }
        Kind::StaleBlock => {
            let (one, other) = (block(random), block(random));
            let (from, to) = (one.min(other), one.max(other));
            Damaged::overwritten(bytes, to, &bytes[from..from + BLOCK])
        }
        Kind::Stored(..) => unreachable!("done to the file as it is stored"),
    }
}

/// A record, and a bit of its length whose change makes the length point to the head of a later
/// record.
fn misleading_bit(day: &Day, random: &mut Random) -> Option<(usize, usize)> {
    let first = random.index(day.records.len());
    if first.is_multiple_of(2) {
        return None;
    }
    day.records[first..].iter().find_map(|record| {
        let stated = record.len() - 2;
        let leads_on = |bit: &usize| {
            let changed = stated ^ (0x8000 >> bit);
            changed > stated && is_head(day, record.start + 2 + changed)
        };
        Some((record.start, (0..16).find(leads_on)?))
    })
}

/// A random length; in half of the cases one that points to the head of a later record.
fn misleading_length(record: &Range<usize>, day: &Day, random: &mut Random) -> u16 {
    let any = random.number() as u16;
    let misleading =
        (any..u16::MAX).find(|&length| is_head(day, record.start + 2 + usize::from(length)));
    if random.index(2) == 0 { any } else { misleading.unwrap_or(any) }
}

fn is_head(day: &Day, at: usize) -> bool {
    day.records.binary_search_by_key(&at, |record| record.start).is_ok()
}
