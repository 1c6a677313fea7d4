//! The list of what an interface has published: lines that no later schema may lack.
//!
//! A schema alone does not show that its last field, or a method, was removed, or that a field
//! became another one of the same width. `cargo xtask gen` keeps this list beside the schema, and
//! only adds lines. To break compatibility on purpose, remove the list.

use super::{Interface, Method, MethodField};
use crate::{Problem, Problems};

const ABOUT: &str = "\
# What this interface has published, one line for each method and field. Written by `cargo xtask
# gen`, which refuses a schema without one of these lines. To break compatibility on purpose, remove
# this file: programs of the next version then misread messages of this one.
";

impl Interface {
    /// The list of this schema.
    pub fn published(&self) -> String {
        self.lines().iter().fold(ABOUT.to_owned(), |list, (_, line)| list + line + "\n")
    }

    /// Compares the schema with the list that an earlier version of it has left in the file `path`.
    pub fn check_published(&self, path: &str, list: &str) -> Result<(), Problems> {
        let lines = self.lines();
        let mut problems = Vec::new();
        let mut published = Vec::new();
        for (index, old) in list.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let at = index + 1;
            if !is_entry(old) {
                let text = format!(
                    "'{old}' is no line of `cargo xtask gen`, expected one such as '0x0001 \
                     method, filled, since 1': restore this file"
                );
                problems.push(Problem::new(path, at, text));
                continue;
            }
            published.push(old);
            if lines.iter().any(|(_, line)| line == old) {
                continue;
            }
            let (line, now) = match lines.iter().find(|(_, line)| subject(line) == subject(old)) {
                Some((line, now)) => (*line, format!("is now: {now}")),
                None => (self.line_of(subject(old)), "is missing".into()),
            };
            let text = format!("{path}:{at} has published: {old}; {now}; expected no change");
            problems.push(Problem::new(&self.path, line, text));
        }
        if published.is_empty() && problems.is_empty() {
            let text = "has no methods, expected those of an earlier `cargo xtask gen`: restore \
                        this file, or remove it if there are no messages of an earlier version";
            problems.push(Problem::new(path, 1, text));
        }
        for method in &self.methods {
            for (line, text) in unmarked(method, &published) {
                problems.push(Problem::new(&self.path, line, text));
            }
        }
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// The line of each method and field, with its line in the schema.
    fn lines(&self) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        for method in &self.methods {
            lines.push((method.line, method_line(method)));
            let fields = method.fields.iter();
            lines.extend(fields.map(|field| (field.field.line, field_line(method, field))));
        }
        lines
    }

    /// The line of the schema at which something is missing.
    fn line_of(&self, subject: &str) -> usize {
        let of = |method: &&Method| subject.starts_with(&format!("{:#06x} ", method.number));
        self.methods.iter().find(of).map_or(self.line, |method| method.line)
    }
}

/// New fields of a published method that are not of a later version than its published fields: a
/// message without them would have a length that no version has.
fn unmarked(method: &Method, published: &[&str]) -> Vec<(usize, String)> {
    let is_published = |line: &str| published.iter().any(|old| subject(old) == subject(line));
    if !is_published(&method_line(method)) {
        return Vec::new();
    }
    let (old, new): (Vec<_>, Vec<_>) =
        method.fields.iter().partition(|field| is_published(&field_line(method, field)));
    let latest = old.iter().map(|field| field.since).max().unwrap_or(method.since);
    let unmarked = new.into_iter().filter(|field| field.since <= latest);
    unmarked
        .map(|field| {
            let (name, field, next) = (&method.name, &field.field, latest + 1);
            let text = format!(
                "method '{name}' field '{}': is new, so it needs 'since = {next}' or later",
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
fn is_entry(line: &str) -> bool {
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
