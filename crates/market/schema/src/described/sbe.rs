//! Reads the form of FIX Simple Binary Encoding: types, and messages of a block of fields, groups
//! and data.

mod types;

use std::collections::BTreeMap;

use roxmltree::Node;

use super::{
    DescribedField, DescribedGroup, DescribedHead, DescribedLayout, Description, MOST_FIELDS,
    Meaning, Spot, Xml,
    xml::{Read, elements, one_line, shown},
};
use crate::{Tag, TagKind};
use types::{Shape, Types};

/// The most bytes of a message, a group or a header.
const MOST: usize = u16::MAX as usize;

/// Groups in groups.
const MOST_DEPTH: usize = 8;

pub(super) fn read<'n>(xml: &Xml<'_>, root: Node<'n, '_>) -> Read<Description> {
    let is_little_endian = match root.attribute("byteOrder").map(str::trim) {
        None | Some("littleEndian") => true,
        Some("bigEndian") => false,
        Some(other) => {
            let text = format!("byteOrder '{}' must be littleEndian or bigEndian", shown(other));
            return xml.refuse_attribute(root, "byteOrder", text);
        }
    };
    let or = |key: &str, default: &str| one_line(root.attribute(key).unwrap_or(default));
    let mut reader = Reader {
        xml,
        types: Types::new(xml, root)?,
        lines: BTreeMap::new(),
        headers: BTreeMap::new(),
        fields: 0,
        description: Description {
            path: xml.path(),
            name: or("package", "messages"),
            version: or("version", "not stated"),
            form: "SBE",
            is_little_endian,
            tag_kind: TagKind::U16,
            tag_offset: 0,
            head: Vec::new(),
            begin: 0,
            grows: true,
            has_nulls: true,
            messages: Vec::new(),
            group_headers: Vec::new(),
            codes: Vec::new(),
            bits: Vec::new(),
            notes: Vec::new(),
        },
    };
    reader.head(root)?;
    for node in elements(root) {
        match node.tag_name().name() {
            "types" => {}
            "message" => reader.message(node)?,
            other => {
                let text = format!("<{}> in <messageSchema> cannot be read", shown(other));
                return xml.refuse(node, text);
            }
        }
    }
    if reader.description.messages.is_empty() {
        return xml.refuse(root, "no <message>");
    }
    let Reader { types, mut description, .. } = reader;
    (description.codes, description.bits) = (types.codes, types.bits);
    description.notes.extend(types.notes);
    description.notes.sort_by_key(|(spot, _)| *spot);
    Ok(description)
}

struct Reader<'x, 'n, 'd> {
    xml: &'x Xml<'x>,
    types: Types<'x, 'n, 'd>,
    /// Lines of the messages.
    lines: BTreeMap<Tag, usize>,
    /// Which header of a group is at a position.
    headers: BTreeMap<Spot, usize>,
    /// Fields of all messages so far.
    fields: usize,
    description: Description,
}

impl Reader<'_, '_, '_> {
    fn note(&mut self, node: Node<'_, '_>, text: String) {
        self.types.note(self.xml.spot(node), text);
    }

    /// Reads the composite that precedes every message.
    fn head(&mut self, root: Node<'_, '_>) -> Read<()> {
        let xml = self.xml;
        let name = root.attribute("headerType").unwrap_or("messageHeader").trim();
        let Some(node) = self.types.node(name) else {
            let text = format!("no type '{}', the header of messages", shown(name));
            return xml.refuse_attribute(root, "headerType", text);
        };
        let parts = self.header_parts(node)?;
        let description = &mut self.description;
        let mut has_tag = false;
        for (name, offset, width) in parts {
            description.begin = description.begin.max(offset + width);
            let kind = match (name.as_str(), width) {
                ("templateId", 1 | 2) => {
                    has_tag = true;
                    description.tag_offset = offset;
                    description.tag_kind = if width == 1 { TagKind::U8 } else { TagKind::U16 };
                    continue;
                }
                ("blockLength", 2) => "BlockLength".to_owned(),
                ("templateId" | "blockLength", _) => {
                    return xml.refuse(node, format!("{name} of {width} bytes must be uint16"));
                }
                _ => format!("u{}", 8 * width),
            };
            description.head.push(DescribedHead { name, offset, kind });
        }
        match has_tag {
            true => Ok(()),
            false => xml.refuse(node, "the header of messages has no templateId"),
        }
    }

    /// Names, offsets and widths of a composite of unsigned numbers.
    fn header_parts(&mut self, node: Node<'_, '_>) -> Read<Vec<(String, usize, usize)>> {
        let xml = self.xml;
        let shape = self.types.named(node, "name")?;
        let is_number = |meaning| {
            matches!(meaning, Meaning::Number { is_signed: Some(false), places: Some(0) })
        };
        match shape.parts.iter().all(|part| is_number(part.meaning)) {
            true if !shape.parts.is_empty() => {}
            _ => return xml.refuse(node, "a header must be a composite of unsigned numbers"),
        }
        Ok(shape.parts.into_iter().map(|part| (part.suffix, part.offset, part.width)).collect())
    }

    fn message(&mut self, node: Node<'_, '_>) -> Read<()> {
        let xml = self.xml;
        let name = one_line(xml.attribute(node, "name")?);
        let id = xml.attribute(node, "id")?;
        let tag = match self.description.tag_kind {
            TagKind::U8 => id.parse().ok().map(Tag::U8),
            _ => id.parse().ok().map(Tag::U16),
        };
        let Some(tag) = tag else {
            let text = format!("id '{}' does not fit in templateId", shown(id));
            return xml.refuse_attribute(node, "id", text);
        };
        if let Some(line) = self.lines.insert(tag, xml.spot(node).line) {
            let text = format!("id {tag} is that of line {line} too");
            return xml.refuse_attribute(node, "id", text);
        }
        let begin = self.description.begin;
        let message = self.layout(node, name, Some(tag), begin, 0)?;
        self.description.messages.push(message);
        Ok(())
    }

    /// Reads a message or a group.
    fn layout(
        &mut self,
        node: Node<'_, '_>,
        name: String,
        tag: Option<Tag>,
        begin: usize,
        depth: usize,
    ) -> Read<DescribedLayout> {
        let xml = self.xml;
        let (spot, doc) = (xml.spot(node), documented(node));
        let (fields, groups) = (Vec::new(), Vec::new());
        let mut layout = DescribedLayout { spot, name, doc, tag, length: begin, fields, groups };
        for child in elements(node) {
            match child.tag_name().name() {
                "field" if layout.groups.is_empty() => self.field(child, begin, &mut layout)?,
                "group" if depth < MOST_DEPTH => {
                    let group = self.group(child, depth)?;
                    layout.groups.push(group);
                }
                "data" => {
                    let name = xml.attribute(child, "name")?;
                    let text = format!(
                        "data '{}' has a length of its own: its bytes are kept and not read",
                        shown(name)
                    );
                    if depth > 0 {
                        let text = "data in a group has no type in a schema of ours";
                        return xml.refuse(child, text);
                    }
                    self.note(child, text);
                }
                other => {
                    let text = format!("<{}> cannot be read here", shown(other));
                    return xml.refuse(child, text);
                }
            }
        }
        if let Some(block) = xml.count(node, "blockLength", MOST)? {
            let end = layout.length - begin;
            if block < end {
                let text = format!("blockLength is {block}, but its fields end at byte {end}");
                return xml.refuse_attribute(node, "blockLength", text);
            }
            layout.length = begin + block;
        }
        match layout.length {
            0..=MOST => Ok(layout),
            _ => xml.refuse(node, format!("more than {MOST} bytes")),
        }
    }

    fn field(
        &mut self,
        node: Node<'_, '_>,
        begin: usize,
        layout: &mut DescribedLayout,
    ) -> Read<()> {
        let xml = self.xml;
        let name = one_line(xml.attribute(node, "name")?);
        let Shape { parts, width, constant } = self.types.named(node, "type")?;
        let is_constant = node.attribute("presence").map(str::trim) == Some("constant");
        if constant.is_some() || is_constant {
            let value = constant.or_else(|| node.attribute("valueRef").map(one_line));
            let value = value.unwrap_or_default();
            let text = format!("'{}' is the constant {}: no bytes", shown(&name), shown(&value));
            self.note(node, text);
            return Ok(());
        }
        let end = layout.length - begin;
        let offset = xml.count(node, "offset", MOST)?.unwrap_or(end);
        if offset < end {
            let text = format!("offset {offset} is before byte {end}, where the last field ends");
            return xml.refuse_attribute(node, "offset", text);
        }
        let is_nullable = |meaning| matches!(meaning, Meaning::Number { .. });
        let is_optional = node.attribute("presence").map(str::trim) == Some("optional");
        if is_optional && parts.iter().any(|part| is_nullable(part.meaning) && part.null.is_none())
        {
            let text = format!("'{}' is optional, and its type states no null", shown(&name));
            self.note(node, text);
        }
        layout.length = begin + offset + width;
        if layout.length > MOST {
            return xml.refuse(node, format!("ends after {MOST} bytes"));
        }
        if let Some(since) = node.attribute("sinceVersion")
            && since.trim() != "0"
        {
            let text = format!(
                "'{}' is since version {}: a shorter block of an earlier one is refused",
                shown(&name),
                shown(since.trim())
            );
            self.note(node, text);
        }
        self.fields += parts.len();
        if self.fields > MOST_FIELDS {
            return xml.refuse(node, format!("more than {MOST_FIELDS} fields"));
        }
        let is_one = parts.len() == 1;
        for part in parts {
            let name = match is_one || part.suffix.is_empty() {
                true => name.clone(),
                false => format!("{name}_{}", part.suffix),
            };
            let (offset, doc, spot) =
                (begin + offset + part.offset, documented(node), xml.spot(node));
            let (width, meaning, codes, null) = (part.width, part.meaning, part.codes, part.null);
            let field = DescribedField { spot, name, doc, offset, width, meaning, codes, null };
            layout.fields.push(field);
        }
        Ok(())
    }

    fn group(&mut self, node: Node<'_, '_>, depth: usize) -> Read<DescribedGroup> {
        let xml = self.xml;
        let name = one_line(xml.attribute(node, "name")?);
        let dimension = node.attribute("dimensionType").unwrap_or("groupSizeEncoding").trim();
        let Some(header) = self.types.node(dimension) else {
            let text = format!("no type '{}', the header of a group", shown(dimension));
            return xml.refuse_attribute(node, "dimensionType", text);
        };
        let header = self.group_header(header)?;
        let entry = self.layout(node, name, None, 0, depth + 1)?;
        Ok(DescribedGroup { header, entry })
    }

    /// Reads the composite before the entries of a group; a schema of ours has fixed names in it.
    fn group_header(&mut self, node: Node<'_, '_>) -> Read<usize> {
        let (xml, spot) = (self.xml, self.xml.spot(node));
        if let Some(index) = self.headers.get(&spot) {
            return Ok(*index);
        }
        let mut header = DescribedLayout {
            spot,
            name: one_line(xml.attribute(node, "name")?),
            doc: documented(node),
            tag: None,
            length: 0,
            fields: Vec::new(),
            groups: Vec::new(),
        };
        let (mut has_block, mut has_count) = (false, false);
        for (name, offset, width) in self.header_parts(node)? {
            let name = match (name.as_str(), width) {
                ("blockLength", 2) => {
                    has_block = true;
                    "block_length".to_owned()
                }
                ("numInGroup", 1 | 2) => {
                    has_count = true;
                    "count".to_owned()
                }
                _ => name,
            };
            header.length = header.length.max(offset + width);
            let (doc, codes, null) = (String::new(), None, None);
            let meaning = Meaning::Number { is_signed: Some(false), places: Some(0) };
            let field = DescribedField { spot, name, doc, offset, width, meaning, codes, null };
            header.fields.push(field);
        }
        if !has_block || !has_count {
            let text = "the header of a group must have a blockLength of uint16 and a numInGroup of \
                        uint8 or uint16";
            return xml.refuse(node, text);
        }
        self.description.group_headers.push(header);
        let index = self.description.group_headers.len() - 1;
        self.headers.insert(spot, index);
        Ok(index)
    }
}

fn documented(node: Node<'_, '_>) -> String {
    one_line(node.attribute("description").unwrap_or_default())
}
