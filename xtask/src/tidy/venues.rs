//! Checks that what comes after FEED knows no venue.
//!
//! An exchange's oddities stay at the edge: a new feed touches the crate that reads it, and no
//! book, ring, journal, engine or plant.

use super::{Problem, code::code_of, repository::Repository};

/// Where no venue is known. Of the commands, these work for each feed.
const WITHOUT_VENUES: [&str; 15] = [
    "crates/market/book/src/",
    "crates/market/market/src/",
    "crates/market/records/src/",
    "crates/plant/answers/src/",
    "crates/plant/board/src/",
    "crates/plant/engine/src/",
    "crates/plant/history/src/",
    "crates/plant/plant/src/",
    "crates/plant/tap/src/",
    "crates/programs/cli/src/commands/book",
    "crates/programs/cli/src/commands/inside",
    "crates/programs/cli/src/commands/run",
    "crates/programs/cli/src/commands/tap",
    "crates/programs/cli/src/commands/trades",
    "crates/store/",
];

/// What belongs to a venue: its messages, its framing, its constants.
const OF_VENUES: [&str; 5] =
    ["nanotape_wire", "venues::", "itch50::", "nanotape_feed::Feed", "Carried::MoldUdp64"];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let is_checked = |path: &str| {
        WITHOUT_VENUES.iter().any(|start| path.starts_with(start)) && !path.contains("/tests")
    };
    let texts = repository.texts(&[".rs"]).filter(|(path, _)| is_checked(path));
    texts.flat_map(|(path, text)| found(path, text)).collect()
}

fn found(path: &str, text: &str) -> Vec<Problem> {
    let code = code_of(text);
    // Unit tests may use the messages of one.
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut problems = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for name in OF_VENUES.iter().filter(|name| line.contains(**name)) {
            let what = format!("{name} belongs to a venue, and this crate works for each");
            problems.push(Problem::at(path, number + 1, what));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_venue_behind_the_feed_is_found() {
        let text = "fn a() {\n    let venue = venues::NASDAQ_ITCH;\n}\n";
        assert_eq!(found("crates/plant/plant/src/run.rs", text).len(), 1);
        let text =
            "// venues::NASDAQ_ITCH\n#[cfg(test)]\nmod tests {\n    use nanotape_wire::a;\n}\n";
        assert_eq!(found("crates/plant/plant/src/run.rs", text), []);
    }
}
