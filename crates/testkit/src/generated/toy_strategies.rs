//! Toy protocol: proptest strategies.
//!
//! Written by `cargo xtask gen` from `schema/testing/toy.toml`: edit that, not this.

use crate::generated::toy::{
    self, Colour, EnvelopeFields, EveryWidthFields, HeadOnlyFields, NoteFields,
};
use proptest::{prelude::*, strategy::Union};

use super::{code, tail, unlisted, value};

/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message() -> impl Strategy<Value = Vec<u8>> {
    Union::new([
        every_width().prop_map(|fields| fields.encode().to_vec()).boxed(),
        head_only().prop_map(|fields| fields.encode().to_vec()).boxed(),
        note().boxed(),
        unknown_message().boxed(),
    ])
}

/// The bytes of a message whose type is not listed.
pub fn unknown_message() -> impl Strategy<Value = Vec<u8>> {
    unlisted(toy::TAG_OFFSET, toy::TAGS)
}

fields_strategy! {
    /// [`EveryWidthFields`] with any values.
    pub fn every_width() -> EveryWidthFields {
        stock_locate: value(),
        timestamp: value(),
        one: value(),
        two: value(),
        four: value(),
        eight: value(),
        tracking_number: value(),
        order_reference_number: value(),
        maybe_order: value(),
        match_number: value(),
        shares: value(),
        total_shares: value(),
        price: value(),
        maybe_price: value(),
        index_level: value(),
        seconds: value(),
        maybe_seconds: value(),
        stock: value(),
        mpid: value(),
        note: value(),
        mood: value(),
        colour: code(&Colour::KNOWN),
    }
}

fields_strategy! {
    /// [`HeadOnlyFields`] with any values.
    pub fn head_only() -> HeadOnlyFields {
        stock_locate: value(),
        timestamp: value(),
    }
}

bytes_strategy! {
    /// The encoded bytes of [`NoteFields`] with any values.
    pub fn note() -> NoteFields[31] {
        stock_locate: value(),
        timestamp: value(),
        stock: value(),
    } text: tail(12)
}

fields_strategy! {
    /// [`EnvelopeFields`] with any values.
    pub fn envelope() -> EnvelopeFields {
        count: value(),
        colour: code(&Colour::KNOWN),
    }
}
