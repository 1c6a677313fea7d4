//! Log to a journal: you will see the log as lines with times, spans and values, as another process
//! would read it; the logging code wrote values and formatted nothing.
//!
//!     cargo run --release -p nanotape-examples --example 08_log_to_a_journal [FOLDER]
//!
//! FOLDER is the journal, /tmp/nanotape-example-log by default. Another run continues the log.

use std::{error::Error, path::PathBuf};

use nanotape::{
    journal::{Start, Tail, Tailer},
    logging::{Formatter, Logger},
};
use tracing::{debug, error, info, info_span, warn};
use tracing_subscriber::{
    Layer as _, filter::LevelFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("nanotape-example-log"));

    // From here on, all threads of the program log to the journal.
    let logger = Logger::open(&folder)?;
    tracing_subscriber::registry().with(logger.layer().with_filter(LevelFilter::INFO)).init();
    work();
    // The log is already in the journal, even if the program is killed; `sync` puts it on the disk.
    logger.sync()?;

    let mut formatter = Formatter::new();
    let mut tailer = Tailer::open(&folder, Start::Oldest)?;
    loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                if let Some(line) = formatter.line(&excerpt) {
                    println!("{line}");
                }
            }
            Tail::Gap(gap) => println!("{} excerpts are missing", gap.count()),
            Tail::Reused(reused) => println!("excerpts from {} on come again", reused.from),
            Tail::Nothing => break,
        }
    }
    println!("{} events lost", logger.lost());
    Ok(())
}

/// The work of the program, with its log events.
fn work() {
    let _session = info_span!("session", day = "2019-12-30").entered();
    for line in ["A", "B"] {
        let _line = info_span!("line", name = line).entered();
        info!(port = 26477_u16, "joined");
        debug!("not logged: the filter is at INFO");
        if line == "B" {
            warn!(gap = 17_u64, first = 1_002_u64, "lost messages");
        }
    }
    if let Err(error) = "12,5".parse::<f64>() {
        error!(error = &error as &dyn Error, text = "12,5", "no price");
    }
}
