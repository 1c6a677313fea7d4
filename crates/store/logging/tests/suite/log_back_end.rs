//! Records of the crate log are read back, with and without their origin.

use log::{Level, LevelFilter, Log as _, Record};
use nanotape_harness::Scratch;
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_logging::{
    Formatter, Logger,
    decode::{self, decode},
};

use crate::lines::log_lines;

#[test]
fn records_are_texts_of_the_requested_level() {
    let place = Scratch::new("installed");
    let logger = Logger::open(place.path()).unwrap();
    logger.log_back_end(LevelFilter::Debug).install().unwrap();
    log::info!("started with {} lines", 2);
    log::debug!(target: "feed", "line\nB");
    log::trace!("never");
    log::logger().flush();
    let lines = log_lines(&place, &mut Formatter::new()).split_off(1);
    assert_eq!(lines, ["INFO suite::log_back_end: started with 2 lines", "DEBUG feed: line\\nB"]);
    assert!(logger.log_back_end(LevelFilter::Info).install().is_err(), "one for a program");
}

#[test]
fn a_text_has_its_file_and_line_and_is_cut_where_it_is_too_long() {
    let place = Scratch::new("origin");
    let logger = Logger::open(place.path()).unwrap();
    let back_end = logger.log_back_end(LevelFilter::Trace);
    let text = "x".repeat(40_000);
    back_end.log(
        &Record::builder()
            .args(format_args!("{text}"))
            .level(Level::Error)
            .target("t")
            .file(Some("src/main.rs"))
            .line(Some(70_000))
            .build(),
    );
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    let mut texts = 0;
    while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
        let payload = excerpt.to_vec();
        let decoded = decode(excerpt.type_id(), &payload).unwrap().unwrap();
        let decode::Record::Text(text) = decoded else { continue };
        texts += 1;
        assert_eq!((text.target, text.file, text.line), (&b"t"[..], &b"src/main.rs"[..], 70_000));
        assert!(text.is_cut && text.text.len() > 32_000 && payload.len() == 32_768);
    }
    assert_eq!(texts, 1);
    let line = log_lines(&place, &mut Formatter::new()).pop().unwrap();
    assert!(line.starts_with("ERROR t: xxx") && line.ends_with("xxx...(cut)"));
}
