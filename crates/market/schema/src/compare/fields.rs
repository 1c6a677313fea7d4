//! Compares the fields of two layouts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Aspect, Difference, Place, is_filler};
use crate::{
    DescribedField, DescribedLayout, Description, Field, FieldType, Layout, Meaning, Protocol,
    described::number, import::snake, protocol::hexadecimal,
};

pub(super) fn compare(
    ours: &Protocol,
    theirs: &Description,
    place: &Place,
    own: &Layout,
    other: &DescribedLayout,
    found: &mut Vec<Difference>,
) {
    // What precedes the fields of a description is no difference.
    let begin = if own.tag.is_some() { theirs.begin } else { 0 };
    let own_fields: Vec<&Field> = own.fields.iter().filter(|field| field.offset >= begin).collect();
    let pairs = pairs(&own_fields, &other.fields);
    let mut paired: BTreeSet<&str> = BTreeSet::new();
    for (own, other) in other.fields.iter().enumerate().map(|(at, field)| (pairs.get(&at), field)) {
        match own {
            Some(own) => {
                paired.insert(&own.name);
                let both = Both { ours, theirs, place, own, other };
                both.compare(found);
            }
            None if is_filler(&other.name) => {}
            None => {
                let theirs = format!("{} bytes at {}", other.width, other.offset);
                let difference = place.difference(
                    Aspect::Field,
                    &snake(&other.name),
                    "none",
                    theirs,
                    other.spot,
                );
                found.push(difference);
            }
        }
    }
    let lacking = own_fields.iter().filter(|field| !paired.contains(field.name.as_str()));
    // A description has no fields for bytes without a meaning; the length shows missing ones.
    for field in lacking.filter(|field| !is_filler(&field.name)) {
        let width = field.kind.width().map_or("all".into(), |width| width.to_string());
        let what = if field.is_optional { ", optional" } else { "" };
        let own = format!("{width} bytes at {}{what}", field.offset);
        found.push(place.difference(Aspect::Field, &field.name, own, "none", other.spot));
    }
}

/// Our field for each of theirs: that of the same name, or that at the same offset.
fn pairs<'p>(ours: &[&'p Field], theirs: &[DescribedField]) -> BTreeMap<usize, &'p Field> {
    let mut names: BTreeMap<String, (usize, Option<usize>)> = BTreeMap::new();
    for (at, field) in theirs.iter().enumerate() {
        let entry = names.entry(snake(&field.name)).or_insert((0, None));
        *entry = (entry.0 + 1, Some(at));
    }
    let mut pairs = BTreeMap::new();
    let mut open: BTreeMap<usize, &'p Field> = BTreeMap::new();
    for &field in ours {
        match names.get(&field.name) {
            Some((1, Some(at))) => {
                pairs.insert(*at, field);
            }
            _ => {
                open.insert(field.offset, field);
            }
        }
    }
    for (at, field) in theirs.iter().enumerate() {
        if !pairs.contains_key(&at)
            && let Some(own) = open.remove(&field.offset)
        {
            pairs.insert(at, own);
        }
    }
    pairs
}

/// A field of each side.
struct Both<'b> {
    ours: &'b Protocol,
    theirs: &'b Description,
    place: &'b Place,
    own: &'b Field,
    other: &'b DescribedField,
}

impl Both<'_> {
    fn compare(&self, found: &mut Vec<Difference>) {
        let mut differ = |aspect: Aspect, ours: String, theirs: String| {
            if ours != theirs {
                let (name, spot) = (&self.own.name, self.other.spot);
                found.push(self.place.difference(aspect, name, ours, theirs, spot));
            }
        };
        let (own, other) = (self.own, self.other);
        differ(Aspect::Offset, own.offset.to_string(), other.offset.to_string());
        let width = own.kind.width().map_or("all".into(), |width| width.to_string());
        differ(Aspect::Width, width, other.width.to_string());
        let (kind, kind_of_other) = (self.kind(), self.kind_of_other());
        differ(Aspect::Type, kind.into(), kind_of_other.into());
        let is_same_kind = kind == kind_of_other;
        if let (Some(own), Meaning::Number { is_signed, places }) = (signed(own), other.meaning) {
            let name = |is_signed: bool| if is_signed { "signed" } else { "unsigned" }.to_owned();
            differ(Aspect::Sign, name(own), name(is_signed.unwrap_or(own)));
            if let (Some(own), Some(other)) = (decimals(self.own), places) {
                differ(Aspect::Decimals, own.to_string(), other.to_string());
            }
        }
        for (ours, theirs) in self.codes().into_iter().filter(|_| is_same_kind) {
            differ(Aspect::Codes, ours, theirs);
        }
        for (ours, theirs) in self.bits().into_iter().filter(|_| is_same_kind) {
            differ(Aspect::Bits, ours, theirs);
        }
        if self.theirs.has_nulls && matches!(other.meaning, Meaning::Number { .. }) {
            let null = |null: Option<u64>| null.map_or("none".into(), hexadecimal);
            differ(Aspect::Null, null(own.null), null(other.null));
        }
    }

    /// What our field is. Codes count as the number or the character that they are.
    fn kind(&self) -> &'static str {
        match &self.own.kind {
            FieldType::Enumeration(name) => match self.ours.enumeration(name) {
                Some(list) if list.is_numeric => "number",
                _ => "text",
            },
            FieldType::Bits(..) => "bits",
            kind if kind.is_text() => "text",
            FieldType::Text | FieldType::Bytes => "text",
            _ => "number",
        }
    }

    fn kind_of_other(&self) -> &'static str {
        match self.other.meaning {
            Meaning::Number { .. } => "number",
            Meaning::Text => "text",
            Meaning::Bits(_) => "bits",
            // Our schemas have such bytes as text.
            Meaning::Opaque => self.kind(),
        }
    }

    /// Each code that one side lacks. A field without a list of codes has any code.
    fn codes(&self) -> Vec<(String, String)> {
        let is_numeric = self.kind() == "number";
        let own: Option<Vec<String>> = match &self.own.kind {
            FieldType::Enumeration(name) => self.ours.enumeration(name).map(|list| {
                let codes = list.codes.iter().map(|code| match is_numeric {
                    true => code.byte.to_string(),
                    false => char::from(code.byte).to_string(),
                });
                codes.collect()
            }),
            _ => self.own.codes.as_ref().and_then(|name| {
                let list = self.ours.code_lists.iter().find(|list| list.name == *name);
                list.map(|list| list.codes.clone())
            }),
        };
        let theirs = self.other.codes.map(|index| &self.theirs.codes[index].codes);
        let theirs: Option<Vec<String>> = theirs.map(|codes| {
            let values = codes.iter().map(|code| match number(&code.value) {
                Some(number) if is_numeric => number.to_string(),
                _ => code.value.clone(),
            });
            values.collect()
        });
        let (own, theirs) = match (own, theirs) {
            (None, None) => return Vec::new(),
            (Some(own), None) => return vec![(list_of(&own), "any".into())],
            (None, Some(theirs)) => return vec![("any".into(), list_of(&theirs))],
            (Some(own), Some(theirs)) => (own, theirs),
        };
        let mut found = Vec::new();
        let lacking = |of: &[String], other: &[String]| -> Vec<String> {
            of.iter().filter(|code| !other.contains(code)).cloned().collect()
        };
        found.extend(lacking(&own, &theirs).into_iter().map(|code| (quoted(&code), "none".into())));
        found.extend(lacking(&theirs, &own).into_iter().map(|code| ("none".into(), quoted(&code))));
        found
    }

    /// Each bit with a name that it lacks on the other side.
    fn bits(&self) -> Vec<(String, String)> {
        let FieldType::Bits(name, _) = &self.own.kind else { return Vec::new() };
        let Some(set) = self.ours.bit_set(name) else { return Vec::new() };
        let Meaning::Bits(Some(index)) = self.other.meaning else { return Vec::new() };
        let named = set.bits.iter().filter(|bit| !is_filler(&bit.name));
        let own: BTreeMap<usize, &str> = named.map(|bit| (bit.number, bit.name.as_str())).collect();
        let named = self.theirs.bits[index].bits.iter().filter(|(_, bit)| !is_filler(&bit.name));
        let theirs: BTreeMap<usize, &str> =
            named.map(|(number, bit)| (*number, bit.name.as_str())).collect();
        let one = |number: usize, name: &str| format!("bit {number} {}", snake(name));
        let mut found = Vec::new();
        for (number, name) in own.iter().filter(|(number, _)| !theirs.contains_key(number)) {
            found.push((one(*number, name), "none".into()));
        }
        for (number, name) in theirs.iter().filter(|(number, _)| !own.contains_key(number)) {
            found.push(("none".into(), one(*number, name)));
        }
        found
    }
}

/// Whether our field is signed, if it is a number with a sign.
fn signed(field: &Field) -> Option<bool> {
    match &field.kind {
        FieldType::Signed(_) => Some(true),
        FieldType::Decimal(scalar, _) => Some(scalar.rust.starts_with('i')),
        FieldType::Integer(_) | FieldType::Count(_) | FieldType::Unit(_) => Some(false),
        FieldType::Enumeration(_) => Some(false),
        FieldType::Maybe(_) => Some(false),
        _ => None,
    }
}

/// The implied decimals of our field, if its type states them.
fn decimals(field: &Field) -> Option<usize> {
    match &field.kind {
        FieldType::Decimal(_, places) => Some(*places),
        FieldType::Unit(scalar) => Some(match scalar.rust {
            "Price4" => 4,
            "Price8" => 8,
            _ => 0,
        }),
        FieldType::Maybe(inner) => {
            let kind = (**inner).clone();
            decimals(&Field { kind, ..field.clone() })
        }
        FieldType::Integer(_) | FieldType::Signed(_) | FieldType::Count(_) => Some(0),
        _ => None,
    }
}

fn quoted(code: &str) -> String {
    format!("'{code}'")
}

fn list_of(codes: &[String]) -> String {
    codes.iter().map(|code| quoted(code)).collect::<Vec<_>>().join(" ")
}
