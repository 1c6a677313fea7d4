//! Proptest strategies: the bytes of any message or structure, from the layout of its view.
//!
//! Field values are any bit patterns, since a codec must preserve unknown values. The bytes are
//! assembled here without the encoders, so that tests compare the encoders with something else.

use nanotape_wire::codec::{Layout, Slot, View};
use proptest::{collection, prelude::*, sample::select, strategy::Union};

/// Longest tail to try if the schema sets no limit.
const TAIL_MOST: usize = 100;

/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message(
    layouts: &'static [Layout],
    tag_offset: usize,
) -> impl Strategy<Value = Vec<u8>> {
    let listed = layouts.iter().map(|layout| any_layout(*layout).boxed());
    let tags: Vec<u8> = layouts.iter().filter_map(|layout| Some(layout.shape.tag?.1)).collect();
    let unlisted = collection::vec(any::<u8>(), tag_offset + 1..64)
        .prop_filter("the type must be unlisted", move |bytes| !tags.contains(&bytes[tag_offset]));
    Union::new(listed.chain([unlisted.boxed()]))
}

/// The bytes of the view `V` with any values of its fields.
pub fn any_bytes<V: View>() -> impl Strategy<Value = Vec<u8>> {
    any_layout(V::LAYOUT)
}

fn any_layout(Layout { shape, fields }: Layout) -> impl Strategy<Value = Vec<u8>> {
    let values: Vec<_> = fields.iter().map(|slot| any_value(*slot)).collect();
    let tail = collection::vec(any::<u8>(), 0..=shape.tail.unwrap_or(0).min(TAIL_MOST));
    (values, tail).prop_map(move |(values, tail)| {
        let mut bytes = vec![0; shape.length];
        bytes.extend(tail);
        for (slot, value) in fields.iter().zip(values) {
            bytes[slot.offset..slot.offset + slot.length].copy_from_slice(&value);
        }
        if let Some((offset, tag)) = shape.tag {
            bytes[offset] = tag;
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
