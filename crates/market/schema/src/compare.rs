//! Compares a schema of ours with a description, difference by difference.
//!
//! Names differ between the two, so messages are paired by their types. Fields are paired by name
//! where both sides have it once, and otherwise by offset: a field that was moved is one
//! difference, and a renamed one is not a difference.

mod difference;
mod fields;

pub use difference::{Aspect, Difference};

use std::collections::{BTreeMap, BTreeSet};

use crate::{DescribedLayout, Description, Group, Layout, Protocol, Spot, Tag};

/// The place of a layout in the answers.
#[derive(Clone)]
struct Place {
    /// The type of the message.
    message: String,
    /// Its name with us, or there if we lack it.
    name: String,
    /// The names of the groups around the field, each with a slash.
    within: String,
}

impl Place {
    fn difference(
        &self,
        aspect: Aspect,
        field: &str,
        ours: impl Into<String>,
        theirs: impl Into<String>,
        spot: Spot,
    ) -> Difference {
        let Self { message, name, within } = self.clone();
        let field = format!("{within}{field}").trim_end_matches('/').to_owned();
        Difference { aspect, message, name, field, ours: ours.into(), theirs: theirs.into(), spot }
    }
}

/// All differences, in the order of the description.
pub fn compare(ours: &Protocol, theirs: &Description) -> Vec<Difference> {
    let mut found = Vec::new();
    whole(ours, theirs, &mut found);
    let known: BTreeMap<Tag, &Layout> =
        ours.messages.iter().filter_map(|message| Some((message.tag?, message))).collect();
    let mut seen = BTreeSet::new();
    for message in &theirs.messages {
        let Some(tag) = message.tag else { continue };
        seen.insert(tag);
        let Some(own) = known.get(&tag) else {
            let place = place(tag, &message.name);
            let (aspect, theirs) = (Aspect::Message, message.name.clone());
            found.push(place.difference(aspect, "", "none", theirs, message.spot));
            continue;
        };
        layouts(ours, theirs, &place(tag, &own.name), own, message, &mut found);
    }
    let end = Spot { line: 1, column: 1 };
    for (tag, own) in known.into_iter().filter(|(tag, _)| !seen.contains(tag)) {
        let place = place(tag, &own.name);
        found.push(place.difference(Aspect::Message, "", own.name.clone(), "none", end));
    }
    found
}

fn place(tag: Tag, name: &str) -> Place {
    Place { message: tag.to_string(), name: name.into(), within: String::new() }
}

/// Compares what is the same for all messages.
fn whole(ours: &Protocol, theirs: &Description, found: &mut Vec<Difference>) {
    let place = Place { message: String::new(), name: ours.name.clone(), within: String::new() };
    let spot = Spot { line: 1, column: 1 };
    let order = |is_little: bool| if is_little { "little" } else { "big" };
    if ours.is_little_endian != theirs.is_little_endian {
        let (own, other) = (order(ours.is_little_endian), order(theirs.is_little_endian));
        found.push(place.difference(Aspect::ByteOrder, "", own, other, spot));
    }
    let head =
        |kind: crate::TagKind, offset: usize| format!("type {} at byte {offset}", kind.name());
    let own = head(ours.tag_kind, ours.tag_offset);
    let other = head(theirs.tag_kind, theirs.tag_offset);
    if own != other {
        found.push(place.difference(Aspect::Head, "", own, other, spot));
    }
}

/// Compares two messages, or two entries of groups.
fn layouts(
    ours: &Protocol,
    theirs: &Description,
    place: &Place,
    own: &Layout,
    other: &DescribedLayout,
    found: &mut Vec<Difference>,
) {
    let last = own.fields.last().filter(|field| field.is_optional);
    let with_last = last.and_then(crate::Field::end);
    if other.length != own.length && Some(other.length) != with_last {
        let (own, theirs) = (own.length.to_string(), other.length.to_string());
        found.push(place.difference(Aspect::Length, "", own, theirs, other.spot));
    }
    fields::compare(ours, theirs, place, own, other, found);
    for (index, group) in other.groups.iter().enumerate() {
        let name = &group.entry.name;
        match own.groups.get(index) {
            Some(own) => groups(ours, theirs, place, own, group, found),
            None => {
                let spot = group.entry.spot;
                found.push(place.difference(Aspect::Group, name, "none", name.as_str(), spot));
            }
        }
    }
    for group in own.groups.iter().skip(other.groups.len()) {
        let name = group.name.as_str();
        found.push(place.difference(Aspect::Group, name, name, "none", other.spot));
    }
}

fn groups(
    ours: &Protocol,
    theirs: &Description,
    place: &Place,
    own: &Group,
    other: &crate::DescribedGroup,
    found: &mut Vec<Difference>,
) {
    let within = format!("{}{}/", place.within, own.name);
    let place = Place { within, ..place.clone() };
    let header = ours.structures.iter().find(|layout| layout.name == own.header);
    let described = &theirs.group_headers[other.header];
    let of_own = |layout: &Layout| {
        let named = layout.fields.iter().filter(|field| !is_filler(&field.name));
        named.map(|field| (field.offset, field.kind.width().unwrap_or_default())).collect()
    };
    let own_fields: Vec<(usize, usize)> = header.map(of_own).unwrap_or_default();
    let fields = described.fields.iter().map(|field| (field.offset, field.width));
    let described_fields: Vec<(usize, usize)> = fields.collect();
    if own_fields != described_fields || header.map(|h| h.length) != Some(described.length) {
        let (own, other) = (spans(&own_fields), spans(&described_fields));
        found.push(place.difference(Aspect::Group, "header", own, other, described.spot));
    }
    if let Some(entry) = ours.entries.iter().find(|entry| entry.name == own.entry) {
        layouts(ours, theirs, &place, entry, &other.entry, found);
    }
}

fn spans(fields: &[(usize, usize)]) -> String {
    let spans = fields.iter().map(|(offset, width)| format!("{width} at {offset}"));
    spans.collect::<Vec<_>>().join(", ")
}

/// Whether a name is one of bytes or bits that mean nothing yet.
fn is_filler(name: &str) -> bool {
    crate::described::is_filler(name)
}
