//! The types of an SBE schema: each becomes fields with bytes, or a constant without.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use crate::described::{
    DescribedBits, DescribedCode, DescribedCodes, Meaning, Spot, Xml, number,
    xml::{Read, elements, one_line, shown, text_of},
};

/// The most bytes of a type.
const MOST: usize = u16::MAX as usize;

/// Types that refer to types that refer to types.
const MOST_DEPTH: usize = 16;

/// The most decimal places of a number.
const MOST_PLACES: usize = 18;

/// The most fields of one type, so that types in types do not multiply.
const MOST_PARTS: usize = 1024;

/// Bytes of a type, as one field.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// What the name of the field ends with, if the type has several parts.
    pub(super) suffix: String,
    pub(super) offset: usize,
    pub(super) width: usize,
    pub(super) meaning: Meaning,
    pub(super) codes: Option<usize>,
    pub(super) null: Option<u64>,
}

/// A type that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) parts: Vec<Part>,
    /// All its bytes.
    pub(super) width: usize,
    /// The value, of a constant.
    pub(super) constant: Option<String>,
}

/// A number or a character of SBE.
struct Primitive {
    name: &'static str,
    width: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Char,
    Signed,
    Unsigned,
    Float,
}

const fn primitive(name: &'static str, width: usize, kind: Kind) -> Primitive {
    Primitive { name, width, kind }
}

static PRIMITIVES: [Primitive; 11] = [
    primitive("char", 1, Kind::Char),
    primitive("int8", 1, Kind::Signed),
    primitive("int16", 2, Kind::Signed),
    primitive("int32", 4, Kind::Signed),
    primitive("int64", 8, Kind::Signed),
    primitive("uint8", 1, Kind::Unsigned),
    primitive("uint16", 2, Kind::Unsigned),
    primitive("uint32", 4, Kind::Unsigned),
    primitive("uint64", 8, Kind::Unsigned),
    primitive("float", 4, Kind::Float),
    primitive("double", 8, Kind::Float),
];

impl Primitive {
    fn find(name: &str) -> Option<&'static Self> {
        PRIMITIVES.iter().find(|primitive| primitive.name == name)
    }

    /// The value that means absence, unless a schema states another.
    fn default_null(&self) -> Option<i128> {
        let bits = 8 * self.width as u32;
        match self.kind {
            Kind::Signed => Some(-(1_i128 << (bits - 1))),
            Kind::Unsigned => Some((1_i128 << bits) - 1),
            Kind::Char => Some(0),
            Kind::Float => None,
        }
    }
}

/// The types of a schema, by name, and the lists and sets among them.
pub(super) struct Types<'x, 'n, 'd> {
    xml: &'x Xml<'x>,
    nodes: BTreeMap<&'n str, Node<'n, 'd>>,
    /// Types that were read, so that types of types of types are read once.
    known: BTreeMap<String, Shape>,
    pub(super) codes: Vec<DescribedCodes>,
    pub(super) bits: Vec<DescribedBits>,
    /// Which list or set is at a position.
    indices: BTreeMap<Spot, usize>,
    pub(super) notes: BTreeSet<(Spot, String)>,
}

impl<'x, 'n, 'd> Types<'x, 'n, 'd> {
    pub(super) fn new(xml: &'x Xml<'x>, root: Node<'n, 'd>) -> Read<Self> {
        let mut nodes = BTreeMap::new();
        let lists = elements(root).filter(|node| node.tag_name().name() == "types");
        for node in lists.flat_map(elements) {
            match node.tag_name().name() {
                "type" | "composite" | "enum" | "set" => {}
                other => {
                    let text = format!("<{}> in <types> cannot be read", shown(other));
                    return xml.refuse(node, text);
                }
            }
            let name = node.attribute("name").unwrap_or_default();
            xml.attribute(node, "name")?;
            if nodes.insert(name, node).is_some() {
                return xml.refuse(node, format!("a second type '{}'", shown(name)));
            }
        }
        Ok(Self {
            xml,
            nodes,
            known: BTreeMap::new(),
            codes: Vec::new(),
            bits: Vec::new(),
            indices: BTreeMap::new(),
            notes: BTreeSet::new(),
        })
    }

    /// The element of a type.
    pub(super) fn node(&self, name: &str) -> Option<Node<'n, 'd>> {
        self.nodes.get(name).copied()
    }

    /// The type that an attribute of `from` names.
    pub(super) fn named(&mut self, from: Node<'_, '_>, key: &str) -> Read<Shape> {
        self.named_within(from, key, &mut Vec::new())
    }

    fn named_within(
        &mut self,
        from: Node<'_, '_>,
        key: &str,
        path: &mut Vec<String>,
    ) -> Read<Shape> {
        let xml = self.xml;
        let name = xml.attribute(from, key)?;
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if let Some(node) = self.node(name) {
            if path.iter().any(|outer| outer == name) || path.len() >= MOST_DEPTH {
                let named = path.iter().map(String::as_str).filter(|outer| !outer.is_empty());
                let path = named.chain([name]).collect::<Vec<_>>().join(" -> ");
                let what = "a type refers to itself, or types are nested too deep";
                return xml.refuse_attribute(from, key, format!("{what}: {}", shown(&path)));
            }
            path.push(name.to_owned());
            let shape = self.shape(node, path)?;
            path.pop();
            self.known.insert(name.to_owned(), shape.clone());
            return Ok(shape);
        }
        match Primitive::find(name) {
            Some(primitive) => {
                let presence = presence(xml, from)?;
                self.plain(from, primitive, 1, presence)
            }
            None => xml.refuse_attribute(from, key, format!("unknown type '{}'", shown(name))),
        }
    }

    fn shape(&mut self, node: Node<'_, '_>, path: &mut Vec<String>) -> Read<Shape> {
        match node.tag_name().name() {
            "type" => {
                let (xml, key) = (self.xml, "primitiveType");
                let name = xml.attribute(node, key)?;
                let Some(primitive) = Primitive::find(name) else {
                    let text = format!("unknown primitive type '{}'", shown(name));
                    return xml.refuse_attribute(node, key, text);
                };
                let length = xml.count(node, "length", MOST)?.unwrap_or(1);
                let presence = presence(xml, node)?;
                self.plain(node, primitive, length, presence)
            }
            "composite" => self.composite(node, path),
            "enum" => self.enumeration(node, path),
            "set" => self.set(node, path),
            "ref" => self.named_within(node, "type", path),
            other => self.xml.refuse(node, format!("<{}> is no type", shown(other))),
        }
    }

    fn plain(
        &mut self,
        node: Node<'_, '_>,
        primitive: &Primitive,
        length: usize,
        presence: Presence,
    ) -> Read<Shape> {
        let xml = self.xml;
        if presence == Presence::Constant {
            let value = match node.attribute("valueRef") {
                Some(value) => one_line(value),
                None => text_of(node),
            };
            return Ok(Shape { constant: Some(value), ..Shape::default() });
        }
        let width = primitive.width * length;
        if length == 0 || width > MOST {
            let text = format!("length {length} must be 1 to {}", MOST / primitive.width);
            return xml.refuse_attribute(node, "length", text);
        }
        let meaning = match (primitive.kind, length) {
            (Kind::Char, _) => Meaning::Text,
            (Kind::Float, _) | (_, 2..) => Meaning::Opaque,
            (kind, _) => Meaning::Number { is_signed: Some(kind == Kind::Signed), places: Some(0) },
        };
        if node.has_attribute("minValue") || node.has_attribute("maxValue") {
            self.note(xml.spot(node), "the least and the most value are not kept".into());
        }
        let null = self.null(node, primitive, presence)?;
        let is_number = matches!(meaning, Meaning::Number { .. });
        if null.is_some() && !is_number && node.has_attribute("nullValue") {
            let text = format!("the null of a {} is not kept", primitive.name);
            self.note(xml.spot(node), text);
        }
        let null = null.filter(|_| is_number);
        let (suffix, codes) = (String::new(), None);
        let part = Part { suffix, offset: 0, width, meaning, codes, null };
        Ok(Shape { parts: vec![part], width, constant: None })
    }

    /// The bits of the value that means absence.
    fn null(
        &self,
        node: Node<'_, '_>,
        primitive: &Primitive,
        presence: Presence,
    ) -> Read<Option<u64>> {
        let bits = 8 * primitive.width as u32;
        let stated = match node.attribute("nullValue").map(str::trim) {
            _ if presence != Presence::Optional => return Ok(None),
            None => primitive.default_null(),
            Some(_) if matches!(primitive.kind, Kind::Char | Kind::Float) => Some(0),
            Some(text) => match number(text) {
                Some(null) => Some(null),
                None => {
                    let text = format!("nullValue '{}' is no whole number", shown(text));
                    return self.xml.refuse_attribute(node, "nullValue", text);
                }
            },
        };
        let (least, most) = match primitive.kind {
            Kind::Signed => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            _ => (0, (1_i128 << bits) - 1),
        };
        match stated {
            Some(null) if !(least..=most).contains(&null) => {
                let text = format!("nullValue {null} does not fit in {}", primitive.name);
                self.xml.refuse_attribute(node, "nullValue", text)
            }
            null => Ok(null.map(|null| (null as u64) & (most_bits(bits)))),
        }
    }

    fn composite(&mut self, node: Node<'_, '_>, path: &mut Vec<String>) -> Read<Shape> {
        let xml = self.xml;
        let (mut composite, mut exponent) = (Shape::default(), None);
        for member in elements(node) {
            let name = xml.attribute(member, "name")?;
            if path.len() >= MOST_DEPTH {
                return xml.refuse(member, "composites are nested too deep");
            }
            path.push(String::new());
            let shape = self.shape(member, path)?;
            path.pop();
            if let Some(value) = shape.constant {
                match number(&value).filter(|_| name.eq_ignore_ascii_case("exponent")) {
                    Some(value) => exponent = Some(value),
                    None => self.constant(member, name, &value),
                }
                continue;
            }
            let end = composite.width;
            let offset = xml.count(member, "offset", MOST)?.unwrap_or(end);
            if offset < end {
                let text =
                    format!("offset {offset} is before byte {end}, where the last part ends");
                return xml.refuse_attribute(member, "offset", text);
            }
            composite.width = offset + shape.width;
            for mut part in shape.parts {
                part.offset += offset;
                part.suffix = format!("{name}_{}", part.suffix).trim_end_matches('_').to_owned();
                composite.parts.push(part);
            }
            if composite.width > MOST || composite.parts.len() > MOST_PARTS {
                let text = format!("more than {MOST} bytes or {MOST_PARTS} parts");
                return xml.refuse(member, text);
            }
        }
        // A mantissa with a constant exponent is one number with implied decimals.
        if let Some(exponent) = exponent {
            let count = usize::try_from(-exponent).ok().filter(|count| *count <= MOST_PLACES);
            match (count, composite.parts.as_mut_slice()) {
                (Some(count), [Part { suffix, meaning: Meaning::Number { places, .. }, .. }]) => {
                    (*places, *suffix) = (Some(count), String::new());
                }
                _ => self.constant(node, "exponent", &exponent.to_string()),
            }
        }
        Ok(composite)
    }

    fn constant(&mut self, node: Node<'_, '_>, name: &str, value: &str) {
        let text = format!("'{}' is the constant {}: no bytes", shown(name), shown(value));
        self.note(self.xml.spot(node), text);
    }

    pub(super) fn note(&mut self, spot: Spot, text: String) {
        self.notes.insert((spot, text));
    }

    /// The type of the codes or of the bits: a primitive one, or a type that is one number.
    fn encoding(&mut self, node: Node<'_, '_>, path: &mut Vec<String>) -> Read<Part> {
        let shape = self.named_within(node, "encodingType", path)?;
        match <[Part; 1]>::try_from(shape.parts) {
            Ok([part]) if part.meaning != Meaning::Opaque && part.codes.is_none() => Ok(part),
            _ => {
                let text = "encodingType must be one number or character";
                self.xml.refuse_attribute(node, "encodingType", text)
            }
        }
    }

    fn enumeration(&mut self, node: Node<'_, '_>, path: &mut Vec<String>) -> Read<Shape> {
        let mut part = self.encoding(node, path)?;
        let (xml, spot) = (self.xml, self.xml.spot(node));
        let index = match self.indices.get(&spot) {
            Some(index) => *index,
            None => {
                let mut codes = values(xml, node, "validValue")?;
                // A list of codes has no null: it is one of the codes.
                let null = part.null.map(|null| null.to_string());
                if let Some(value) = null
                    && !codes.iter().any(|code| code.value == value)
                {
                    let (name, doc) = ("NullValue".into(), "No value.".into());
                    codes.push(DescribedCode { spot, value, name, doc });
                }
                let name = one_line(node.attribute("name").unwrap_or_default());
                let doc = one_line(node.attribute("description").unwrap_or_default());
                self.codes.push(DescribedCodes { spot, name, doc, codes });
                self.codes.len() - 1
            }
        };
        self.indices.insert(spot, index);
        (part.codes, part.null) = (Some(index), None);
        Ok(Shape { width: part.width, parts: vec![part], constant: None })
    }

    fn set(&mut self, node: Node<'_, '_>, path: &mut Vec<String>) -> Read<Shape> {
        let mut part = self.encoding(node, path)?;
        let (xml, spot) = (self.xml, self.xml.spot(node));
        let index = match self.indices.get(&spot) {
            Some(index) => *index,
            None => {
                let width = part.width;
                let mut bits = Vec::new();
                for choice in values(xml, node, "choice")? {
                    match number(&choice.value).and_then(|bit| usize::try_from(bit).ok()) {
                        Some(bit) if bit < 8 * width => bits.push((bit, choice)),
                        _ => {
                            let bit = shown(&choice.value);
                            let text = format!("bit {bit} must be from 0 to {}", 8 * width - 1);
                            return Err(xml.error(choice.spot, text));
                        }
                    }
                }
                let name = one_line(node.attribute("name").unwrap_or_default());
                let doc = one_line(node.attribute("description").unwrap_or_default());
                self.bits.push(DescribedBits { spot, name, doc, width, bits });
                self.bits.len() - 1
            }
        };
        self.indices.insert(spot, index);
        (part.meaning, part.null) = (Meaning::Bits(Some(index)), None);
        Ok(Shape { width: part.width, parts: vec![part], constant: None })
    }
}

fn most_bits(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Whether a value is always there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
    Constant,
}

fn presence(xml: &Xml<'_>, node: Node<'_, '_>) -> Read<Presence> {
    match node.attribute("presence").map(str::trim) {
        None | Some("required") => Ok(Presence::Required),
        Some("optional") => Ok(Presence::Optional),
        Some("constant") => Ok(Presence::Constant),
        Some(other) => {
            let text =
                format!("presence '{}' must be required, optional or constant", shown(other));
            xml.refuse_attribute(node, "presence", text)
        }
    }
}

/// The codes of an enumeration, or the bits of a set.
fn values(xml: &Xml<'_>, node: Node<'_, '_>, element: &str) -> Read<Vec<DescribedCode>> {
    let mut values = Vec::new();
    for child in elements(node) {
        if child.tag_name().name() != element {
            let text = format!("<{}> must be <{element}>", shown(child.tag_name().name()));
            return xml.refuse(child, text);
        }
        let value = text_of(child);
        if value.is_empty() {
            return xml.refuse(child, format!("<{element}> is empty"));
        }
        let name = one_line(xml.attribute(child, "name")?);
        let mut doc = one_line(child.attribute("description").unwrap_or_default());
        if let Some(since) = child.attribute("sinceVersion") {
            doc = format!("{doc} (since version {})", one_line(since)).trim_start().to_owned();
        }
        values.push(DescribedCode { spot: xml.spot(child), value, name, doc });
    }
    Ok(values)
}
