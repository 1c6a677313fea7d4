//! Call sites of the process, numbered in the order in which they first log.
//!
//! Bounds: as many as the program's source has.
//! Cost: a thread reads its own table; it locks the shared table once per call site.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use tracing_core::{Level, Metadata, callsite::Identifier};

use crate::{
    encode::put_name,
    layout::{KIND_SPAN, Level as OurLevel},
};

/// Numbers by call site, and announcements by number.
static KNOWN: Mutex<Known> = Mutex::new(Known { numbers: None, announcements: Vec::new() });

struct Known {
    numbers: Option<Numbers>,
    announcements: Vec<Arc<[u8]>>,
}

type Numbers = HashMap<Identifier, u32, BuildHasherDefault<AddressHasher>>;

/// The numbers that a thread already knows.
#[derive(Debug, Default)]
pub(crate) struct Cache(RefCell<Numbers>);

impl Cache {
    /// The number of a call site.
    #[inline]
    pub(crate) fn number(&self, metadata: &'static Metadata<'static>) -> u32 {
        let identifier = metadata.callsite();
        let known = self.0.borrow().get(&identifier).copied();
        known.unwrap_or_else(|| {
            let number = number(metadata);
            self.0.borrow_mut().insert(identifier, number);
            number
        })
    }
}

#[cold]
fn number(metadata: &'static Metadata<'static>) -> u32 {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let Known { numbers, announcements } = &mut *known;
    let numbers = numbers.get_or_insert_default();
    *numbers.entry(metadata.callsite()).or_insert_with(|| {
        let number = announcements.len() as u32;
        announcements.push(announcement(number, metadata).into());
        number
    })
}

/// The payload that announces a call site.
pub(crate) fn announcement_of(number: u32) -> Option<Arc<[u8]>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.announcements.get(number as usize).cloned()
}

fn announcement(number: u32, metadata: &Metadata<'_>) -> Vec<u8> {
    let fields = metadata.fields();
    let named = fields.len().min(usize::from(u8::MAX));
    let kind = if metadata.is_span() { KIND_SPAN } else { 0 };
    let mut payload = Vec::with_capacity(256);
    payload.extend_from_slice(&number.to_le_bytes());
    payload.extend_from_slice(&[level(metadata.level()) as u8, kind]);
    payload.extend_from_slice(&(named as u16).to_le_bytes());
    payload.extend_from_slice(&metadata.line().unwrap_or(0).to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    for name in [
        metadata.name(),
        metadata.target(),
        metadata.module_path().unwrap_or_default(),
        metadata.file().unwrap_or_default(),
    ] {
        put_name(&mut payload, name);
    }
    for (count, field) in fields.iter().take(named).enumerate() {
        // Names that would not fit are written as empty; 255 empty names always fit.
        let left_bytes = crate::layout::MAX_PAYLOAD_BYTES - payload.len();
        let needed_bytes = field.name().len() + 2 * (named - count);
        put_name(&mut payload, if needed_bytes <= left_bytes { field.name() } else { "" });
    }
    payload
}

fn level(level: &Level) -> OurLevel {
    match *level {
        Level::ERROR => OurLevel::Error,
        Level::WARN => OurLevel::Warn,
        Level::INFO => OurLevel::Info,
        Level::DEBUG => OurLevel::Debug,
        Level::TRACE => OurLevel::Trace,
    }
}

/// Hashes the address that identifies a call site: no attacker chooses it.
#[derive(Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        // Multiplies by 2^64 divided by the golden ratio, and moves the high bits to those that the
        // table uses.
        let mixed = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
