//! Proptest strategies: the bytes of any message or structure, from the layout of its view.
//!
//! Field values are any bit patterns, since a codec must preserve unknown values. The bytes are
//! assembled here without the encoders, so that tests compare the encoders with something else.

use nanotape_wire::codec::{Layout, Shape, Slot, View};
use proptest::{collection, prelude::*, sample::select, strategy::Union};

/// Longest tail to try if the schema sets no limit.
const TAIL_MOST: usize = 100;

/// Most bytes to try after the known ones, if the message can grow.
const GROWTH_MOST: usize = 20;

/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message(
    layouts: &'static [Layout],
    tag_offset: usize,
) -> impl Strategy<Value = Vec<u8>> {
    let listed = layouts.iter().map(|layout| any_layout(*layout).boxed());
    let types: Vec<Vec<u8>> = layouts.iter().map(|layout| type_bytes(&layout.shape)).collect();
    let least = tag_offset + types.first().map_or(1, Vec::len);
    let unlisted = collection::vec(any::<u8>(), least..64)
        .prop_filter("the type must be unlisted", move |bytes| {
            !types.iter().any(|listed| bytes[tag_offset..].starts_with(listed))
        });
    Union::new(listed.chain([unlisted.boxed()]))
}

/// The bytes of the view `V` with any values of its fields.
pub fn any_bytes<V: View>() -> impl Strategy<Value = Vec<u8>> {
    any_layout(V::LAYOUT)
}

/// The bytes of the type of a message.
fn type_bytes(shape: &Shape) -> Vec<u8> {
    match (shape.tag, shape.extension.number) {
        (Some((_, tag)), _) => vec![tag],
        (None, Some((_, of))) => number(shape, of.width, of.value),
        (None, None) => Vec::new(),
    }
}

/// A number as messages of this shape write it.
fn number(shape: &Shape, width: usize, value: u16) -> Vec<u8> {
    match (width, shape.extension.is_little_endian) {
        (1, _) => vec![value as u8],
        (_, true) => value.to_le_bytes().to_vec(),
        (_, false) => value.to_be_bytes().to_vec(),
    }
}

/// The bytes of a message without groups, or of a structure.
fn any_layout(Layout { shape, fields }: Layout) -> impl Strategy<Value = Vec<u8>> {
    let values: Vec<_> = fields.iter().map(|slot| any_value(*slot)).collect();
    let extension = shape.extension;
    let most = match (shape.tail, extension.grows) {
        (Some(tail), _) => tail.min(TAIL_MOST),
        (None, true) => GROWTH_MOST,
        (None, false) => 0,
    };
    let tail = collection::vec(any::<u8>(), 0..=most);
    // Half of the messages with an optional field have it, and some have more after it.
    let tail = match extension.optional {
        0 => tail.boxed(),
        optional => {
            prop_oneof![Just(Vec::new()), collection::vec(any::<u8>(), optional), tail].boxed()
        }
    };
    (values, tail).prop_map(move |(values, tail)| {
        let mut bytes = vec![0; shape.length];
        bytes.extend(tail);
        let length = bytes.len();
        for (slot, value) in fields.iter().zip(values) {
            bytes[slot.offset..slot.offset + slot.length].copy_from_slice(&value);
        }
        let mut put = |offset: usize, value: Vec<u8>| {
            bytes[offset..offset + value.len()].copy_from_slice(&value);
        };
        if let Some((offset, tag)) = shape.tag {
            put(offset, vec![tag]);
        }
        if let Some((offset, _)) = extension.number {
            put(offset, type_bytes(&shape));
        }
        if let Some((offset, width)) = extension.own_length {
            put(offset, number(&shape, width, length as u16));
        }
        if let Some((offset, from)) = extension.block {
            put(offset, number(&shape, 2, (length - from) as u16));
        }
        if let Some(offset) = shape.length_at {
            let after = (bytes.len() - offset - 2) as u16;
            bytes[offset..offset + 2].copy_from_slice(&after.to_be_bytes());
        }
        bytes
    })
}

/// Any value of a field: any bit pattern, with the two extremes more often than by chance. For an
/// enumeration, mostly listed codes, sometimes any byte.
fn any_value(Slot { length, codes, .. }: Slot) -> BoxedStrategy<Vec<u8>> {
    let any_bits = collection::vec(any::<u8>(), length);
    if !codes.is_empty() {
        let listed = select(codes).prop_map(|code| vec![code]);
        return prop_oneof![9 => listed, 1 => any_bits].boxed();
    }
    prop_oneof![8 => any_bits, 1 => Just(vec![0; length]), 1 => Just(vec![0xff; length])].boxed()
}
