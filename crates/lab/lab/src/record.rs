//! Lines of the record: their common fields, and how they are written and read.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use nanotape_clock::Clock;
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::{
    environment::{BuildInfo, Environment, Noise},
    placement::Placement,
};

/// The name of the format; see docs/formats/lab-record.md.
pub const FORMAT: &str = "nanotape-lab";
/// Its version.
pub const VERSION: u64 = 1;

/// The machine, its noise and the clock of a measurement.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The machine and its settings.
    pub environment: Environment,
    /// Other activity on the machine.
    pub noise: Noise,
    /// The clock.
    pub clock: Clock,
}

impl RunContext {
    /// The current machine, for a run on a thread with this placement, and a clock for it.
    pub fn capture(placement: &Placement) -> Self {
        let environment =
            Environment::capture(placement, BuildInfo::from_env_of_build(), Path::new("."));
        Self { environment, noise: Noise::default(), clock: Clock::calibrate() }
    }

    /// A line of this kind and name: the common fields, and `fields`.
    pub fn line(&self, kind: &str, name: &str, fields: Value) -> Value {
        let mut line = json!({
            "format": FORMAT,
            "version": VERSION,
            "kind": kind,
            "name": name,
            "time": seconds_only(&self.clock.utc(self.clock.stamp()).to_string()),
            "clock": {
                "source": self.clock.source().to_string(),
                "stamp_ns": self.clock.cost_nanos(),
                "empty_ns": self.clock.costs().empty_nanos,
                "resolution_ns": self.clock.resolution_nanos(),
            },
            "environment": crate::environment::to_json(&self.environment, &self.noise),
            "noise": self.noise.sentences,
        });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        line
    }
}

/// `2026-11-21T10:00:00Z` of a time with a fraction.
fn seconds_only(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

/// The reason why records could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// An operation on a file or folder failed.
    #[error("cannot {what} {path}")]
    File {
        /// The operation.
        what: &'static str,
        /// The path.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not a record.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The error in the line.
        reason: String,
    },
}

/// Fields that only a page of one run needs, and that would be too large for a repository.
const NOT_KEPT: [&str; 5] = [
    "/epoch_ns",
    "/counters/absent",
    "/latency/distribution",
    "/base/replicate_ns",
    "/candidate/replicate_ns",
];

/// Appends `lines` to the file of this host in `folder`, which is created if it is missing; returns
/// the file. Each line is written whole, so that two processes can append concurrently. Long fields
/// without use over time are written as `null`.
pub fn append(folder: &Path, host: &str, lines: &[Value]) -> Result<PathBuf, RecordError> {
    let safe = |character: char| {
        if character.is_ascii_alphanumeric() || "-_".contains(character) { character } else { '_' }
    };
    let name: String = host.chars().map(safe).collect();
    let path = folder.join(format!("{name}.jsonl"));
    let failed = |what, path: &Path, source| RecordError::File {
        what,
        path: path.display().to_string(),
        source,
    };
    fs::create_dir_all(folder).map_err(|source| failed("make", folder, source))?;
    // A link in a folder of several users would let another one choose the file.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let file = File::options().append(true).create(true).custom_flags(flags).open(&path);
    let mut file = file.map_err(|source| failed("open", &path, source))?;
    for line in lines {
        let mut line = line.clone();
        for place in NOT_KEPT {
            if let Some(value) = line.pointer_mut(place) {
                *value = Value::Null;
            }
        }
        let written = file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|source| failed("write", &path, source))?;
    }
    Ok(path)
}

/// Reads the records of a file, or of all `.jsonl` files of a folder, sorted by name.
pub fn read(path: &Path) -> Result<Vec<Value>, RecordError> {
    let failed =
        |source| RecordError::File { what: "read", path: path.display().to_string(), source };
    if !path.is_dir() {
        let text = fs::read_to_string(path).map_err(failed)?;
        return parse(&text, &path.display().to_string());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|suffix| suffix == "jsonl") {
            files.push(file);
        }
    }
    files.sort();
    let mut records = Vec::new();
    for file in files {
        records.extend(read(&file)?);
    }
    Ok(records)
}

/// The records in `text`, which came from `path`.
pub fn parse(text: &str, path: &str) -> Result<Vec<Value>, RecordError> {
    let mut records = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let refused =
            |reason: String| RecordError::Line { path: path.to_owned(), line: index + 1, reason };
        let record: Value = serde_json::from_str(line).map_err(|error| {
            refused(format!("not JSON (column {}): expected one object per line", error.column()))
        })?;
        if record["format"] != FORMAT {
            return Err(refused(format!("not a record of {FORMAT}")));
        }
        if record["version"] != VERSION {
            let version = &record["version"];
            return Err(refused(format!("version {version}, expected {VERSION}")));
        }
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_refused_with_file_and_line() {
        let good = json!({ "format": FORMAT, "version": VERSION });
        let two = format!("{good}\n\n{good}\n");
        assert_eq!(parse(&two, "f.jsonl").unwrap().len(), 2);
        let cases = [
            ("{\"format\":", "f, line 3: not JSON (column 10): expected one object per line"),
            ("{}", "f, line 3: not a record of nanotape-lab"),
            (r#"{"format":"nanotape-lab","version":2}"#, "f, line 3: version 2, expected 1"),
        ];
        for (line, message) in cases {
            let error = parse(&format!("{good}\n\n{line}\n"), "f").unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn the_fraction_of_a_second_is_left_out() {
        assert_eq!(seconds_only("2026-11-21T10:00:00.123456789Z"), "2026-11-21T10:00:00Z");
    }
}
