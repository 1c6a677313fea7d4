//! Figures of a plant as JSON, and in the rows of a page.

use nanotape_board::health::{Field, Value};
use nanotape_shm::Started;
use serde_json::Value as Json;

use crate::{record::Record, values::nanos_text};

/// The columns of the name of a row.
const NAME: usize = 16;

/// Adds the figures that JSON has.
pub(crate) fn with_figures(record: Record, fields: &[Field]) -> Record {
    let members = fields.iter().filter(|field| field.is_in_json);
    members.fold(record, |record, field| record.with(field.name.clone(), json_of(field)))
}

fn json_of(field: &Field) -> Json {
    match &field.value {
        None | Some(Value::Times(_)) => Json::Null,
        Some(Value::Whole(number) | Value::Nanos(number) | Value::Time(number)) => (*number).into(),
        Some(Value::Age(_, age_ns)) => (*age_ns).into(),
        Some(Value::Real(number)) => ((number * 10.0).round() / 10.0).into(),
        Some(Value::Text(text)) => text.clone().into(),
        Some(Value::Flag(is_set)) => (*is_set).into(),
        Some(Value::State(state, _)) => (*state).into(),
        Some(Value::Rows(rows)) => {
            rows.iter().map(|row| with_figures(Record::default(), row)).collect()
        }
    }
}

/// The rows of a page, filled with figures: names and sentences.
///
/// A line of the page is a name of 16 columns and a sentence. Of lines with one name in a row, the
/// first one is taken of which all figures are known. `{gaps}` is a figure; `{gaps=0}` and
/// `{gaps>0}` are nothing, and not known if that is not so. A part in brackets is left out if it is
/// not known. The lines between `@lines` and `@` are repeated for each row of this list.
pub(crate) fn filled(page: &str, fields: &[Field]) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (part, text) in page.split('@').enumerate() {
        if part % 2 == 0 {
            fill(text.trim_start_matches('\n'), fields, &mut rows);
        } else if let Some((name, lines)) = text.split_once('\n')
            && let Some(field) = fields.iter().find(|field| field.name == name)
            && let Some(Value::Rows(list)) = &field.value
        {
            list.iter().for_each(|row| fill(lines, row, &mut rows));
        }
    }
    rows
}

fn fill(lines: &str, fields: &[Field], rows: &mut Vec<(String, String)>) {
    let mut last = "";
    for line in lines.lines() {
        let (name, sentence) = line.split_at(NAME.min(line.len()));
        if name != last
            && let Some(sentence) = sentence_of(sentence, fields)
        {
            rows.push((sentence_of(name.trim_end(), fields).unwrap_or_default(), sentence));
            last = name;
        }
    }
}

fn sentence_of(sentence: &str, fields: &[Field]) -> Option<String> {
    let (mut text, mut rest) = (String::new(), sentence);
    while let Some(at) = rest.find(['{', '[']) {
        text.push_str(&rest[..at]);
        let is_figure = rest[at..].starts_with('{');
        let (inner, after) = rest[at + 1..].split_once(if is_figure { '}' } else { ']' })?;
        match is_figure {
            true => text.push_str(&figure(inner, fields)?),
            false => text.push_str(&sentence_of(inner, fields).unwrap_or_default()),
        }
        rest = after;
    }
    Some(text + rest)
}

fn figure(expression: &str, fields: &[Field]) -> Option<String> {
    let name = expression.split(['=', '>']).next()?;
    let text = text_of(value_of(fields, name)?);
    let condition = &expression[name.len()..];
    let holds = match (condition.strip_prefix('='), condition.strip_prefix('>')) {
        (Some(expected), _) => text == expected,
        (_, Some(least)) => text.parse::<u64>().ok()? > least.parse().ok()?,
        (None, None) => return Some(text),
    };
    holds.then(String::new)
}

fn value_of<'f>(fields: &'f [Field], name: &str) -> Option<&'f Value> {
    let field = fields.iter().find(|field| field.name == name);
    debug_assert!(field.is_some(), "there is no figure {name}");
    field?.value.as_ref()
}

/// A value on a page.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Whole(number) => number.to_string(),
        Value::Nanos(nanos) => nanos_text(*nanos),
        Value::Time(utc_ns) => Started::at_unix_s(utc_ns / 1_000_000_000).to_string(),
        Value::Age(_, None) => "at an unknown time".to_owned(),
        Value::Age(_, Some(age)) if *age < 0 => {
            format!("{} ahead of this machine's clock", nanos_text(age.unsigned_abs()))
        }
        Value::Age(_, Some(age)) => format!("{} ago", nanos_text(age.unsigned_abs())),
        Value::Real(number) => format!("{number:.1}"),
        Value::Text(text) => text.escape_debug().to_string(),
        Value::Flag(is_set) => is_set.to_string(),
        Value::State(state, _) => (*state).to_owned(),
        Value::Times(_) | Value::Rows(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_name_is_taken_of_which_all_figures_are_known() {
        let row = |name: &str| {
            let name = Value::Text(name.to_owned());
            vec![Field::new("name", Some(name)), Field::new("lag", Some(Value::Whole(3)))]
        };
        let fields = [
            Field::new("gaps", Some(Value::Whole(2))),
            Field::new("age", None),
            Field::new("state", Some(Value::State("gone", &["gone"]))),
            Field::new("list", Some(Value::Rows(vec![row("a"), row("b")]))),
        ];
        let page = "\
gaps            {gaps=0}none
gaps            {gaps>1}{gaps} gaps[, {age} old][{gaps>2}, many]
gaps            any other
age             {age}
@list
  {name}        {lag} behind
@
@none
  {name}        {lag} behind
@
state           {state=here}here
state           {state=gone}not here
";
        let filled = filled(page, &fields);
        let rows: Vec<_> = filled.iter().map(|(name, text)| (&**name, &**text)).collect();
        let expected =
            [("gaps", "2 gaps"), ("  a", "3 behind"), ("  b", "3 behind"), ("state", "not here")];
        assert_eq!(rows, expected);
    }
}
