//! Differences that are known, each with its reason, so that a new one is found.
//!
//! ```toml
//! [[explained]]
//! aspect = "sign"
//! messages = ["T", "B"]
//! fields = ["match_number"]
//! ours = "unsigned"
//! theirs = "signed"
//! reason = "Never negative."
//! ```

use std::collections::BTreeMap;

use crate::{
    Aspect, Difference, Problem, Problems, read,
    reader::{Source, Table},
};

/// The explanations of one file.
#[derive(Clone, Debug)]
pub struct Explanations {
    path: String,
    entries: Vec<Explanation>,
    /// Which entry explains a difference.
    index: BTreeMap<Key, usize>,
}

/// Message, field, and both values of a difference.
type Key = (Aspect, String, String, String, String);

/// Differences with one reason.
#[derive(Clone, Debug)]
struct Explanation {
    line: usize,
    aspect: Aspect,
    messages: Vec<String>,
    fields: Vec<String>,
    ours: String,
    theirs: String,
    reason: String,
}

impl Explanation {
    fn keys(&self) -> impl Iterator<Item = Key> {
        let Self { aspect, ours, theirs, .. } = self;
        self.messages.iter().flat_map(move |message| {
            self.fields.iter().map(move |field| {
                (*aspect, message.clone(), field.clone(), ours.clone(), theirs.clone())
            })
        })
    }
}

impl Explanations {
    /// Reads the TOML `text`; `path` is its name in problems.
    pub fn read(path: &str, text: &str) -> Result<Self, Problems> {
        read::parse(path, text, |source, mut root| {
            let mut explanations =
                Self { path: path.into(), entries: Vec::new(), index: BTreeMap::new() };
            for table in root.tables(source, "explained") {
                let Some(entry) = entry(source, table) else { continue };
                for key in entry.keys() {
                    let at = explanations.entries.len();
                    if let Some(first) = explanations.index.insert(key, at) {
                        let first = explanations.entries.get(first).map_or(entry.line, |e| e.line);
                        let text = format!("explained: the same difference is on line {first} too");
                        source.problem(entry.line, text);
                    }
                }
                explanations.entries.push(entry);
            }
            root.finish(source);
            Some(explanations)
        })
    }

    /// The reason of each difference, if it has one, and a problem for each explanation of a
    /// difference that does not exist.
    pub fn apply<'e>(&'e self, differences: &[Difference]) -> (Vec<Option<&'e str>>, Vec<Problem>) {
        let mut open: BTreeMap<&Key, usize> =
            self.index.iter().map(|(key, at)| (key, *at)).collect();
        let reasons = differences.iter().map(|difference| {
            let key = key(difference);
            open.remove(&key);
            self.index.get(&key).map(|at| self.entries[*at].reason.as_str())
        });
        let reasons = reasons.collect();
        let mut problems: Vec<Problem> = open
            .into_iter()
            .map(|((aspect, message, field, ours, theirs), at)| {
                let text = format!(
                    "explained: no such difference: {} of message '{message}' field '{field}', \
                     ours {ours}, theirs {theirs}",
                    aspect.name()
                );
                Problem::new(&self.path, self.entries[at].line, text)
            })
            .collect();
        problems.sort_by_key(|problem| problem.line);
        (reasons, problems)
    }
}

fn key(difference: &Difference) -> Key {
    let Difference { aspect, message, field, ours, theirs, .. } = difference.clone();
    (aspect, message, field, ours, theirs)
}

fn entry(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Option<Explanation> {
    table.call("explained".into());
    let name = table.text(source, "aspect");
    let aspect = Aspect::named(&name);
    if aspect.is_none() && !name.is_empty() {
        let text = format!("aspect '{name}' must be one of {}", Aspect::NAMES.join(", "));
        table.refuse_value(source, "aspect", text);
    }
    let mut texts = |key| -> Vec<String> {
        let texts = table.texts(source, key).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        // A difference of a whole message has no field, and one of all messages no message.
        if texts.is_empty() { vec![String::new()] } else { texts }
    };
    let (messages, fields) = (texts("messages"), texts("fields"));
    let ours = table.text(source, "ours");
    let theirs = table.text(source, "theirs");
    let reason = table.text(source, "reason");
    let line = table.line();
    table.finish(source);
    Some(Explanation { line, aspect: aspect?, messages, fields, ours, theirs, reason })
}
