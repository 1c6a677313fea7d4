//! A study as text: the method, the table, the answers, and what is missing.

use std::fmt;

use nanotape_console::values::grouped;
use serde_json::Value;

use super::findings::{Findings, Unit};

/// Columns of a line of text.
const WIDTH: usize = 98;

pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    findings: &Findings,
    noise: &[String],
) -> fmt::Result {
    paragraph(f, "", &findings.method)?;
    writeln!(f)?;
    table(f, findings)?;
    writeln!(f)?;
    for answer in &findings.answers {
        paragraph(f, "- ", answer)?;
    }
    let headed = [("not measured: ", &findings.not_measured[..]), ("noise: ", noise)];
    for (head, sentences) in headed {
        for sentence in sentences {
            paragraph(f, head, sentence)?;
        }
    }
    writeln!(f)
}

/// A paragraph, wrapped; `head` begins its first line.
fn paragraph(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    let indent = if head == "- " { 4 } else { 2 };
    let mut line = format!("  {head}");
    let mut is_begun = false;
    for word in text.split_whitespace() {
        if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(f, "{line}")?;
            line = " ".repeat(indent);
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    writeln!(f, "{line}")
}

/// The rows, with columns as wide as their cells; words are aligned left.
fn table(f: &mut fmt::Formatter<'_>, findings: &Findings) -> fmt::Result {
    let head = findings.columns.iter().map(|(name, unit)| match unit {
        Unit::Nanos => format!("{name} ns"),
        Unit::Percent => format!("{name} %"),
        Unit::Ratio | Unit::Count | Unit::Plain | Unit::Words => (*name).to_owned(),
    });
    let mut lines: Vec<Vec<String>> = vec![head.collect()];
    for row in &findings.rows {
        let cells = row.iter().zip(&findings.columns).map(|(value, (_, unit))| cell(value, *unit));
        lines.push(cells.collect());
    }
    let width = |index: usize| {
        lines.iter().filter_map(|line| line.get(index)).map(|cell| cell.len()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..findings.columns.len()).map(width).collect();
    for line in &lines {
        let mut text = String::new();
        for ((cell, (_, unit)), width) in line.iter().zip(&findings.columns).zip(&widths) {
            text.push_str("  ");
            text.push_str(&match unit {
                Unit::Words => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

fn cell(value: &Value, unit: Unit) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Number(number) => number.as_f64().map_or("-".to_owned(), |number| {
            let size = number.abs();
            match unit {
                Unit::Ratio => format!("{number:.2}"),
                Unit::Percent if size < 10.0 => format!("{number:.2}"),
                Unit::Percent => format!("{number:.1}"),
                _ if size >= 100.0 || (size.fract() == 0.0 && unit == Unit::Count) => {
                    let sign = if number < 0.0 { "-" } else { "" };
                    format!("{sign}{}", grouped(size.round() as u64))
                }
                _ if size < 10.0 => format!("{number:.2}"),
                _ => format!("{number:.1}"),
            }
        }),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Text<'a>(&'a Findings);

    impl fmt::Display for Text<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(f, self.0, &["others used 12% of processor 1".to_owned()])
        }
    }

    #[test]
    fn columns_are_aligned_and_missing_cells_are_a_dash() {
        let findings = Findings {
            method: "Measured.".to_owned(),
            answers: vec!["Yes.".to_owned()],
            columns: vec![
                ("way", Unit::Words),
                ("p50", Unit::Nanos),
                ("lost", Unit::Percent),
                ("messages", Unit::Count),
            ],
            rows: vec![
                vec![json!("spin"), json!(0.4567), json!(0.126), json!(5.0)],
                vec![json!("pause x 8"), json!(12_345.6), Value::Null, json!(1_000_000)],
            ],
            plots: Vec::new(),
            not_measured: vec!["a word ".repeat(30)],
        };
        let text = Text(&findings).to_string();
        let expected = "  Measured.

  way        p50 ns  lost %   messages
  spin         0.46    0.13          5
  pause x 8  12,346       -  1,000,000

  - Yes.
  not measured: a word a word a word";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("  noise: others used 12% of processor 1\n\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
