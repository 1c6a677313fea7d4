//! The nearest of some words to a misspelt one, for "did you mean".
//!
//! Cost: the product of both lengths for each word. It is for errors.

/// The word with the fewest changes, if they are few: one change in three characters. Changes of
/// case count less than others. Of several, the first one.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let most = PER_CHANGE * (length / 3).max(length.min(1)) + length;
    let near = words.into_iter().map(|candidate| (changes(word, candidate), candidate));
    let near = near.filter(|&(changes, _)| changes <= most);
    near.min_by_key(|&(changes, _)| changes).map(|(_, candidate)| candidate)
}

/// The weight of an insertion, a removal, or another character.
const PER_CHANGE: usize = 100;

/// The least weight of changes that make one word the other (Levenshtein). Another case weighs 1.
fn changes(word: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).map(|length| length * PER_CHANGE).collect();
    for (length, from) in word.chars().enumerate() {
        // The corner above the cell that is computed.
        let mut corner = row[0];
        row[0] = (length + 1) * PER_CHANGE;
        for (index, &to) in other.iter().enumerate() {
            let replaced = corner + weight(from, to);
            corner = row[index + 1];
            row[index + 1] = replaced.min(corner + PER_CHANGE).min(row[index] + PER_CHANGE);
        }
    }
    row[other.len()]
}

fn weight(from: char, to: char) -> usize {
    match from == to {
        true => 0,
        false if from.eq_ignore_ascii_case(&to) => 1,
        false => PER_CHANGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let symbols = ["A", "AAL", "AAPL", "GOOG", "GOOGL", "MSFT"];
        for (word, near) in [
            ("aapl", Some("AAPL")),
            ("APPL", Some("AAPL")),
            ("AAPLE", Some("AAPL")),
            ("goog", Some("GOOG")),
            ("MSTF", None),
            ("XQZW", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, symbols), near, "{word}");
        }
        let keys = ["pace", "pace_from", "until", "capacity_bytes"];
        assert_eq!(nearest("pace_form", keys), Some("pace_from"));
        assert_eq!(nearest("capacity_byte", keys), Some("capacity_bytes"));
        assert_eq!(nearest("folder", keys), None);
    }
}
