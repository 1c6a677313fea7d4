//! The crate `itchy`: a stream that reads 8 KiB at a time and gives owned messages.
//!
//! It panics at a type that it does not know, such as the operational halt. So the day is copied
//! without those messages before the clock starts, and it reads from that copy in memory: what it
//! is spared is the few messages and the kernel's part in reading a file. They are counted.

use std::{collections::BTreeMap, path::Path};

use itchy::{Body, MessageStream};
use nanotape_shm::MappableFile;

use crate::{
    digest::FieldSum,
    outcome::{Failure, Memory, Outcome, Stopwatch},
    records,
};

/// The types that version 0.3.4 takes.
const KNOWN_TYPES: &[u8] = b"ABCDEFHIJKLNPQRSUVWXY";

pub(crate) fn run(file: &Path) -> Result<Outcome, Failure> {
    let day = MappableFile::open(file)?;
    let day = day.map(0, usize::try_from(day.len())?)?;
    let (known, spared) = records::only(KNOWN_TYPES, day.bytes());
    drop(day);
    let watch = Stopwatch::start();
    let (mut sum, mut messages) = (FieldSum::default(), 0);
    for message in MessageStream::from_reader(known.as_slice()) {
        let message = message.map_err(|error| format!("after {messages} messages: {error}"))?;
        messages += 1;
        let fields = fields(&message.body);
        if let Some(fields) = fields {
            sum.add(u64::from(message.stock_locate) + fields);
        }
    }
    let elapsed = watch.stop();
    let memory = Memory::now().without(known.capacity() as u64);
    Ok(Outcome {
        kind: "parse",
        messages: messages + spared,
        elapsed,
        answers: BTreeMap::from([("field_sum", sum.0)]),
        notes: BTreeMap::from([("spared", spared)]),
        memory,
    })
}

#[inline]
fn fields(body: &Body) -> Option<u64> {
    match body {
        Body::AddOrder(add) => {
            Some(add.reference + u64::from(add.shares) + u64::from(add.price.raw()))
        }
        Body::OrderExecuted { reference, executed, .. }
        | Body::OrderExecutedWithPrice { reference, executed, .. } => {
            Some(reference + u64::from(*executed))
        }
        Body::OrderCancelled { reference, cancelled } => Some(reference + u64::from(*cancelled)),
        Body::DeleteOrder { reference } => Some(*reference),
        Body::ReplaceOrder(replace) => Some(
            replace.old_reference
                + replace.new_reference
                + u64::from(replace.shares)
                + u64::from(replace.price.raw()),
        ),
        _ => None,
    }
}
