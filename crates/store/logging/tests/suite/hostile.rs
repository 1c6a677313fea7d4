//! Excerpts of any bytes give a line or none, and never panic.

use nanotape_logging::{Formatter, layout};
use proptest::prelude::*;

fn formatted(formatter: &mut Formatter, type_id: u16, ts_ns: u64, payload: &[u8]) -> String {
    let mut line = String::new();
    let is_line = formatter.write_parts(1, type_id, ts_ns, payload, &mut line).unwrap();
    assert_eq!(is_line, !line.is_empty());
    assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    line
}

/// Bytes that resemble valid ones: small numbers, tags, and lengths that sometimes fit.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => Just(0_u8), 3 => 0..12_u8, 1 => any::<u8>()];
    proptest::collection::vec(byte, 0..120)
}

fn cases() -> u32 {
    std::env::var("NANOTAPE_TEST_CASES").map_or(500, |text| text.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_any_type_are_a_line_or_none(
        excerpts in proptest::collection::vec(
            (layout::START - 1..=layout::LAST_TYPE_ID, any::<u64>(), payload()),
            1..40,
        ),
    ) {
        for shows_spans in [false, true] {
            let mut formatter = Formatter::new().with_spans(shows_spans).with_threads(true);
            for (type_id, ts_ns, payload) in &excerpts {
                formatted(&mut formatter, *type_id, *ts_ns, payload);
            }
        }
    }

    #[test]
    fn a_good_excerpt_that_is_cut_or_changed_anywhere_is_a_line_or_none(
        place in any::<proptest::sample::Index>(),
        value in any::<u8>(),
        is_cut in any::<bool>(),
    ) {
        for (_, payload) in good() {
            for (type_id, other) in good() {
                let mut changed = payload.clone();
                let at = place.index(changed.len());
                changed[at] = value;
                if is_cut {
                    changed.truncate(at);
                }
                let mut formatter = Formatter::new().with_spans(true);
                formatted(&mut formatter, type_id, 1, &changed);
                formatted(&mut formatter, type_id, 1, &other);
            }
        }
    }
}

/// A call site with two fields, a span that contains itself, and an event within it.
fn good() -> Vec<(u16, Vec<u8>)> {
    let name = |text: &str| [&(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
    let names = ["s", "t", "m", "f.rs", "message", "x"].map(name).concat();
    let numbers = |numbers: &[u32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    let text = [&[0, 7][..], &3_u32.to_le_bytes(), b"abc", &[1, 1, 1]].concat();
    let error = [&[1, 10, 2][..], &1_u32.to_le_bytes(), b"a", &1_u32.to_le_bytes(), b"b"].concat();
    vec![
        (
            layout::CALL_SITE,
            [&numbers(&[0])[..], &[3, 0, 2, 0], &numbers(&[9, 0]), &names].concat(),
        ),
        (layout::SPAN_NEW, [&numbers(&[0, 1, 7, 0, 7, 0])[..], &text].concat()),
        (layout::EVENT, [&numbers(&[0, 1, 7, 0])[..], &text, &error].concat()),
        (layout::TEXT, [&[4, 1, 0, 0][..], &numbers(&[1, 2, 0]), &name("t"), &name("f")].concat()),
    ]
}

#[test]
fn good_excerpts_are_lines_and_a_span_within_itself_ends() {
    let mut formatter = Formatter::new();
    let lines: Vec<_> =
        good().iter().map(|(id, payload)| formatted(&mut formatter, *id, 0, payload)).collect();
    assert_eq!((lines[0].as_str(), lines[1].as_str()), ("", ""));
    let circle = r#"s{message="abc" x=true}:"#.repeat(layout::MAX_SPAN_DEPTH);
    let front = "1970-01-01T00:00:00.000000000Z  INFO ...:";
    assert_eq!(lines[2], format!("{front}{circle} t: abc x=true x=a: b"));
    assert_eq!(lines[3], "1970-01-01T00:00:00.000000000Z DEBUG t: ...(cut)");
}

#[test]
fn an_unreadable_excerpt_says_what_is_wrong_and_where() {
    let mut formatter = Formatter::new();
    let line = formatted(&mut formatter, layout::EVENT, 0, &[0; 10]);
    assert!(line.ends_with("unreadable 0xff03: offset 8: 8 bytes needed, 2 left"));
    let line = formatted(&mut formatter, layout::TEXT, 0, &[9; 40]);
    assert!(line.ends_with("unreadable 0xff04: offset 0: 9 is not a level"), "{line}");
    let line = formatted(&mut formatter, layout::EVENT, 0, &[&[0; 16][..], &[1, 99]].concat());
    let end = "unknown call site 0: (unreadable values: offset 17: 99 is not the tag of a value)";
    assert!(line.ends_with(end), "{line}");
    let line = formatted(&mut formatter, layout::LOST, 0, &vec![0; 1 << 20]);
    assert!(line.contains("an excerpt of 1048576 bytes: a log has at most 32768"), "{line}");
}

#[test]
fn announcements_without_end_are_forgotten() {
    let mut formatter = Formatter::new();
    let mut payload = vec![0; 30_000];
    for number in 0..10_000_u32 {
        payload[..4].copy_from_slice(&number.to_le_bytes());
        formatted(&mut formatter, layout::THREAD, 0, &payload);
    }
    let event = [&0_u32.to_le_bytes()[..], &9_999_u32.to_le_bytes(), &[0; 8]].concat();
    let mut formatter = formatter.with_threads(true);
    assert!(formatted(&mut formatter, layout::EVENT, 0, &event).contains("[\\u{0}"));
    let event = [[0; 16]].concat();
    assert!(formatted(&mut formatter, layout::EVENT, 0, &event).contains("[0] "));
}
