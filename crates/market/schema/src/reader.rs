//! Reads one TOML table key by key, and records every problem in it.
//!
//! A derived reader would stop at the first mistake; the author of a schema wants all of them.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::{Literal, Problem, Problems, problem::is_control};

/// The file and the mistakes found in it so far.
pub(crate) struct Source<'s> {
    path: &'s str,
    /// Where each line ends.
    ends: Vec<usize>,
    problems: Vec<Problem>,
}

impl<'s> Source<'s> {
    pub(crate) fn new(path: &'s str, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { path, ends: ends.map(|(at, _)| at).collect(), problems: Vec::new() }
    }

    /// The line, from 1, of a byte of the file.
    pub(crate) fn line(&self, span: Range<usize>) -> usize {
        1 + self.ends.partition_point(|end| *end < span.start)
    }

    pub(crate) fn problem(&mut self, line: usize, text: impl Into<String>) {
        let problem = Problem::new(self.path, line, text.into());
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub(crate) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Problems> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(Problems(self.problems))
    }
}

/// One table, with its keys that were not read yet.
pub(crate) struct Table<'t, 'i> {
    subject: String,
    line: usize,
    entries: &'t DeTable<'i>,
    known: Vec<&'static str>,
}

impl<'t, 'i> Table<'t, 'i> {
    pub(crate) fn new(subject: &str, line: usize, entries: &'t DeTable<'i>) -> Self {
        Self { subject: subject.into(), line, entries, known: Vec::new() }
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Whether it has this key, which is not read by that.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name.get_ref() == key)
    }

    /// Sets the name of the table in problems, once it is known.
    pub(crate) fn call(&mut self, subject: String) {
        self.subject = subject;
    }

    /// Reports `text` about the whole table.
    pub(crate) fn refuse(&self, source: &mut Source<'_>, text: impl AsRef<str>) {
        source.problem(self.line, self.with_subject(text.as_ref()));
    }

    /// Reports `text` about the value of a key.
    pub(crate) fn refuse_value(&self, source: &mut Source<'_>, key: &str, text: impl AsRef<str>) {
        let line = self.line_of(source, key);
        source.problem(line, self.with_subject(text.as_ref()));
    }

    /// The line of a value, or of the table if it lacks the key.
    pub(crate) fn line_of(&self, source: &Source<'_>, key: &str) -> usize {
        let value = self.entries.iter().find(|(name, _)| name.get_ref() == key);
        value.map_or(self.line, |(_, value)| source.line(value.span()))
    }

    fn with_subject(&self, text: &str) -> String {
        if self.subject.is_empty() { text.into() } else { format!("{}: {text}", self.subject) }
    }

    fn get(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.known.push(key);
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    fn expected(
        &self,
        source: &mut Source<'_>,
        key: &str,
        wanted: &str,
        value: &Spanned<DeValue<'i>>,
    ) {
        let found = value.get_ref().type_str();
        let line = source.line(value.span());
        source.problem(line, self.with_subject(&format!("'{key}' must be {wanted}, not {found}")));
    }

    /// An optional text, which becomes a name, a path or a comment: one line, and not empty.
    pub(crate) fn optional_text(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Option<String> {
        let value = self.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.expected(source, key, "text", value);
            return None;
        };
        if text.is_empty() {
            self.refuse_value(source, key, format!("'{key}' must not be empty"));
            return None;
        }
        if text.contains(is_control) {
            let text = format!("'{key}' must be one line without control characters");
            self.refuse_value(source, key, text);
            return None;
        }
        Some(text.to_owned())
    }

    /// A required text.
    pub(crate) fn text(&mut self, source: &mut Source<'_>, key: &'static str) -> String {
        if !self.entries.iter().any(|(name, _)| name.get_ref() == key) {
            self.refuse(source, format!("'{key}' is missing"));
        }
        self.optional_text(source, key).unwrap_or_default()
    }

    /// An optional count of bytes.
    pub(crate) fn optional_count(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Option<usize> {
        let value = self.get(key)?;
        let number = value.get_ref().as_integer();
        let count = number
            .and_then(|number| usize::from_str_radix(number.as_str(), number.radix()).ok())
            .filter(|&count| count <= usize::from(u16::MAX));
        match (number, count) {
            (None, _) => self.expected(source, key, "a whole number", value),
            (Some(number), None) => {
                let text = format!("'{key}' must be from 0 to 65535, not {}", number.as_str());
                let line = source.line(value.span());
                source.problem(line, self.with_subject(&text));
            }
            (Some(_), Some(_)) => {}
        }
        count
    }

    /// A required count of bytes.
    pub(crate) fn count(&mut self, source: &mut Source<'_>, key: &'static str) -> Option<usize> {
        if !self.entries.iter().any(|(name, _)| name.get_ref() == key) {
            self.refuse(source, format!("'{key}' is missing"));
        }
        self.optional_count(source, key)
    }

    /// An optional answer, false if it is missing.
    pub(crate) fn flag(&mut self, source: &mut Source<'_>, key: &'static str) -> bool {
        let Some(value) = self.get(key) else { return false };
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.expected(source, key, "true or false", value);
        }
        flag.unwrap_or_default()
    }

    /// An optional number or text.
    pub(crate) fn optional_value(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Option<Literal> {
        let value = self.get(key)?;
        let found = match value.get_ref() {
            DeValue::String(text) => Some(Literal::Text(text.to_string())),
            // A number of more digits is in no range either.
            DeValue::Integer(number) => {
                let number = i128::from_str_radix(number.as_str(), number.radix());
                Some(Literal::Number(number.unwrap_or(i128::MAX)))
            }
            _ => None,
        };
        if found.is_none() {
            self.expected(source, key, "a whole number or text", value);
        }
        found
    }

    /// A required number or text.
    pub(crate) fn value(&mut self, source: &mut Source<'_>, key: &'static str) -> Option<Literal> {
        if !self.has(key) {
            self.refuse(source, format!("'{key}' is missing"));
        }
        self.optional_value(source, key)
    }

    fn array(&mut self, source: &mut Source<'_>, key: &'static str) -> Option<&'t DeArray<'i>> {
        let value = self.get(key)?;
        let array = value.get_ref().as_array();
        if array.is_none() {
            self.expected(source, key, "a list", value);
        }
        array
    }

    /// A list of tables; empty if it is missing.
    pub(crate) fn tables(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Vec<Table<'t, 'i>> {
        let mut tables = Vec::new();
        for value in self.array(source, key).into_iter().flatten() {
            match value.get_ref().as_table() {
                Some(entries) => {
                    let line = source.line(value.span());
                    tables.push(Table::new(&self.subject, line, entries));
                }
                None => self.expected(source, key, "a list of tables", value),
            }
        }
        tables
    }

    /// A required table.
    pub(crate) fn table(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Option<Table<'t, 'i>> {
        let Some(value) = self.get(key) else {
            source.problem(1, format!("table [{key}] is missing"));
            return None;
        };
        let line = source.line(value.span());
        let table = value.get_ref().as_table().map(|entries| Table::new(key, line, entries));
        if table.is_none() {
            self.expected(source, key, "a table", value);
        }
        table
    }

    /// A list of texts with their lines; empty if it is missing.
    pub(crate) fn texts(
        &mut self,
        source: &mut Source<'_>,
        key: &'static str,
    ) -> Vec<(usize, String)> {
        let mut texts = Vec::new();
        for value in self.array(source, key).into_iter().flatten() {
            match value.get_ref().as_str() {
                Some(text) => texts.push((source.line(value.span()), text.to_owned())),
                None => self.expected(source, key, "a list of texts", value),
            }
        }
        texts
    }

    /// Reports every key that was not read.
    pub(crate) fn finish(self, source: &mut Source<'_>) {
        for (key, _) in self.entries {
            if !self.known.contains(&key.get_ref().as_ref()) {
                let line = source.line(key.span());
                let text = format!("unknown key '{}'", key.get_ref());
                source.problem(line, self.with_subject(&text));
            }
        }
    }
}
