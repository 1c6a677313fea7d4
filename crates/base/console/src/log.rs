//! The form of a line on standard error: for a person, or with time and level for a collector.
//!
//! Protocol: a line that goes to journald begins with its priority in angle brackets, which
//! journald removes (sd-daemon(3)). The environment variable `JOURNAL_STREAM` names the device and
//! the file that journald reads.

use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering},
    },
};

use clap::ValueEnum;
use nanotape_clock::UtcNanos;
use serde_json::json;

/// How much a line matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogLevel {
    /// The command failed.
    Error,
    /// Something is wrong, and the command goes on.
    Warning,
    /// Something happened.
    Info,
}

/// The form of lines that a collector reads.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum LogFormat {
    /// Time, level and message, separated by spaces
    Text,
    /// A JSON object with `time`, `level` and `message`
    Json,
}

/// The form of all lines: that of a person, or [`LogFormat`] and 1.
static FORMAT: AtomicU8 = AtomicU8::new(0);

impl LogLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// The number of the level in syslog.
    fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Info => 6,
        }
    }
}

/// Writes all lines from now on in this form.
pub fn use_format(format: LogFormat) {
    FORMAT.store(format as u8 + 1, Ordering::Relaxed);
}

/// A message as a line, with its end.
pub(crate) fn line_of(level: LogLevel, message: &str) -> String {
    static IS_FOR_JOURNALD: OnceLock<bool> = OnceLock::new();
    let format = match FORMAT.load(Ordering::Relaxed) {
        0 => None,
        1 => Some(LogFormat::Text),
        _ => Some(LogFormat::Json),
    };
    let is_for_journald = *IS_FOR_JOURNALD.get_or_init(is_for_journald);
    formatted(level, message, format, is_for_journald, UtcNanos::now())
}

fn formatted(
    level: LogLevel,
    message: &str,
    format: Option<LogFormat>,
    is_for_journald: bool,
    now: UtcNanos,
) -> String {
    let line = match format {
        None => format!("nanotape: {message}\n"),
        Some(LogFormat::Text) => format!("{now} {} {message}\n", level.name()),
        Some(LogFormat::Json) => {
            let line = json!({"time": now.to_string(), "level": level.name(), "message": message});
            format!("{line}\n")
        }
    };
    match is_for_journald {
        true => format!("<{}>{line}", level.priority()),
        false => line,
    }
}

/// Whether journald reads standard error.
fn is_for_journald() -> bool {
    let Some(stream) = env::var_os("JOURNAL_STREAM") else { return false };
    let Ok(stderr) = fs::metadata("/proc/self/fd/2") else { return false };
    stream.to_str() == Some(&format!("{}:{}", stderr.dev(), stderr.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_form_and_its_priority() {
        let now = UtcNanos::new(1_577_716_200_000_000_001);
        let line = |level, format, is_for_journald| {
            formatted(level, "line A: \"silent\"", format, is_for_journald, now)
        };
        assert_eq!(line(LogLevel::Info, None, false), "nanotape: line A: \"silent\"\n");
        assert_eq!(line(LogLevel::Error, None, true), "<3>nanotape: line A: \"silent\"\n");
        assert_eq!(
            line(LogLevel::Warning, Some(LogFormat::Text), false),
            "2019-12-30T14:30:00.000000001Z warning line A: \"silent\"\n"
        );
        let json = line(LogLevel::Info, Some(LogFormat::Json), true);
        let json: serde_json::Value =
            serde_json::from_str(json.strip_prefix("<6>").unwrap()).unwrap();
        assert_eq!(json["message"], "line A: \"silent\"");
        assert_eq!((&json["time"], &json["level"]), (&now.to_string().into(), &"info".into()));
    }
}
