//! Elements of an XML file, with their positions. A DTD is refused, so no entity grows and no other
//! file is read.

use roxmltree::{Document, Node, ParsingOptions};

use super::{Description, DescriptionError, MOST_BYTES, Spot};
use crate::problem::is_control;

/// The most elements, attributes and texts of a description.
const MOST_NODES: u32 = 1 << 20;

/// The most characters of a name or a value of the file in a message.
const MOST_SHOWN: usize = 60;

pub(super) type Read<T> = Result<T, DescriptionError>;

/// The file, for positions and errors.
pub(super) struct Xml<'d> {
    path: &'d str,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// Parses `text`, and reads its root.
pub(super) fn with_root(
    path: &str,
    text: &str,
    read: impl FnOnce(&Xml<'_>, Node<'_, '_>) -> Read<Description>,
) -> Read<Description> {
    let fail = |line: u32, column: u32, text: String| DescriptionError {
        path: path.into(),
        spot: Spot { line: line.max(1) as usize, column: column.max(1) as usize },
        text,
    };
    if text.len() > MOST_BYTES {
        let text = format!("{} bytes are more than {MOST_BYTES}", text.len());
        return Err(fail(1, 1, text));
    }
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let (position, text) = (error.pos(), error.to_string());
        let text = match error {
            roxmltree::Error::DtdDetected => "a DTD is not read: remove it".into(),
            _ => text.replace(&format!(" at {position}"), ""),
        };
        fail(position.row, position.col, format!("not XML: {text}"))
    })?;
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let lines = [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect();
    read(&Xml { path, lines }, document.root_element())
}

impl Xml<'_> {
    pub(super) fn path(&self) -> String {
        self.path.to_owned()
    }

    fn at(&self, byte: usize) -> Spot {
        let line = self.lines.partition_point(|begin| *begin <= byte).max(1);
        Spot { line, column: byte - self.lines[line - 1] + 1 }
    }

    /// Where an element begins.
    pub(super) fn spot(&self, node: Node<'_, '_>) -> Spot {
        self.at(node.range().start)
    }

    /// Where an attribute is, or the element that lacks it.
    fn spot_of(&self, node: Node<'_, '_>, name: &str) -> Spot {
        let attribute = node.attribute_node(name);
        attribute.map_or_else(|| self.spot(node), |attribute| self.at(attribute.range().start))
    }

    /// An error about an element.
    pub(super) fn refuse<T>(&self, node: Node<'_, '_>, text: impl Into<String>) -> Read<T> {
        Err(self.error(self.spot(node), text))
    }

    /// An error about an attribute.
    pub(super) fn refuse_attribute<T>(
        &self,
        node: Node<'_, '_>,
        name: &str,
        text: impl Into<String>,
    ) -> Read<T> {
        Err(self.error(self.spot_of(node, name), text))
    }

    pub(super) fn error(&self, spot: Spot, text: impl Into<String>) -> DescriptionError {
        DescriptionError { path: self.path(), spot, text: text.into() }
    }

    /// A required attribute, not empty.
    pub(super) fn attribute<'n>(&self, node: Node<'n, '_>, name: &str) -> Read<&'n str> {
        match node.attribute(name).map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => {
                let element = node.tag_name().name();
                self.refuse_attribute(node, name, format!("<{element}> has no '{name}'"))
            }
        }
    }

    /// An optional attribute that is a whole number up to `most`.
    pub(super) fn count(&self, node: Node<'_, '_>, name: &str, most: usize) -> Read<Option<usize>> {
        let Some(text) = node.attribute(name) else { return Ok(None) };
        match text.trim().parse().ok().filter(|count| *count <= most) {
            Some(count) => Ok(Some(count)),
            None => self.refuse_attribute(node, name, not_a_count(name, text, most)),
        }
    }

    /// A required child, not empty.
    pub(super) fn child<'n, 'd>(
        &self,
        node: Node<'n, 'd>,
        name: &str,
    ) -> Read<(Node<'n, 'd>, String)> {
        let element = node.tag_name().name();
        let mut children = elements(node).filter(|child| child.tag_name().name() == name);
        let Some(child) = children.next() else {
            return self.refuse(node, format!("<{element}> has no <{name}>"));
        };
        if let Some(second) = children.next() {
            return self.refuse(second, format!("a second <{name}> in <{element}>"));
        }
        match text_of(child) {
            text if text.is_empty() => self.refuse(child, format!("<{name}> is empty")),
            text => Ok((child, text)),
        }
    }

    /// A required child that is a whole number up to `most`.
    pub(super) fn count_child(&self, node: Node<'_, '_>, name: &str, most: usize) -> Read<usize> {
        let (child, text) = self.child(node, name)?;
        match text.parse().ok().filter(|count| *count <= most) {
            Some(count) => Ok(count),
            None => self.refuse(child, not_a_count(name, &text, most)),
        }
    }
}

fn not_a_count(name: &str, text: &str, most: usize) -> String {
    format!("{name} '{}' must be a whole number from 0 to {most}", shown(text))
}

/// A name or a value of the file in a message: its first characters.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The elements in an element.
pub(super) fn elements<'n, 'd>(node: Node<'n, 'd>) -> impl Iterator<Item = Node<'n, 'd>> {
    node.children().filter(Node::is_element)
}

/// The text in an element, on one line.
pub(super) fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.children().filter(Node::is_text).filter_map(|text| text.text());
    one_line(&texts.collect::<String>())
}

/// The text of a child, or nothing.
pub(super) fn optional_text(node: Node<'_, '_>, name: &str) -> String {
    let child = elements(node).find(|child| child.tag_name().name() == name);
    child.map(text_of).unwrap_or_default()
}

/// The words of a text with one space between them. What a schema refuses is left out.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || is_control(c));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
