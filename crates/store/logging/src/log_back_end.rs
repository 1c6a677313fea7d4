//! The back end for the crate log: formats a record, because its values exist only as arguments of
//! a format, and writes it as a text.

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use nanotape_journal::{Disk, Folder};

use crate::{Level, Logger, Origin};

/// The destination of the macros of the crate log.
#[derive(Debug)]
pub struct JournalLog<D: Disk = Folder> {
    logger: Logger<D>,
    max_level: LevelFilter,
}

impl<D: Disk> Logger<D> {
    /// A back end that logs to this journal what is at least this severe.
    pub fn log_back_end(&self, max_level: LevelFilter) -> JournalLog<D> {
        JournalLog { logger: self.clone(), max_level }
    }
}

impl<D: Disk> JournalLog<D> {
    /// Makes it the program's logger, for as long as the program runs.
    pub fn install(self) -> Result<(), SetLoggerError> {
        let max_level = self.max_level;
        log::set_boxed_logger(Box::new(self))?;
        log::set_max_level(max_level);
        Ok(())
    }
}

impl<D: Disk> Log for JournalLog<D> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.max_level
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug => Level::Debug,
            log::Level::Trace => Level::Trace,
        };
        let origin = Origin {
            target: record.target(),
            file: record.file().unwrap_or_default(),
            line: record.line().unwrap_or(0),
        };
        self.logger.text_from(level, &origin, *record.args());
    }

    fn flush(&self) {
        self.logger.flush();
    }
}
