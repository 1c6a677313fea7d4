//! The Rust module of a protocol: enumerations, views with their encoders, the enum of messages.

use std::collections::BTreeSet;

use super::{enumeration, layout, message, origin};
use crate::{
    Protocol,
    text::{comment, fill, filled},
};

/// The Rust module. `wire` is the path to the wire crate from where the module will live: `crate`
/// inside it, `nanotape_wire` elsewhere.
pub fn code(protocol: &Protocol, wire: &str) -> String {
    let title = format!("{}: views, encoders and codes.", protocol.title);
    let mut out = comment("//!", &title);
    out.push_str("//!\n");
    out.push_str(&comment("//!", &origin(protocol)));
    out.push_str(&comment("//!", &format!("Covers version {}.", protocol.version)));
    out.push_str(&imports(protocol, wire));
    if !protocol.messages.is_empty() {
        out.push_str(&message::write(protocol));
    }
    for item in protocol.layouts() {
        out.push_str(&layout::write(item));
    }
    for item in &protocol.enumerations {
        out.push_str(&enumeration::write(item));
    }
    out
}

fn imports(protocol: &Protocol, wire: &str) -> String {
    let mut types: BTreeSet<&str> = BTreeSet::from(["WireValue"]);
    types.extend(protocol.layouts().flat_map(|l| &l.fields).flat_map(|f| f.kind.imports()));
    let types: Vec<String> = types.into_iter().map(str::to_owned).collect();

    let has_messages = !protocol.messages.is_empty();
    let has_tail = protocol.layouts().any(|layout| layout.tail().is_some());
    let mut names = vec!["DecodeError"];
    if has_messages || has_tail {
        names.push("EncodeError");
    }
    let unknown = if protocol.enumerations.is_empty() { "" } else { ", UnknownCode" };
    let types = filled("use nanotape_types::{", &types, "};");
    // `crate` sorts before the crates.
    let (before, after) = if wire == "crate" { ("", &*types) } else { (&*types, "") };
    fill(
        "
use core::fmt;

@before@use @wire@::{
    @names@,
    codec::{self, Shape@unknown@},
    render::{Describe, FieldVisitor, Value},
};
@after@",
        &[
            ("before", before),
            ("after", after),
            ("wire", wire),
            ("names", &names.join(", ")),
            ("unknown", unknown),
        ],
    )
}
