//! Accepted instruction counts, and their differences from the current ones.
//!
//! Instructions are not time. But they are the same on a busy and on a quiet machine, so a shared
//! runner can check them. A change that moves them is reviewed, and accepted explicitly.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde_json::{Value, json};

/// A file of accepted counts.
#[derive(Clone, PartialEq, Debug)]
pub struct Baseline {
    /// The compiler of the counted programs: another compiler produces other instructions.
    pub compiler: String,
    /// Instructions of one operation, by benchmark.
    pub instructions: BTreeMap<String, f64>,
}

/// One benchmark against its accepted count.
#[derive(Clone, PartialEq, Debug)]
pub struct Deviation {
    /// The benchmark.
    pub name: String,
    /// Its accepted count; `None` if the benchmark is new.
    pub accepted: Option<f64>,
    /// Its current count; `None` if the benchmark no longer exists.
    pub present: Option<f64>,
}

/// The reason why there is no baseline.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file cannot be read or written.
    #[error("cannot {what} {path}")]
    File {
        /// The operation.
        what: &'static str,
        /// The path.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a baseline.
    #[error("{path}: {reason}")]
    Content {
        /// The path.
        path: String,
        /// The error in its contents.
        reason: String,
    },
}

const FORMAT: &str = "nanotape-lab-instructions";
const VERSION: u64 = 1;

impl Baseline {
    /// Reads an accepted baseline.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| BaselineError::File {
            what: "read",
            path: name.clone(),
            source,
        })?;
        Self::parse(&text).map_err(|reason| BaselineError::Content { path: name, reason })
    }

    /// Replaces the file with this baseline.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let rounded = |(name, &count): (&String, &f64)| (name.clone(), json!(round(count)));
        let counts: serde_json::Map<String, Value> =
            self.instructions.iter().map(rounded).collect();
        let file = json!({
            "format": FORMAT,
            "version": VERSION,
            "compiler": self.compiler,
            "instructions": counts,
        });
        let text = format!("{file:#}\n");
        fs::write(path, text).map_err(|source| BaselineError::File {
            what: "write",
            path: path.display().to_string(),
            source,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| {
            format!("not JSON (line {}, column {})", error.line(), error.column())
        })?;
        if file["format"] != FORMAT || file["version"] != VERSION {
            return Err(format!("not a {FORMAT} file of version {VERSION}"));
        }
        let compiler =
            file["compiler"].as_str().ok_or("the text \"compiler\" is missing")?.to_owned();
        let counts =
            file["instructions"].as_object().ok_or("the object \"instructions\" is missing")?;
        let mut instructions = BTreeMap::new();
        for (name, count) in counts {
            let count = count.as_f64().filter(|&count| count > 0.0);
            let count = count.ok_or_else(|| format!("{name}: expected a positive number"))?;
            instructions.insert(name.clone(), count);
        }
        Ok(Self { compiler, instructions })
    }

    /// Every benchmark of either baseline, sorted by name.
    pub fn against(&self, present: &Self) -> Vec<Deviation> {
        let mut names: Vec<&String> =
            self.instructions.keys().chain(present.instructions.keys()).collect();
        names.sort();
        names.dedup();
        let deviation = |name: &String| Deviation {
            name: name.clone(),
            accepted: self.instructions.get(name).copied(),
            present: present.instructions.get(name).copied(),
        };
        names.into_iter().map(deviation).collect()
    }
}

impl Deviation {
    /// present / accepted; `None` if either is missing.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.present? / self.accepted?)
    }

    /// Whether it differs by more than `tolerance` (0.01 is 1%), in either direction: an
    /// improvement must also be written to the file, so that it is kept.
    pub fn exceeds(&self, tolerance: f64) -> bool {
        self.ratio().is_none_or(|ratio| (ratio - 1.0).abs() > tolerance)
    }
}

/// Two decimal places are enough for a count of one operation, and keep the file readable.
fn round(count: f64) -> f64 {
    (count * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    fn baseline(counts: &[(&str, f64)]) -> Baseline {
        let instructions = counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        Baseline { compiler: "rustc 1.95.0".to_owned(), instructions }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let scratch = Scratch::new("baseline.json");
        let path = scratch.path();
        let written = baseline(&[("book/hot", 123.46), ("decode/hot", 31.0)]);
        written.write(path).unwrap();
        assert_eq!(Baseline::read(path).unwrap(), written);
        fs::write(path, "{}").unwrap();
        let error = Baseline::read(path).unwrap_err().to_string();
        assert!(error.ends_with("not a nanotape-lab-instructions file of version 1"), "{error}");
        scratch.clear();
        assert!(Baseline::read(path).unwrap_err().to_string().starts_with("cannot read "));
    }

    #[test]
    fn more_fewer_new_and_gone_are_all_deviations() {
        let accepted =
            baseline(&[("fewer", 100.0), ("gone", 1.0), ("more", 100.0), ("same", 100.0)]);
        let present = baseline(&[("fewer", 98.0), ("more", 101.5), ("new", 1.0), ("same", 100.9)]);
        let deviations = accepted.against(&present);
        let exceeding: Vec<&str> = deviations
            .iter()
            .filter(|deviation| deviation.exceeds(0.01))
            .map(|deviation| deviation.name.as_str())
            .collect();
        assert_eq!(exceeding, ["fewer", "gone", "more", "new"]);
    }
}
