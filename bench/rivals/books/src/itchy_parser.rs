//! The crate `itchy`: a stream that reads 8 KiB at a time and returns owned messages.
//!
//! It panics on a type that it does not know, such as the operational halt. So it reads a copy of
//! the day in memory, made without those messages before the clock starts. The omitted messages are
//! counted as its own; its time does not include the kernel's part in reading a file.

use std::path::Path;

use itchy::{Body, MessageStream};
use rivals_measure::Failure;

use crate::{
    digest::FieldSum,
    measured::{Outcome, measured},
    records,
};

/// The message types that version 0.3.4 knows.
const KNOWN_TYPES: &[u8] = b"ABCDEFHIJKLNPQRSUVWXY";

pub(crate) fn run(file: &Path) -> Result<Outcome, Failure> {
    let (known, spared) = records::only(KNOWN_TYPES, &records::whole(file)?);
    let ((sum, messages), measured) = measured(|| {
        let (mut sum, mut messages) = (FieldSum::default(), 0);
        for message in MessageStream::from_reader(known.as_slice()) {
            let message = message.map_err(|error| format!("after {messages} messages: {error}"))?;
            messages += 1;
            if let Some(fields) = fields(&message.body) {
                sum.add(u64::from(message.stock_locate) + fields);
            }
        }
        Ok((sum, messages))
    })?;
    Ok(Outcome {
        kind: "parse",
        messages: messages + spared,
        measured: measured.without(known.capacity() as u64),
        answer: [("field_sum", sum.0)].into(),
        notes: [("spared", spared)].into(),
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
