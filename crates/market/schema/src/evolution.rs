//! Checks that each version of a schema extends the one before: the order of fields, their
//! defaults, and the values that a schema states.

use std::collections::BTreeSet;

use crate::{FieldType, Literal, MethodField, reader::Source};

/// Whether a field of a later version needs a default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defaults {
    Needed,
    Optional,
}

/// Checks that fields of a later version come after those of earlier ones. Without 'since', a field
/// is of the version `first`.
pub(crate) fn ordered<'f>(
    source: &mut Source<'_>,
    subject: &str,
    first: usize,
    last: usize,
    fields: impl Iterator<Item = &'f MethodField>,
) {
    let mut latest: Option<&MethodField> = None;
    for field in fields {
        let (name, line, since) = (&field.field.name, field.field.line, field.since);
        // The version `first` itself is checked where it is stated.
        if since != first && (since > last || since < first) {
            let text = format!(
                "{subject} field '{name}': since {since}, but versions are {first} to {last}"
            );
            source.problem(line, text);
        }
        match latest {
            Some(latest) if latest.since > since => {
                let (other, at) = (&latest.field.name, latest.since);
                let text = format!(
                    "{subject} field '{name}': since {since}, but is after '{other}', since {at}: \
                     new fields are at the end"
                );
                source.problem(line, text);
            }
            _ => latest = Some(field),
        }
    }
}

/// Checks the values of a field that the schema states.
pub(crate) fn valid(
    source: &mut Source<'_>,
    subject: &str,
    first: usize,
    field: &MethodField,
    defaults: Defaults,
) {
    let MethodField { field, since, default, constant, .. } = field;
    let subject = format!("{subject} field '{}'", field.name);
    let is_plain = field.kind.width().is_some() && field.kind != FieldType::TailOffset;
    for (key, value) in [("default", default), ("constant", constant)] {
        let Some(value) = value else { continue };
        if !is_plain {
            let kind = field.kind.schema_name();
            source.problem(field.line, format!("{subject}: '{key}' is not for {kind}"));
        } else if let Some(range) = misfit(&field.kind, value) {
            source.problem(field.line, format!("{subject}: '{key}' must be {range}"));
        }
    }
    let is_added = *since > first;
    match (is_added, default, constant) {
        (_, Some(_), Some(_)) => {
            source.problem(field.line, format!("{subject}: has both 'default' and 'constant'"));
        }
        (true, None, None) if is_plain && defaults == Defaults::Needed => {
            let text = format!(
                "{subject}: since {since}, so it needs a 'default' for messages of earlier versions"
            );
            source.problem(field.line, text);
        }
        (false, Some(_), None) => {
            let text =
                format!("{subject}: 'default' is for fields of a later version: add 'since'");
            source.problem(field.line, text);
        }
        _ => {}
    }
}

/// What the value of a field of this type must be, if this one is not.
pub(crate) fn misfit(kind: &FieldType, value: &Literal) -> Option<String> {
    let width = kind.width()?;
    let inner = match kind {
        FieldType::Maybe(inner) => inner,
        kind => kind,
    };
    match (inner.is_text(), value) {
        (true, Literal::Text(text)) if text.is_ascii() && text.len() <= width => None,
        (true, _) => Some(format!("text of at most {width} ASCII characters")),
        (false, value) => {
            let bits = 8 * width as u32;
            let (least, most) = match inner {
                FieldType::Signed(_) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                _ => (0, (1_i128 << bits) - 1),
            };
            match value {
                Literal::Number(number) if (least..=most).contains(number) => None,
                _ => Some(format!("a whole number from {least} to {most}")),
            }
        }
    }
}

/// Checks that each version adds something.
pub(crate) fn versions(
    source: &mut Source<'_>,
    subject: &str,
    line: usize,
    last: usize,
    used: &BTreeSet<usize>,
) {
    // A version that does not exist was reported before.
    if !used.iter().all(|since| (1..=last).contains(since)) {
        return;
    }
    if let Some(version) = (1..=last).find(|version| !used.contains(version)) {
        source.problem(line, format!("{subject}: version {version} adds nothing"));
    }
}
