//! The examples run, without arguments and on a file, and show what they promise to show.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nanotape_testkit::market::{Market, MarketConfig};

/// Where an example is.
fn program(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap().join("examples");
    folder.join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

/// What an example prints. `cargo test` builds the examples beside the tests.
fn output_of(example: &str, arguments: &[&str]) -> Result<String, String> {
    let built = "run the tests of the whole package, so that the examples are built";
    let output = Command::new(program(example)).args(arguments).output().expect(built);
    let text = String::from_utf8(output.stdout).expect("examples print UTF-8");
    if output.status.success() {
        Ok(text)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| {
        panic!("no line begins with {start:?} in\n{text}");
    })
}

fn day_file(name: &str) -> PathBuf {
    let config = MarketConfig { messages: 5_000, symbols: 10, seed: 9, ..MarketConfig::default() };
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn decode_a_file_shows_messages_an_order_and_a_census() {
    let text = output_of("01_decode_a_file", &[]).unwrap();
    assert!(line(&text, "1 at byte   0").contains("event_code=O(StartOfMessages)"), "{text}");
    assert!(line(&text, "price").contains('.'));
    assert!(line(&text, "S ").ends_with(" 6  System Event"), "{text}");
    assert!(line(&text, "20000 messages in").ends_with("; end of file"));
    assert!(!text.contains("damage"));
}

#[test]
fn decode_a_file_reads_the_file_it_is_given() {
    let path = day_file("decode.itch50");
    let text = output_of("01_decode_a_file", &[path.to_str().unwrap()]).unwrap();
    assert!(text.starts_with(path.to_str().unwrap()));
    assert!(line(&text, "5000 messages in").ends_with("; end of file"));
}

#[test]
fn build_a_book_shows_both_sides_and_a_queue() {
    let text = output_of("02_build_a_book", &[]).unwrap();
    assert!(line(&text, "a synthetic day").ends_with("then stopped before the end"), "{text}");
    assert!(text.contains(" at noon: Normal"), "{text}");
    let first = line(&text, "order ");
    assert!(first.ends_with(" 0 ahead"), "nobody is ahead of the first: {text}");
    assert_eq!(line(&text, "tainted"), "tainted: no");
    let price = |side| -> f64 {
        let below = text.lines().skip_while(|line| !line.trim_start().starts_with(side)).nth(1);
        below.unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(price("bid ") < price("ask "), "{text}");
}

#[test]
fn build_a_book_takes_a_file_and_a_symbol() {
    let path = day_file("book.itch50");
    let error = output_of("02_build_a_book", &[path.to_str().unwrap(), "NOSUCH"]).unwrap_err();
    assert!(error.contains("no such stock"), "{error}");
    let text = output_of("02_build_a_book", &[path.to_str().unwrap()]).unwrap();
    assert!(text.contains(" at noon: "), "{text}");
}

/// Both processes at once: the reader begins when the writer has said that the ring is there.
#[test]
fn a_subscriber_prints_what_the_publisher_of_another_process_published() {
    let ring = std::env::temp_dir().join(format!("nanotape-examples-{}", std::process::id()));
    let name = ring.to_str().unwrap().to_owned();
    let mut writer = Command::new(program("03_publish_on_the_ring"))
        .args([name.as_str(), "20"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut published = BufReader::new(writer.stdout.take().unwrap());
    let mut first = String::new();
    published.read_line(&mut first).unwrap();
    assert_eq!(first, format!("{name}: created\n"));
    let text = output_of("04_subscribe", &[name.as_str()]).unwrap();
    let mut rest = String::new();
    published.read_to_string(&mut rest).unwrap();
    assert!(writer.wait().unwrap().success());
    let expected: String =
        rest.lines().map(|line| line.replacen("  bid", "  type 1  bid", 1) + "\n").collect();
    assert_eq!(text, format!("{expected}the writer is closed\n"));
    assert_eq!(rest.lines().count(), 20);

    // The next writer goes on where the first one ended.
    let text = output_of("03_publish_on_the_ring", &[name.as_str(), "1"]).unwrap();
    assert_eq!(text, format!("{name}: taken over, its writer was closed\n    21  bid 100.00\n"));
    std::fs::remove_file(ring).unwrap();
}

#[test]
fn every_example_is_short_and_says_what_you_will_see() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, most) in [
        ("01_decode_a_file.rs", 100),
        ("02_build_a_book.rs", 100),
        ("03_publish_on_the_ring.rs", 60),
        ("04_subscribe.rs", 60),
    ] {
        let source = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(source.starts_with("//!") && source.contains("you will see"), "{name}");
        assert!(source.lines().count() < most, "{name} has {} lines", source.lines().count());
    }
}
