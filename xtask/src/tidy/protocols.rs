//! Lists the files that may use an exchange's messages, so that all others stay independent of it.
//!
//! The dependency table separates crates. This check separates files, in crates where one command
//! prints the messages of an exchange and all others use market events.

use super::{Problem, code::code_of, repository::Repository};

/// The crate of protocols, as code names it. In two parts, so that this file passes.
const PROTOCOLS: &str = concat!("nanotape_", "wire");

/// The same in the examples, which use the crate `nanotape`.
const PROTOCOLS_IN_EXAMPLES: &str = "wire::";

/// Files that may use the messages of an exchange, by the beginning of their paths.
const KNOW_A_PROTOCOL: [&str; 12] = [
    "crates/market/wire/",
    "crates/market/feed/",
    // The rules of one exchange, and the command that prints its messages.
    "crates/plant/check/",
    "crates/programs/cli/src/commands/inspect",
    // Captures that tests make packet by packet.
    "crates/programs/runner/src/capture.rs",
    // The synthetic market writes a day of one exchange.
    "crates/play/synth/",
    // The simulated exchange sends the messages of one.
    "crates/play/exchange/",
    "crates/play/testkit/",
    // Benchmarks of decoding, and other programs' decoders.
    "crates/lab/bench/src/",
    "bench/rivals/",
    "examples/01_decode_a_file.rs",
    // Re-exports only.
    "crates/programs/nanotape/src/lib.rs",
];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let sources = repository.texts(&[".rs"]);
    sources.filter_map(|(path, text)| knows_a_protocol(path, text)).collect()
}

fn knows_a_protocol(path: &str, text: &str) -> Option<Problem> {
    let is_allowed = KNOW_A_PROTOCOL.iter().any(|start| path.starts_with(start))
        || path.contains("/tests/")
        || path.starts_with("fuzz/");
    if is_allowed {
        return None;
    }
    let code = code_of(text);
    let is_example = path.starts_with("examples/");
    let (number, _) = (1..).zip(code.lines()).find(|(_, line)| {
        line.contains(PROTOCOLS) || (is_example && line.contains(PROTOCOLS_IN_EXAMPLES))
    })?;
    let what = "names the crate of protocols: use the events of nanotape-market";
    Some(Problem::at(path, number, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_files_know_a_protocol() {
        let line = format!("//! x\nuse {PROTOCOLS}::itch50::Message;\n");
        assert!(knows_a_protocol("crates/plant/plant/src/publisher.rs", &line).is_some());
        assert!(knows_a_protocol("crates/programs/cli/src/commands/inside.rs", &line).is_some());
        assert_eq!(knows_a_protocol("crates/programs/cli/src/commands/inspect.rs", &line), None);
        assert_eq!(knows_a_protocol("crates/plant/tap/tests/suite/a.rs", &line), None);
        let example = "//! x\nuse nanotape::{\n    wire::itch50::Message,\n};\n";
        assert!(knows_a_protocol("examples/02_build_a_book.rs", example).is_some());
        assert_eq!(knows_a_protocol("examples/01_decode_a_file.rs", example), None);
        let comment = format!("//! Not {PROTOCOLS}.\n");
        assert_eq!(knows_a_protocol("crates/plant/plant/src/publisher.rs", &comment), None);
    }
}
