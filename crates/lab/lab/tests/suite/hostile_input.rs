//! Files that users edit and merge, with any contents: they are read, or rejected with an error.

use nanotape_harness::Scratch;
use nanotape_lab::{baseline::Baseline, pages, record};
use proptest::prelude::*;

/// A line of a record with one change, so that most of it is still right.
fn nearly_a_record() -> impl Strategy<Value = String> {
    let good = r#"{"format":"nanotape-lab","version":1,"kind":"bench","name":"a/b","time":"2026-11-21T10:00:00Z","clock":{"source":"x","stamp_ns":1.5},"environment":{"host":"h"},"noise":[],"cost":{"median_ns":1.0,"low_ns":0.9,"high_ns":1.1,"confidence":0.95},"epoch_ns":[1.0],"latency":null,"counters":null,"instructions":null}"#;
    (0..good.len(), any::<u8>(), any::<bool>()).prop_map(move |(at, byte, cut)| {
        let mut bytes = good.as_bytes().to_vec();
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #[test]
    fn any_text_is_records_or_is_refused_with_its_line(lines in prop::collection::vec(
        prop_oneof![nearly_a_record(), ".{0,80}"], 0..6)) {
        match record::parse(&lines.join("\n"), "host.jsonl") {
            Ok(records) => {
                prop_assert!(pages::results(&records).contains("<html"));
                prop_assert!(pages::trend(&records).contains("<html"));
            }
            Err(error) => prop_assert!(error.to_string().starts_with("host.jsonl, line ")),
        }
    }

    #[test]
    fn any_baseline_is_read_or_refused(text in prop_oneof![
        ".{0,200}",
        r#"\{"format":"nanotape-lab-instructions","version":1,"compiler":"c","instructions":\{"a":-?[0-9]{1,400}\}\}"#,
    ]) {
        let scratch = Scratch::new("hostile-baseline");
        std::fs::write(scratch.path(), &text).unwrap();
        match Baseline::read(scratch.path()) {
            Ok(baseline) => {
                let finite = baseline.instructions.values().all(|&count| count > 0.0);
                prop_assert!(finite, "{baseline:?}");
            }
            Err(error) => prop_assert!(error.to_string().contains("hostile-")),
        }
    }
}
