//! Names of a description as names of a schema: in the case of Rust, not taken, and no keyword.

use std::collections::BTreeMap;

use crate::{FieldType, check, names};

/// Names that are taken in one place, each with the number of the next one like it.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeMap<String, usize>,
}

impl Names {
    fn without(names: &[&str]) -> Self {
        Self { taken: names.iter().map(|name| ((*name).to_owned(), 2)).collect() }
    }

    /// The names of the fields and groups of a layout.
    pub(super) fn of_fields() -> Self {
        Self::without(&check::TAKEN_BY_FUNCTIONS)
    }

    /// The names of the bits of a set.
    pub(super) fn of_bits() -> Self {
        Self::without(&["names"])
    }

    /// A free name of a type.
    pub(super) fn of_type(&mut self, name: &str) -> String {
        let is_reserved = |name: &str| {
            check::TAKEN.contains(&name)
                || names::is_keyword(name)
                || FieldType::named_in_protocol(name).is_some()
                // Each layout has a struct of this name too.
                || name.ends_with("Fields")
        };
        let name = if is_reserved(name) { format!("{name}Value") } else { name.to_owned() };
        self.free(name, "")
    }

    /// A free name of a code.
    pub(super) fn of_code(&mut self, name: &str) -> String {
        let is_reserved = names::is_keyword(name) || name == "Unknown";
        self.free(if is_reserved { format!("{name}Value") } else { name.to_owned() }, "")
    }

    /// A free name of a field, a group or a bit.
    pub(super) fn of_field(&mut self, name: &str) -> String {
        let name = snake(name);
        let is_reserved = names::is_keyword(&name) || name.starts_with("write_");
        self.free(if is_reserved { format!("the_{name}") } else { name }, "_")
    }

    fn free(&mut self, name: String, before_number: &str) -> String {
        loop {
            let Some(next) = self.taken.get_mut(&name) else {
                self.taken.insert(name.clone(), 2);
                return name;
            };
            let other = format!("{name}{before_number}{next}");
            *next += 1;
            if !self.taken.contains_key(&other) {
                self.taken.insert(other.clone(), 2);
                return other;
            }
        }
    }
}

/// The words of a name: `MDEntryPx` has `MD`, `Entry` and `Px`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    let mut is_open = false;
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            is_open = false;
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let is_after_small = before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let is_before_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let is_after_large = before.is_some_and(|c| c.is_ascii_uppercase());
        let begins =
            letter.is_ascii_uppercase() && (is_after_small || (is_after_large && is_before_small));
        match words.last_mut().filter(|_| is_open && !begins) {
            Some(word) => word.push(letter),
            None => words.push(letter.to_string()),
        }
        is_open = true;
    }
    words
}

/// The name in the case of types.
pub(super) fn camel(name: &str) -> String {
    let capital = |word: &String| {
        let (first, rest) = word.split_at(1);
        format!("{}{}", first.to_ascii_uppercase(), rest.to_ascii_lowercase())
    };
    let name: String = words(name).iter().map(capital).collect();
    match name.chars().next() {
        None => "Unnamed".into(),
        Some(first) if first.is_ascii_digit() => format!("N{name}"),
        Some(_) => name,
    }
}

/// The name in the case of fields.
pub(crate) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).iter().map(|word| word.to_ascii_lowercase()).collect();
    let name = words.join("_");
    match name.chars().next() {
        None => "unnamed".into(),
        Some(first) if first.is_ascii_digit() => format!("n_{name}"),
        Some(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_case_of_rust() {
        for (name, as_type, as_field) in [
            ("MDEntryPx", "MdEntryPx", "md_entry_px"),
            ("Trade ID", "TradeId", "trade_id"),
            ("RepoAverage8_30AM", "RepoAverage830Am", "repo_average8_30_am"),
            ("1st", "N1st", "n_1st"),
            ("\u{e4}-", "Unnamed", "unnamed"),
            ("Single-price Cross", "SinglePriceCross", "single_price_cross"),
        ] {
            assert_eq!((camel(name).as_str(), snake(name).as_str()), (as_type, as_field));
        }
    }

    #[test]
    fn a_taken_name_gets_a_number_and_a_keyword_a_word() {
        let mut names = Names::of_fields();
        let given = ["price", "Price", "Price 2", "type", "tag", "price"];
        let given = given.map(|name| names.of_field(name));
        assert_eq!(given, ["price", "price_2", "price_2_2", "the_type", "tag_2", "price_3"]);
        let mut types = Names::default();
        assert_eq!(types.of_type("Symbol"), "SymbolValue");
        assert_eq!(types.of_type("OrderFields"), "OrderFieldsValue");
    }
}
