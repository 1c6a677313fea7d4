//! A schema of either kind. The name of its first table is the kind.

use crate::{Interface, Problems, Protocol, interface, read};

/// One schema file, of either kind.
#[derive(Clone, Debug)]
pub enum Schema {
    /// Messages that others have defined: `[protocol]`.
    Protocol(Protocol),
    /// Calls that are messages: `[interface]`.
    Interface(Interface),
}

/// Reads the schema `text`, of either kind; `path` is its name in problems.
pub fn read_any(path: &str, text: &str) -> Result<Schema, Problems> {
    read::parse(path, text, |source, root| match root.has("interface") {
        true => interface::read(source, path, root).map(Schema::Interface),
        false if root.has("protocol") => read::protocol(source, path, root).map(Schema::Protocol),
        false => {
            source.problem(1, "table [interface] or [protocol] is missing");
            None
        }
    })
}

/// Reads the schema `text` of an interface; `path` is its name in problems.
pub fn read_interface(path: &str, text: &str) -> Result<Interface, Problems> {
    read::parse(path, text, |source, root| interface::read(source, path, root))
}
