//! The lines of a log.

use nanotape_harness::Scratch;
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_logging::Formatter;

/// All lines of the log at the path, without their times.
pub(crate) fn log_lines(log: &Scratch, formatter: &mut Formatter) -> Vec<String> {
    let mut tailer = Tailer::open(log.path(), Start::Oldest).unwrap();
    let (mut lines, mut last) = (Vec::new(), 0);
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                assert!(excerpt.ts_ns() >= last, "times grow");
                last = excerpt.ts_ns();
                lines.extend(formatter.line(&excerpt).map(|line| without_time(&line)));
            }
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => return lines,
        }
    }
}

/// A line without its time, which is checked.
fn without_time(line: &str) -> String {
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.len() == 30 && time.starts_with("20") && time.ends_with('Z'), "{line}");
    rest.trim_start().to_owned()
}
