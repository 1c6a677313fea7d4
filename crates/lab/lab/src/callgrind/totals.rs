//! Reads the total of instructions from callgrind's output.
//!
//! The format is documented with valgrind: `events:` names the columns, and `totals:` (in older
//! versions `summary:`) has the sum of each. A file can have several parts, one for each dump.

/// The instructions of all parts, or None if the text is not of this format.
pub(super) fn instructions(text: &str) -> Option<u64> {
    let mut column = None;
    let (mut totals, mut summaries) = (None, None);
    for line in text.lines() {
        if let Some(events) = line.strip_prefix("events:") {
            column = events.split_whitespace().position(|event| event == "Ir");
        } else if let Some(numbers) = line.strip_prefix("totals:") {
            totals = Some(add(totals, numbers, column?)?);
        } else if let Some(numbers) = line.strip_prefix("summary:") {
            summaries = Some(add(summaries, numbers, column?)?);
        }
    }
    totals.or(summaries)
}

/// A missing column is zero: callgrind leaves out trailing zeros.
fn add(sum: Option<u64>, numbers: &str, column: usize) -> Option<u64> {
    let number = match numbers.split_whitespace().nth(column) {
        Some(number) => number.parse().ok()?,
        None => 0,
    };
    sum.unwrap_or(0).checked_add(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 42\n\
        cmd:  ./book\npart: 1\n\n\ndesc: I1 cache: \npositions: line\nevents: Ir\n\
        summary: 1234\n\nob=(1) ./book\nfn=(1) main\n+3 1234\n\ntotals: 1234\n";

    #[test]
    fn the_total_is_found_once() {
        assert_eq!(instructions(COUNTS), Some(1_234));
        let old = COUNTS.replace("totals: 1234\n", "");
        assert_eq!(instructions(&old), Some(1_234));
    }

    #[test]
    fn parts_add_up_and_columns_are_kept_apart() {
        assert_eq!(instructions(&COUNTS.repeat(2)), Some(2_468));
        let cache = "events: Ge Ir Dr\ntotals: 5 17 9\n";
        assert_eq!(instructions(cache), Some(17));
        assert_eq!(instructions("events: Ge Ir\ntotals: 5\n"), Some(0));
    }

    #[test]
    fn rubbish_has_no_total() {
        let overflow = format!("events: Ir\ntotals: {0}\ntotals: {0}\n", u64::MAX);
        for text in ["", "totals: 5", "events: Dr\ntotals: 5", "events: Ir\ntotals: x", &overflow] {
            assert_eq!(instructions(text), None, "{text:?}");
        }
    }
}
