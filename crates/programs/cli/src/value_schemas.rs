//! Schemas of the values of maps: from a file, or built into this program.

use std::path::Path;

use anyhow::{Context as _, bail};
use nanotape_schema::{Problems, ValueSchema, read_value};

/// Schemas of values that this program knows: the name of the file in the repository, and its text.
/// A map whose header has one of their layouts needs no `--schema`.
const BUILT_IN: &[(&str, &str)] =
    &[("schema/stock-state.toml", include_str!("../../../../schema/stock-state.toml"))];

/// The schema in a file.
pub(crate) fn of_file(path: &Path) -> anyhow::Result<ValueSchema> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    read_value(&name, &text).map_err(|problems| in_one_line(&problems))
}

/// The schema in this program whose newest version has a layout.
pub(crate) fn of_layout(layout: u64) -> anyhow::Result<Option<ValueSchema>> {
    among(BUILT_IN, layout)
}

fn among(schemas: &[(&str, &str)], layout: u64) -> anyhow::Result<Option<ValueSchema>> {
    for (name, text) in schemas {
        let schema = read_value(name, text).map_err(|problems| in_one_line(&problems))?;
        if schema.layout() == layout {
            return Ok(Some(schema));
        }
    }
    Ok(None)
}

/// The first mistake, and how many follow.
fn in_one_line(Problems(problems): &Problems) -> anyhow::Error {
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    match problems.len() {
        0 | 1 => anyhow::anyhow!("{first}"),
        all => anyhow::anyhow!("{first} (and {} more: cargo xtask gen lists them)", all - 1),
    }
}

/// An error if a map does not have the values of a schema.
pub(crate) fn require(
    schema: &ValueSchema,
    map: &Path,
    spec: nanotape_latest::LatestSpec,
) -> anyhow::Result<()> {
    let expected = schema.layout();
    if spec.value_layout == expected && spec.value_words == schema.words() {
        return Ok(());
    }
    let (map, path) = (map.display(), &schema.path);
    let found = nanotape_latest::ValueLayout(spec.value_layout);
    let expected = nanotape_latest::ValueLayout(expected);
    let hint = match schema.version_of(spec.value_layout) {
        Some(_) => format!("; to upgrade the map: nanotape latest upgrade {map} --schema {path}"),
        None => String::new(),
    };
    bail!("{map}: its values are {found}, but those of {path} are {expected}{hint}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_in_this_program_is_found_by_its_layout() {
        let text = include_str!("../../../../schema/testing/quote-1.toml");
        let schemas = [("quote-1.toml", text)];
        let layout = read_value("quote-1.toml", text).unwrap().layout();
        assert_eq!(among(&schemas, layout).unwrap().unwrap().name, "Quote");
        assert!(among(&schemas, 0).unwrap().is_none());
        assert!(among(&[("x.toml", "")], 0).is_err());
    }

    #[test]
    fn every_schema_in_this_program_has_no_mistake() {
        assert!(of_layout(0).unwrap().is_none());
        for (name, text) in BUILT_IN {
            let layout = read_value(name, text).unwrap().layout();
            assert!(of_layout(layout).unwrap().is_some(), "{name}");
        }
        let layout = <nanotape_tap::states::StockState<()> as nanotape_latest::MapValue>::layout();
        assert_eq!(of_layout(layout).unwrap().unwrap().name, "StockState");
    }
}
