//! One module of strategies a protocol, written by `cargo xtask gen`, and what all of them call.
//!
//! Field values are any bit patterns: a codec must carry what it does not understand.

use core::fmt::Debug;

use nanotape_types::WireValue;
use proptest::{collection, prelude::*, sample::select};

/// Right-nested pairs, because proptest takes tuples of at most twelve.
macro_rules! nested {
    () => { Just(()) };
    ($first:expr, $($rest:expr,)*) => { ($first, nested!($($rest,)*)) };
}

/// The pattern that takes a value of [`nested`] apart.
macro_rules! nested_names {
    () => { () };
    ($first:ident, $($rest:ident,)*) => { ($first, nested_names!($($rest,)*)) };
}

/// A strategy for a struct of fields, from one for each field.
macro_rules! fields_strategy {
    ($(#[$doc:meta])* pub fn $name:ident() -> $Fields:ident {
        $($field:ident: $source:expr,)*
    }) => {
        $(#[$doc])*
        pub fn $name() -> impl Strategy<Value = $Fields> {
            nested!($($source,)*).prop_map(|nested_names!($($field,)*)| $Fields { $($field),* })
        }
    };
}

/// A strategy for encoded bytes: fields that borrow their tail cannot leave the strategy.
macro_rules! bytes_strategy {
    ($(#[$doc:meta])* pub fn $name:ident() -> $Fields:ident[$room:literal] {
        $($field:ident: $source:expr,)*
    } $tail:ident: $tail_source:expr) => {
        $(#[$doc])*
        pub fn $name() -> impl Strategy<Value = Vec<u8>> {
            (nested!($($source,)*), $tail_source).prop_map(|(nested_names!($($field,)*), $tail)| {
                let mut buffer = [0; $room];
                let fields = $Fields { $($field,)* $tail: &$tail };
                fields.encode(&mut buffer).map(<[u8]>::to_vec).unwrap_or_default()
            })
        }
    };
}

#[rustfmt::skip]
pub mod itch50;
#[rustfmt::skip]
pub mod moldudp64;
#[rustfmt::skip]
pub mod soupbintcp;
#[rustfmt::skip]
pub mod toy;
#[rustfmt::skip]
pub mod toy_strategies;

/// Any value of a field: any bit pattern, with the two extreme ones more often than by chance.
fn value<const N: usize, T: WireValue<N> + Debug>() -> impl Strategy<Value = T> {
    prop_oneof![8 => any::<[u8; N]>(), 1 => Just([0; N]), 1 => Just([0xff; N])]
        .prop_map(T::from_be_bytes)
}

/// Any value of an enumeration: mostly the listed codes, sometimes any byte at all.
fn code<T: WireValue<1> + Debug>(known: &'static [T]) -> impl Strategy<Value = T> {
    prop_oneof![9 => select(known), 1 => any::<[u8; 1]>().prop_map(T::from_be_bytes)]
}

/// A tail of at most `most` bytes.
fn tail(most: usize) -> impl Strategy<Value = Vec<u8>> {
    collection::vec(any::<u8>(), 0..=most)
}

/// A message whose type is not in `tags`.
fn unlisted(tag_offset: usize, tags: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    collection::vec(any::<u8>(), tag_offset + 1..64)
        .prop_filter("the type must be unlisted", move |bytes| !tags.contains(&bytes[tag_offset]))
}
