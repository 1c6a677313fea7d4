//! The list of what a schema has published: lines that no later schema may lack.
//!
//! A schema alone does not show that its last field, or a method, was removed, or that a field
//! became another one of the same width. `cargo xtask gen` keeps this list beside the schema, and
//! only adds lines. To break compatibility on purpose, remove the list.

use crate::{Form, Interface, Method, MethodField, Problem, Problems, ValueField, ValueSchema};

const OF_INTERFACES: Texts = Texts {
    about: "\
# What this interface has published, one line for each method and field. Written by `cargo xtask
# gen`, which refuses a schema without one of these lines. To break compatibility on purpose, remove
# this file: programs of the next version then misread messages of this one.
",
    is_entry: is_method_entry,
    example: "0x0001 method, filled, since 1",
    nothing: "has no methods, expected those of an earlier `cargo xtask gen`: restore this file, or \
              remove it if there are no messages of an earlier version",
};

const OF_VALUES: Texts = Texts {
    about: "\
# What this value has published, one line for each field. Written by `cargo xtask gen`, which
# refuses a schema without one of these lines. To break compatibility on purpose, remove this file:
# maps of this version can then not be upgraded.
",
    is_entry: |line| line.starts_with("value, ") || line.starts_with("byte "),
    example: "byte 0, bid, i64, since 1",
    nothing: "has no fields, expected those of an earlier `cargo xtask gen`: restore this file, or \
              remove it if there are no maps of an earlier version",
};

/// The texts of the list of a kind of schema.
struct Texts {
    about: &'static str,
    is_entry: fn(&str) -> bool,
    example: &'static str,
    nothing: &'static str,
}

/// What a schema publishes.
struct List<'s> {
    texts: &'static Texts,
    /// The path of the schema, and the line for what is missing in all of it.
    path: &'s str,
    line: usize,
    owners: Vec<Owner<'s>>,
}

/// A method or a value: its own line, and those of its fields.
struct Owner<'s> {
    /// Its name in problems: `method 'filled'`.
    name: String,
    entry: Entry,
    since: usize,
    fields: Vec<(&'s MethodField, Entry)>,
}

/// A line of the list.
struct Entry {
    /// Its line in the schema.
    line: usize,
    text: String,
}

impl Interface {
    /// The list of this schema.
    pub fn published(&self) -> String {
        self.list().text()
    }

    /// Compares the schema with the list that an earlier version of it has left in the file `path`.
    pub fn check_published(&self, path: &str, list: &str) -> Result<(), Problems> {
        self.list().compare(path, list)
    }

    fn list(&self) -> List<'_> {
        let owners = self.methods.iter().map(|method| Owner {
            name: format!("method '{}'", method.name),
            entry: Entry { line: method.line, text: method_line(method) },
            since: method.since,
            fields: entries(&method.fields, |field| field, |field| field_line(method, field)),
        });
        List { texts: &OF_INTERFACES, path: &self.path, line: self.line, owners: owners.collect() }
    }
}

impl ValueSchema {
    /// The list of this schema.
    pub fn published(&self) -> String {
        self.list().text()
    }

    /// Compares the schema with the list that an earlier version of it has left in the file `path`.
    pub fn check_published(&self, path: &str, list: &str) -> Result<(), Problems> {
        self.list().compare(path, list)
    }

    fn list(&self) -> List<'_> {
        // The hash of the layout depends on the name.
        let entry = Entry { line: self.line, text: format!("value, {}", self.name) };
        let fields = entries(&self.fields, |field| &field.of, value_field_line);
        let owner = Owner { name: "value".into(), entry, since: 1, fields };
        List { texts: &OF_VALUES, path: &self.path, line: self.line, owners: vec![owner] }
    }
}

fn entries<'f, F>(
    fields: &'f [F],
    of: impl Fn(&'f F) -> &'f MethodField,
    text: impl Fn(&F) -> String,
) -> Vec<(&'f MethodField, Entry)> {
    let entry = |field: &'f F| {
        let line = of(field).field.line;
        (of(field), Entry { line, text: text(field) })
    };
    fields.iter().map(entry).collect()
}

impl List<'_> {
    fn text(&self) -> String {
        self.entries().fold(self.texts.about.to_owned(), |list, entry| list + &entry.text + "\n")
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.owners.iter().flat_map(|owner| {
            std::iter::once(&owner.entry).chain(owner.fields.iter().map(|(_, entry)| entry))
        })
    }

    fn compare(&self, path: &str, list: &str) -> Result<(), Problems> {
        let Texts { is_entry, example, nothing, .. } = self.texts;
        let mut problems = Vec::new();
        let mut published = Vec::new();
        for (index, old) in list.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let at = index + 1;
            if !is_entry(old) {
                let text = format!(
                    "'{old}' is no line of `cargo xtask gen`, expected one such as '{example}': \
                     restore this file"
                );
                problems.push(Problem::new(path, at, text));
                continue;
            }
            published.push(old);
            if self.entries().any(|entry| entry.text == old) {
                continue;
            }
            let same = self.entries().find(|entry| subject(&entry.text) == subject(old));
            let (line, now) = match same {
                Some(entry) => (entry.line, format!("is now: {}", entry.text)),
                None => (self.line_of(subject(old)), "is missing".into()),
            };
            let text = format!("{path}:{at} has published: {old}; {now}; expected no change");
            problems.push(Problem::new(self.path, line, text));
        }
        if published.is_empty() && problems.is_empty() {
            problems.push(Problem::new(path, 1, nothing));
        }
        for owner in &self.owners {
            for (line, text) in unmarked(owner, &published) {
                problems.push(Problem::new(self.path, line, text));
            }
        }
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// The line of the schema at which something is missing: that of its method, if it is there.
    fn line_of(&self, missing: &str) -> usize {
        let number = |text: &str| text.split([' ', ',']).next().map(str::to_owned);
        let is_owner = |owner: &&Owner<'_>| number(&owner.entry.text) == number(missing);
        self.owners.iter().find(is_owner).map_or(self.line, |owner| owner.entry.line)
    }
}

/// New fields of a published method or value that are not of a later version than its published
/// fields: bytes without them would be those of no version.
fn unmarked(owner: &Owner<'_>, published: &[&str]) -> Vec<(usize, String)> {
    let is_published =
        |entry: &Entry| published.iter().any(|old| subject(old) == subject(&entry.text));
    if !is_published(&owner.entry) {
        return Vec::new();
    }
    let (old, new): (Vec<_>, Vec<_>) =
        owner.fields.iter().partition(|(_, entry)| is_published(entry));
    let latest = old.iter().map(|(field, _)| field.since).max().unwrap_or(owner.since);
    let unmarked = new.into_iter().filter(|(field, _)| field.since <= latest);
    unmarked
        .map(|(field, _)| {
            let (name, field, next) = (&owner.name, &field.field, latest + 1);
            let text = format!(
                "{name} field '{}': is new, so it needs 'since = {next}' or later",
                field.name
            );
            (field.line, text)
        })
        .collect()
}

/// What a line is about: a method, or the bytes of a field.
fn subject(line: &str) -> &str {
    line.split(", ").next().unwrap_or(line)
}

/// Whether a line of the list begins with a number.
fn is_method_entry(line: &str) -> bool {
    let number = line.strip_prefix("0x").and_then(|rest| rest.split_once(' '));
    number.is_some_and(|(number, rest)| {
        let is_hex = number.bytes().all(|digit| digit.is_ascii_hexdigit());
        number.len() == 4 && is_hex && rest.contains(", ")
    })
}

fn method_line(method: &Method) -> String {
    format!("{:#06x} method, {}, since {}", method.number, method.name, method.since)
}

fn field_line(method: &Method, field: &MethodField) -> String {
    let MethodField { field, since, default, constant, .. } = field;
    let (number, offset, kind) = (method.number, field.offset, field.kind.schema_name());
    // Fields that a later version adds move the tail.
    let place = match (field.kind.width(), field.most) {
        (Some(_), _) => format!("byte {offset}"),
        (None, None) => "tail".into(),
        (None, Some(most)) => format!("tail, most {most}"),
    };
    let mut line = format!("{number:#06x} {place}, {}, {kind}, since {since}", field.name);
    for (key, value) in [("default", default), ("constant", constant)] {
        if let Some(value) = value {
            line.push_str(&format!(", {key} {value}"));
        }
    }
    line
}

fn value_field_line(field: &ValueField) -> String {
    let MethodField { field: of, since, default, .. } = &field.of;
    let (offset, name, kind) = (of.offset, &of.name, of.kind.schema_name());
    let mut line = format!("byte {offset}, {name}, {kind}, since {since}");
    if let Some(count) = field.count {
        line.push_str(&format!(", count {count}"));
    }
    for (key, value) in [("default", default), ("absent", &field.absent)] {
        if let Some(value) = value {
            line.push_str(&format!(", {key} {value}"));
        }
    }
    if field.form != Form::Number {
        line.push_str(&format!(", form {}", field.form.name()));
    }
    line
}
