//! Reads the form of the Open Markets Initiative: messages with fields one after the other, sets of
//! bits and lists of codes. A field and its list of codes have one name.

mod families;

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::{
    DescribedBits, DescribedCode, DescribedCodes, DescribedField, DescribedHead, DescribedLayout,
    Description, MOST_FIELDS, Meaning, Xml, number,
    xml::{Read, elements, one_line, optional_text, shown, text_of},
};
use crate::{Tag, TagKind};
use families::{FAMILIES, Family};

const MOST: usize = u16::MAX as usize;

/// Children of a field that are read, or that say nothing about bytes.
const OF_FIELDS: [&str; 4] = ["Name", "Size", "Type", "Description"];

/// The same for a message. `Dependency`, `Branch`, `Origin`, `Category` and `Type` sort it.
const OF_MESSAGES: [&str; 9] =
    ["Name", "Code", "Description", "Fields", "Dependency", "Branch", "Origin", "Category", "Type"];

pub(super) fn read(xml: &Xml<'_>, root: Node<'_, '_>) -> Read<Description> {
    let name = root.tag_name().name();
    let Some(family) = FAMILIES.iter().find(|family| name.starts_with(family.root)) else {
        let known: Vec<&str> = FAMILIES.iter().map(|family| family.root).collect();
        let known = known.join(", ");
        let text = format!(
            "root element <{}> must be <messageSchema> of SBE, or of OMI begin with {known}",
            shown(name)
        );
        return xml.refuse(root, text);
    };
    let head = family.head.iter().map(|&(name, offset, kind)| DescribedHead {
        name: name.into(),
        offset,
        kind: kind.into(),
    });
    let description = Description {
        path: xml.path(),
        name: name.strip_suffix("Pdf").unwrap_or(name).into(),
        version: "not stated".into(),
        form: family.form,
        is_little_endian: family.is_little_endian,
        tag_kind: family.tag_kind,
        tag_offset: family.tag_offset,
        head: head.collect(),
        begin: family.begin,
        grows: family.grows,
        has_nulls: false,
        messages: Vec::new(),
        group_headers: Vec::new(),
        codes: Vec::new(),
        bits: Vec::new(),
        notes: Vec::new(),
    };
    let mut reader = Reader {
        xml,
        family,
        description,
        lines: BTreeMap::new(),
        fields: 0,
        codes: BTreeMap::new(),
        bits: BTreeMap::new(),
        used: BTreeSet::new(),
    };
    // Fields refer to lists and sets, which come after them.
    for (section, item) in sections(root) {
        match (section.tag_name().name(), item.tag_name().name()) {
            ("Enums", "Enum") => reader.codes(item)?,
            ("Bitfields", "Bitfield") => reader.bits(item)?,
            ("Messages", "Message") => {}
            (section, element) => {
                reader.note(item, format!("<{element}> in <{section}> is not read"));
            }
        }
    }
    for (_, item) in sections(root).filter(|(_, item)| item.tag_name().name() == "Message") {
        let message = reader.message(item)?;
        reader.description.messages.push(message);
    }
    if reader.description.messages.is_empty() {
        return xml.refuse(root, "no <Message>");
    }
    Ok(reader.finish())
}

/// The elements of each section of the file.
fn sections<'n, 'd>(root: Node<'n, 'd>) -> impl Iterator<Item = (Node<'n, 'd>, Node<'n, 'd>)> {
    elements(root).flat_map(|section| elements(section).map(move |item| (section, item)))
}

struct Reader<'x, 'd> {
    xml: &'x Xml<'d>,
    family: &'static Family,
    description: Description,
    /// Lines of the messages.
    lines: BTreeMap<Tag, usize>,
    /// Fields of all messages so far.
    fields: usize,
    /// Which list and which set has a name.
    codes: BTreeMap<String, usize>,
    bits: BTreeMap<String, usize>,
    /// Names of lists and sets that fields have.
    used: BTreeSet<String>,
}

impl Reader<'_, '_> {
    fn note(&mut self, node: Node<'_, '_>, text: String) {
        self.description.notes.push((self.xml.spot(node), text));
    }

    fn note_others(&mut self, node: Node<'_, '_>, known: &[&str]) {
        for child in elements(node).filter(|child| !known.contains(&child.tag_name().name())) {
            let (child_name, name) = (child.tag_name().name(), node.tag_name().name());
            self.note(child, format!("<{child_name}> in <{name}> is not read"));
        }
    }

    fn message(&mut self, node: Node<'_, '_>) -> Read<DescribedLayout> {
        let xml = self.xml;
        self.note_others(node, &OF_MESSAGES);
        let (_, name) = xml.child(node, "Name")?;
        let (code_node, code) = xml.child(node, "Code")?;
        let Some(tag) = tag(self.family.tag_kind, &code) else {
            let kind = match self.family.tag_kind {
                TagKind::Char => "one character",
                TagKind::U8 => "a number of one byte",
                TagKind::U16 => "a number of two bytes",
            };
            return xml.refuse(code_node, format!("Code '{}' must be {kind}", shown(&code)));
        };
        if let Some(line) = self.lines.insert(tag, xml.spot(node).line) {
            return xml.refuse(code_node, format!("Code '{tag}' is that of line {line} too"));
        }
        let mut layout = DescribedLayout {
            spot: xml.spot(node),
            name: name.strip_suffix(" Message").unwrap_or(&name).into(),
            doc: optional_text(node, "Description"),
            tag: Some(tag),
            length: self.family.begin,
            fields: Vec::new(),
            groups: Vec::new(),
        };
        let lists = elements(node).filter(|child| child.tag_name().name() == "Fields");
        for field in lists.flat_map(elements) {
            if field.tag_name().name() != "Field" {
                let text = format!("<{}> must be <Field>", shown(field.tag_name().name()));
                return xml.refuse(field, text);
            }
            self.fields += 1;
            if self.fields > MOST_FIELDS {
                return xml.refuse(field, format!("more than {MOST_FIELDS} fields"));
            }
            let field_read = self.field(field, layout.length)?;
            layout.length += field_read.width;
            if layout.length > MOST {
                return xml.refuse(field, format!("the message has more than {MOST} bytes"));
            }
            layout.fields.push(field_read);
        }
        Ok(layout)
    }

    fn field(&mut self, node: Node<'_, '_>, offset: usize) -> Read<DescribedField> {
        let xml = self.xml;
        self.note_others(node, &OF_FIELDS);
        let (_, name) = xml.child(node, "Name")?;
        let (word_node, word) = xml.child(node, "Type")?;
        let Some(mut meaning) = self.family.word(&word) else {
            let (word, known) = (shown(&word), self.family.known());
            let text = format!("unknown type '{word}'; {} has {known}", self.family.root);
            return xml.refuse(word_node, text);
        };
        let mut width = xml.count_child(node, "Size", MOST)?;
        let codes = self.codes.get(&name).copied();
        if let Meaning::Bits(set) = &mut meaning {
            *set = self.bits.get(&name).copied();
            let bits = set.map(|set| self.description.bits[set].width);
            match bits {
                Some(bits) if width == 0 || width == bits => width = bits,
                Some(bits) => {
                    let text = format!("bitfield '{name}' has {bits} bytes, its field {width}");
                    return xml.refuse(node, text);
                }
                None => self.note(node, format!("no <Bitfield> has the name '{name}'")),
            }
        }
        if width == 0 {
            return xml.refuse(node, format!("field '{}' has no bytes", shown(&name)));
        }
        if codes.is_some() || matches!(meaning, Meaning::Bits(Some(_))) {
            self.used.insert(name.clone());
        }
        let (spot, doc) = (xml.spot(node), optional_text(node, "Description"));
        Ok(DescribedField { spot, name, doc, offset, width, meaning, codes, null: None })
    }

    fn codes(&mut self, node: Node<'_, '_>) -> Read<()> {
        let xml = self.xml;
        let (_, name) = xml.child(node, "Name")?;
        if self.codes.insert(name.clone(), self.description.codes.len()).is_some() {
            return xml.refuse(node, format!("a second <Enum> '{}'", shown(&name)));
        }
        let mut codes = Vec::new();
        let lists = elements(node).filter(|child| child.tag_name().name() == "Values");
        for value in lists.flat_map(elements) {
            self.note_others(value, &["Data", "Name", "Description"]);
            let data = elements(value).find(|child| child.tag_name().name() == "Data");
            let Some(data) = data else { return xml.refuse(value, "a value has no <Data>") };
            let code = DescribedCode {
                spot: xml.spot(value),
                value: unquoted(&text_as_written(data)),
                name: optional_text(value, "Name"),
                doc: optional_text(value, "Description"),
            };
            if code.value.is_empty() {
                return xml.refuse(data, "<Data> is empty");
            }
            codes.push(code);
        }
        let (spot, doc) = (xml.spot(node), optional_text(node, "Description"));
        self.description.codes.push(DescribedCodes { spot, name, doc, codes });
        Ok(())
    }

    fn bits(&mut self, node: Node<'_, '_>) -> Read<()> {
        let xml = self.xml;
        let (_, name) = xml.child(node, "Name")?;
        if self.bits.insert(name.clone(), self.description.bits.len()).is_some() {
            return xml.refuse(node, format!("a second <Bitfield> '{}'", shown(&name)));
        }
        // The lowest bit is first.
        let (mut count, mut bits) = (0, Vec::new());
        let lists = elements(node).filter(|child| child.tag_name().name() == "Fields");
        for field in lists.flat_map(elements) {
            let (_, bit_name) = xml.child(field, "Name")?;
            let width = xml.count_child(field, "Bits", 64)?;
            let doc = optional_text(field, "Description");
            let is_named = !is_filler(&bit_name);
            if is_named && width != 1 {
                self.note(field, format!("'{bit_name}' has {width} bits: it is a number of bits"));
            }
            for bit in (count..count + width).filter(|_| is_named) {
                let (spot, value) = (xml.spot(field), bit.to_string());
                let (name, doc) = (bit_name.clone(), doc.clone());
                bits.push((bit, DescribedCode { spot, value, name, doc }));
            }
            count += width;
            if count > 64 {
                return xml.refuse(field, "more than 64 bits");
            }
        }
        if count == 0 || count % 8 != 0 {
            let text = format!("bitfield '{}' has {count} bits, not whole bytes", shown(&name));
            return xml.refuse(node, text);
        }
        let (spot, doc) = (xml.spot(node), optional_text(node, "Description"));
        self.description.bits.push(DescribedBits { spot, name, doc, width: count / 8, bits });
        Ok(())
    }

    /// Notes what no field has.
    fn finish(self) -> Description {
        let Self { mut description, used, .. } = self;
        let codes = description.codes.iter().map(|codes| (codes.spot, "Enum", &codes.name));
        let bits = description.bits.iter().map(|bits| (bits.spot, "Bitfield", &bits.name));
        let unused = codes.chain(bits).filter(|(_, _, name)| !used.contains(*name));
        let notes = unused.map(|(spot, element, name)| {
            (spot, format!("<{element}> '{name}' is not read: no field has this name"))
        });
        let notes: Vec<_> = notes.collect();
        description.notes.extend(notes);
        description.notes.sort_by_key(|(spot, _)| *spot);
        description
    }
}

/// Whether a name is one of bits or bytes that mean nothing yet.
pub(crate) fn is_filler(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["unused", "reserved", "padding"].iter().any(|filler| name.starts_with(filler))
}

fn tag(kind: TagKind, code: &str) -> Option<Tag> {
    match kind {
        TagKind::Char => match code.as_bytes() {
            &[byte] => Some(Tag::Char(byte)),
            _ => None,
        },
        TagKind::U8 => number(code)?.try_into().ok().map(Tag::U8),
        TagKind::U16 => number(code)?.try_into().ok().map(Tag::U16),
    }
}

/// The text of a value: a space can be a code.
fn text_as_written(node: Node<'_, '_>) -> String {
    let texts = node.children().filter(Node::is_text).filter_map(|text| text.text());
    match texts.collect::<String>() {
        text if text == " " => text,
        text if text.trim().starts_with(['\'', '"']) => text.trim().to_owned(),
        _ => text_of(node),
    }
}

/// A code without the quotes that protect a space.
fn unquoted(text: &str) -> String {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    match inner('\'').or_else(|| inner('"')) {
        Some(" ") => " ".into(),
        Some(inner) if !inner.is_empty() => one_line(inner),
        _ => text.to_owned(),
    }
}
