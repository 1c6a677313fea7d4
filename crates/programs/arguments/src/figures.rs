//! Figures of a plant as JSON, and in the rows of a page.

use nanotape_board::health::{Figure, FigureValue};
use nanotape_console::{record::Record, values::nanos_text};
use nanotape_shm::Started;
use serde_json::Value as Json;

/// The columns of the name of a row.
const NAME: usize = 16;

/// Adds the figures that JSON has.
pub fn with_figures(record: Record, figures: &[Figure]) -> Record {
    let members = figures.iter().filter(|figure| figure.is_in_json);
    members.fold(record, |record, figure| record.with(figure.name.clone(), json_of(figure)))
}

fn json_of(figure: &Figure) -> Json {
    match &figure.value {
        None | Some(FigureValue::Times(_)) => Json::Null,
        Some(
            FigureValue::Whole(number) | FigureValue::Nanos(number) | FigureValue::Time(number),
        ) => (*number).into(),
        Some(FigureValue::Age(_, age_ns)) => (*age_ns).into(),
        Some(FigureValue::Real(number)) => ((number * 10.0).round() / 10.0).into(),
        Some(FigureValue::Text(text)) => text.clone().into(),
        Some(FigureValue::Flag(is_set)) => (*is_set).into(),
        Some(FigureValue::State(state, _)) => (*state).into(),
        Some(FigureValue::Rows(rows)) => {
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
pub fn filled(page: &str, figures: &[Figure]) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (part, text) in page.split('@').enumerate() {
        if part % 2 == 0 {
            fill(text.trim_start_matches('\n'), figures, &mut rows);
        } else if let Some((name, lines)) = text.split_once('\n')
            && let Some(figure) = figures.iter().find(|figure| figure.name == name)
            && let Some(FigureValue::Rows(list)) = &figure.value
        {
            list.iter().for_each(|row| fill(lines, row, &mut rows));
        }
    }
    rows
}

fn fill(lines: &str, figures: &[Figure], rows: &mut Vec<(String, String)>) {
    let mut last = "";
    for line in lines.lines() {
        let (name, sentence) = line.split_at(NAME.min(line.len()));
        if name != last
            && let Some(sentence) = sentence_of(sentence, figures)
        {
            rows.push((sentence_of(name.trim_end(), figures).unwrap_or_default(), sentence));
            last = name;
        }
    }
}

fn sentence_of(sentence: &str, figures: &[Figure]) -> Option<String> {
    let (mut text, mut rest) = (String::new(), sentence);
    while let Some(at) = rest.find(['{', '[']) {
        text.push_str(&rest[..at]);
        let is_figure = rest[at..].starts_with('{');
        let (inner, after) = rest[at + 1..].split_once(if is_figure { '}' } else { ']' })?;
        match is_figure {
            true => text.push_str(&figure(inner, figures)?),
            false => text.push_str(&sentence_of(inner, figures).unwrap_or_default()),
        }
        rest = after;
    }
    Some(text + rest)
}

fn figure(expression: &str, figures: &[Figure]) -> Option<String> {
    let name = expression.split(['=', '>']).next()?;
    let text = text_of(value_of(figures, name)?);
    let condition = &expression[name.len()..];
    let holds = match (condition.strip_prefix('='), condition.strip_prefix('>')) {
        (Some(expected), _) => text == expected,
        (_, Some(least)) => text.parse::<u64>().ok()? > least.parse().ok()?,
        (None, None) => return Some(text),
    };
    holds.then(String::new)
}

fn value_of<'f>(figures: &'f [Figure], name: &str) -> Option<&'f FigureValue> {
    let figure = figures.iter().find(|figure| figure.name == name);
    debug_assert!(figure.is_some(), "there is no figure {name}");
    figure?.value.as_ref()
}

/// A value on a page.
pub fn text_of(value: &FigureValue) -> String {
    match value {
        FigureValue::Whole(number) => number.to_string(),
        FigureValue::Nanos(nanos) => nanos_text(*nanos),
        FigureValue::Time(utc_ns) => Started::at_unix_s(utc_ns / 1_000_000_000).to_string(),
        FigureValue::Age(_, None) => "at an unknown time".to_owned(),
        FigureValue::Age(_, Some(age)) if *age < 0 => {
            format!("{} ahead of this machine's clock", nanos_text(age.unsigned_abs()))
        }
        FigureValue::Age(_, Some(age)) => format!("{} ago", nanos_text(age.unsigned_abs())),
        FigureValue::Real(number) => format!("{number:.1}"),
        FigureValue::Text(text) => text.escape_debug().to_string(),
        FigureValue::Flag(is_set) => is_set.to_string(),
        FigureValue::State(state, _) => (*state).to_owned(),
        FigureValue::Times(_) | FigureValue::Rows(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_name_is_taken_of_which_all_figures_are_known() {
        let row = |name: &str| {
            let name = FigureValue::Text(name.to_owned());
            vec![Figure::new("name", Some(name)), Figure::new("lag", Some(FigureValue::Whole(3)))]
        };
        let figures = [
            Figure::new("gaps", Some(FigureValue::Whole(2))),
            Figure::new("age", None),
            Figure::new("state", Some(FigureValue::State("gone", &["gone"]))),
            Figure::new("list", Some(FigureValue::Rows(vec![row("a"), row("b")]))),
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
        let filled = filled(page, &figures);
        let rows: Vec<_> = filled.iter().map(|(name, text)| (&**name, &**text)).collect();
        let expected =
            [("gaps", "2 gaps"), ("  a", "3 behind"), ("  b", "3 behind"), ("state", "not here")];
        assert_eq!(rows, expected);
    }
}
