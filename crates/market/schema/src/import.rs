//! Writes a schema of ours from a description. What a schema cannot express is a comment in it with
//! the position in the XML.

mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::{
    DescribedBits, DescribedCode, DescribedCodes, DescribedField, DescribedLayout, Description,
    Meaning, Problems, Spot, Tag, TagKind, described, read,
};
pub(crate) use names::snake;
use names::{Names, camel};

/// The widest `Alpha`.
const MOST_TEXT: usize = 64;

/// The schema of a description; `path` is its name in problems. It is read before it is returned,
/// so every problem is one of a description that no schema can express.
pub fn import(path: &str, description: &Description) -> Result<String, Problems> {
    let mut import = Import::new(description);
    import.protocol();
    for (index, header) in description.group_headers.iter().enumerate() {
        let name = import.names.of_type(&camel(&header.name));
        import.headers.insert(index, name.clone());
        import.layout("group_header", header, &name);
    }
    for message in &description.messages {
        let name = import.names.of_type(&camel(&message.name));
        import.layout("message", message, &name);
    }
    let text = import.finish();
    read(path, &text).map(|_| text)
}

/// The tables of a schema, before they are put in their order.
struct Import<'d> {
    description: &'d Description,
    names: Names,
    notes: Vec<(Spot, String)>,
    head: String,
    codes: BTreeMap<(usize, bool), Option<String>>,
    bits: BTreeMap<usize, String>,
    headers: BTreeMap<usize, String>,
    types: String,
    layouts: String,
}

/// A field of a schema.
struct Line {
    name: String,
    offset: usize,
    kind: String,
    more: String,
    doc: String,
}

impl<'d> Import<'d> {
    fn new(description: &'d Description) -> Self {
        Self {
            description,
            names: Names::default(),
            notes: description.notes.clone(),
            head: String::new(),
            codes: BTreeMap::new(),
            bits: BTreeMap::new(),
            headers: BTreeMap::new(),
            types: String::new(),
            layouts: String::new(),
        }
    }

    fn protocol(&mut self) {
        let Description { name, version, form, tag_offset, .. } = self.description;
        let module = snake(name);
        let out = &mut self.head;
        out.push_str("[protocol]\n");
        put(out, "name", &module.replace('_', "-"));
        put(out, "module", &module);
        put(out, "title", name);
        put(out, "version", version);
        put(out, "specification", &format!("An XML description ({form})"));
        let order = if self.description.is_little_endian { "little" } else { "big" };
        put(out, "byte_order", order);
        if self.description.tag_kind != TagKind::Char {
            put(out, "tag_type", self.description.tag_kind.name());
        }
        if *tag_offset != 0 {
            let _ = writeln!(out, "tag_offset = {tag_offset}");
        }
        if self.description.grows {
            put(out, "growth", "at_end");
        }
        if !self.description.head.is_empty() {
            let lines = self.description.head.iter().map(|head| Line {
                name: snake(&head.name),
                offset: head.offset,
                kind: head.kind.clone(),
                more: String::new(),
                doc: format!("{} in the description.", head.name),
            });
            let lines: Vec<Line> = lines.collect();
            list(out, "head", &lines);
        }
    }

    /// A message, an entry or the header of a group. Entries precede what has groups of them.
    fn layout(&mut self, table: &str, layout: &DescribedLayout, name: &str) {
        let mut groups = String::new();
        let mut taken = Names::of_fields();
        let lines = self.lines(layout, &mut taken);
        for group in &layout.groups {
            let entry = format!("{name}{}", camel(&group.entry.name));
            let entry = self.names.of_type(&entry);
            self.layout("entry", &group.entry, &entry);
            let (name, header) = (taken.of_field(&group.entry.name), &self.headers[&group.header]);
            let doc = documented(&group.entry.doc, &group.entry.name);
            let _ = writeln!(
                groups,
                "    {{ name = {}, header = {}, entry = {}, doc = {} }},",
                quoted(&name),
                quoted(header),
                quoted(&entry),
                quoted(&doc)
            );
        }
        let out = &mut self.layouts;
        let _ = writeln!(out, "\n# Line {} of the XML.\n[[{table}]]", layout.spot.line);
        match layout.tag {
            Some(Tag::Char(byte)) => put(out, "tag", &char::from(byte).to_string()),
            Some(tag) => {
                let _ = writeln!(out, "tag = {tag}");
            }
            None => {}
        }
        put(out, "name", name);
        put(out, "title", if layout.name.is_empty() { name } else { &layout.name });
        put(out, "doc", &documented(&layout.doc, &layout.name));
        let _ = writeln!(out, "length = {}", layout.length);
        if !lines.is_empty() {
            list(out, "fields", &lines);
        }
        if !groups.is_empty() {
            let _ = write!(out, "groups = [\n{groups}]\n");
        }
    }

    /// The fields of a layout, with padding where it has none.
    fn lines(&mut self, layout: &DescribedLayout, taken: &mut Names) -> Vec<Line> {
        let begin = if layout.tag.is_some() { self.description.begin } else { 0 };
        if layout.tag.is_some() {
            for head in &self.description.head {
                taken.of_field(&head.name);
            }
        }
        let (mut lines, mut end) = (Vec::new(), begin);
        for field in &layout.fields {
            padding(&mut lines, taken, end, field.offset);
            end = field.offset + field.width;
            self.field(field, taken, &mut lines);
        }
        padding(&mut lines, taken, end, layout.length);
        lines
    }

    fn field(&mut self, field: &DescribedField, taken: &mut Names, lines: &mut Vec<Line>) {
        let (kind, mut more) = self.kind(field);
        let DescribedField { offset, width, .. } = *field;
        let mut doc = documented(&field.doc, &field.name);
        let Some(kind) = kind else {
            let name = &field.name;
            let text = format!("'{name}' of {width} bytes is Alpha of at most {MOST_TEXT} bytes");
            self.notes.push((field.spot, text));
            pieces(lines, taken, &field.name, (offset, offset + width), &doc);
            return;
        };
        if let Some(null) = field.null {
            let _ = write!(more, ", null = {null:#x}");
            doc = format!("{} {null:#x} means absence.", doc.trim_end_matches(' '));
        }
        lines.push(Line { name: taken.of_field(&field.name), offset, kind, more, doc });
    }

    /// The type of a field and its other keys; no type if the field needs several.
    fn kind(&mut self, field: &DescribedField) -> (Option<String>, String) {
        let none = String::new();
        match field.meaning {
            Meaning::Bits(Some(set)) if field.width <= 2 => (Some(self.set(set)), none),
            Meaning::Bits(set) => {
                let name = &field.name;
                if set.is_some() {
                    let text = format!("'{name}' has more bits than a set: a number without names");
                    self.notes.push((field.spot, text));
                }
                (integer(field.width, false).map(str::to_owned), none)
            }
            Meaning::Text if field.width == 1 => {
                (Some(self.list_or(field, false, "Alpha<1>")), none)
            }
            Meaning::Text if field.width <= MOST_TEXT => {
                let more = self.code_list(field);
                (Some(format!("Alpha<{}>", field.width)), more)
            }
            Meaning::Text | Meaning::Opaque => (None, none),
            Meaning::Number { is_signed, places } => {
                let name = integer(field.width, is_signed.unwrap_or(false));
                let kind = match (name, places) {
                    (None, _) if field.width == 6 => Some("NanosSinceMidnight".to_owned()),
                    (None, _) => None,
                    (Some("u8"), _) => Some(self.list_or(field, true, "u8")),
                    (Some(name), Some(places @ 1..)) => Some(format!("Decimal<{name}, {places}>")),
                    (Some(name), _) => Some(name.to_owned()),
                };
                if is_signed.is_none() {
                    let text = format!("the sign of '{}' is not stated: unsigned here", field.name);
                    self.notes.push((field.spot, text));
                }
                if field.codes.is_some() && kind.as_deref() != Some("u8") && field.width != 1 {
                    let text = format!("the codes of '{}' are wider than one byte", field.name);
                    self.notes.push((field.spot, text));
                }
                (kind, none)
            }
        }
    }

    /// The enumeration of a field of one byte, or `otherwise`.
    fn list_or(&mut self, field: &DescribedField, is_numeric: bool, otherwise: &str) -> String {
        let Some(index) = field.codes else { return otherwise.to_owned() };
        if let Some(known) = self.codes.get(&(index, is_numeric)) {
            return known.clone().unwrap_or_else(|| otherwise.to_owned());
        }
        let codes = &self.description.codes[index];
        let name = self.enumeration(codes, is_numeric);
        self.codes.insert((index, is_numeric), name.clone());
        name.unwrap_or_else(|| otherwise.to_owned())
    }

    fn enumeration(&mut self, list: &DescribedCodes, is_numeric: bool) -> Option<String> {
        let mut rows: Vec<(String, &DescribedCode)> = Vec::new();
        for code in &list.codes {
            let value = match is_numeric {
                true => described::number(&code.value)
                    .filter(|number| (0..=255).contains(number))
                    .map(|number| number.to_string()),
                false => match code.value.as_bytes() {
                    &[_] => Some(quoted(&code.value)),
                    _ => None,
                },
            };
            let Some(value) = value else {
                let text = format!("code '{}' of '{}' is not one byte", code.value, list.name);
                self.notes.push((code.spot, text));
                continue;
            };
            if rows.iter().any(|(other, _)| *other == value) {
                self.notes
                    .push((code.spot, format!("code {value} of '{}' is a second one", list.name)));
                continue;
            }
            rows.push((value, code));
        }
        if rows.is_empty() {
            return None;
        }
        let name = self.names.of_type(&camel(&list.name));
        let mut taken = Names::default();
        let out = &mut self.types;
        let _ = writeln!(out, "\n# Line {} of the XML.\n[[enumeration]]", list.spot.line);
        put(out, "name", &name);
        put(out, "doc", &documented(&list.doc, &list.name));
        out.push_str("codes = [\n");
        for (value, code) in rows {
            let doc =
                documented(&code.doc, if code.name.is_empty() { &code.value } else { &code.name });
            let name = taken.of_code(&camel(&code.name));
            let _ = writeln!(
                out,
                "    {{ code = {value}, name = {}, doc = {} }},",
                quoted(&name),
                quoted(&doc)
            );
        }
        out.push_str("]\n");
        Some(name)
    }

    /// The key of a field of several characters with a list of codes.
    fn code_list(&mut self, field: &DescribedField) -> String {
        let Some(list) = field.codes.map(|index| &self.description.codes[index]) else {
            return String::new();
        };
        let (mut codes, mut seen): (Vec<&str>, BTreeSet<&str>) = Default::default();
        for code in &list.codes {
            let fits = code.value.is_ascii() && code.value.len() <= field.width;
            if !fits || !seen.insert(&code.value) {
                let text = format!("code '{}' of '{}' is not kept", code.value, list.name);
                self.notes.push((code.spot, text));
                continue;
            }
            codes.push(&code.value);
        }
        let name = self.names.of_type(&camel(&list.name));
        let out = &mut self.types;
        let _ = writeln!(out, "\n# Line {} of the XML.\n[[code_list]]", list.spot.line);
        put(out, "name", &name);
        put(out, "doc", &documented(&list.doc, &list.name));
        let _ = writeln!(out, "width = {}", field.width);
        let codes: Vec<String> = codes.into_iter().map(quoted).collect();
        let _ = writeln!(out, "codes = [{}]", codes.join(", "));
        format!(", codes = {}", quoted(&name))
    }

    fn set(&mut self, index: usize) -> String {
        if let Some(known) = self.bits.get(&index) {
            return known.clone();
        }
        let DescribedBits { spot, name, doc, width, bits } = &self.description.bits[index];
        let type_name = self.names.of_type(&camel(name));
        let out = &mut self.types;
        let _ = writeln!(out, "\n# Line {} of the XML.\n[[bits]]", spot.line);
        put(out, "name", &type_name);
        put(out, "doc", &documented(doc, name));
        put(out, "type", if *width == 1 { "u8" } else { "u16" });
        out.push_str("bits = [\n");
        let (mut taken, mut numbers) = (Names::of_bits(), Vec::new());
        for (number, bit) in bits {
            if numbers.contains(number) {
                let text = format!("bit {number} of '{name}' has a second name, '{}'", bit.name);
                self.notes.push((bit.spot, text));
                continue;
            }
            numbers.push(*number);
            let _ = writeln!(
                out,
                "    {{ bit = {number}, name = {}, doc = {} }},",
                quoted(&taken.of_field(&bit.name)),
                quoted(&documented(&bit.doc, &bit.name))
            );
        }
        out.push_str("]\n");
        self.bits.insert(index, type_name.clone());
        type_name
    }

    fn finish(self) -> String {
        let Self { mut notes, head, types, layouts, description, .. } = self;
        notes.sort();
        notes.dedup();
        let mut out = format!("# {}, version {}.\n", description.name, description.version);
        out.push_str(
            "# Imported by `nanotape-schema import`: compare it with the specification, and\n",
        );
        out.push_str("# give names, types and descriptions their final form.\n");
        let _ = writeln!(out, "#\n# Form: {}.", description.form);
        if !notes.is_empty() {
            out.push_str("#\n# Not expressed here, with line and column of the XML:\n");
        }
        for (spot, note) in notes {
            let _ = writeln!(out, "# {spot}: {}", described::printed(&note));
        }
        format!("{out}\n{head}{types}{layouts}")
    }
}

/// Bytes without a field.
fn padding(lines: &mut Vec<Line>, taken: &mut Names, from: usize, to: usize) {
    if from < to {
        pieces(lines, taken, "padding", (from, to), "Not used.");
    }
}

/// Fields of text, none wider than a type can be.
fn pieces(
    lines: &mut Vec<Line>,
    taken: &mut Names,
    name: &str,
    (from, to): (usize, usize),
    doc: &str,
) {
    for offset in (from..to).step_by(MOST_TEXT) {
        let width = MOST_TEXT.min(to - offset);
        let (kind, more, doc) = (format!("Alpha<{width}>"), String::new(), doc.to_owned());
        lines.push(Line { name: taken.of_field(name), offset, kind, more, doc });
    }
}

fn integer(width: usize, is_signed: bool) -> Option<&'static str> {
    let at = [1, 2, 4, 8].iter().position(|known| *known == width)?;
    Some(if is_signed { ["i8", "i16", "i32", "i64"][at] } else { ["u8", "u16", "u32", "u64"][at] })
}

fn list(out: &mut String, key: &str, lines: &[Line]) {
    let _ = writeln!(out, "{key} = [");
    for Line { name, offset, kind, more, doc } in lines {
        let (name, kind, doc) = (quoted(name), quoted(kind), quoted(doc));
        let _ = writeln!(
            out,
            "    {{ name = {name}, offset = {offset}, type = {kind}{more}, doc = {doc} }},"
        );
    }
    out.push_str("]\n");
}

fn put(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {}", quoted(value));
}

/// A description, or the name of what has none.
fn documented(doc: &str, name: &str) -> String {
    let text = if doc.is_empty() { name } else { doc };
    if text.is_empty() { "Not described.".into() } else { text.to_owned() }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}
