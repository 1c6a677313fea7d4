//! A mend that can be applied and restored: values of files, or a device that is held open.
//!
//! The command that a finding prints is the mend that is tried: nothing else is written.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use serde_json::{Value, json};

use super::{Finding, System, settings::chosen};

/// The device that keeps processors from sleeping while it is open.
const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// A mend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mend {
    /// Values of files.
    Files(Vec<Change>),
    /// The device of the longest latency, held open with 0.
    LatencyDevice,
}

/// A value of a file, before and with the mend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The file.
    pub path: String,
    /// The value before.
    pub before: String,
    /// The value of the mend.
    pub mended: String,
}

/// A mend that is applied. Dropping it closes the device; files are restored by
/// [`restore`].
#[derive(Debug)]
pub(super) struct Applied {
    _device: Option<File>,
}

impl Mend {
    /// The mend of a finding; an error is the reason why it cannot be tried.
    pub fn of(finding: &Finding, system: &System) -> Result<Self, String> {
        if finding.name == "idle-states" {
            return Ok(Self::LatencyDevice);
        }
        let Some(fix) = &finding.fix else {
            return Err(format!("{} is {} already", finding.name, finding.verdict.name()));
        };
        let changes: Option<Vec<Change>> =
            fix.split("; ").map(|command| change_in(command, system)).collect();
        match changes {
            Some(changes) if !changes.is_empty() => Ok(Self::Files(changes)),
            _ => Err(format!(
                "{} cannot be tried: its mend is not a value of a file ({fix})",
                finding.name
            )),
        }
    }

    /// Applies it.
    pub(super) fn apply(&self) -> Result<Applied, String> {
        match self {
            Self::LatencyDevice => {
                let hold = || -> io::Result<File> {
                    let mut device = File::options().write(true).open(LATENCY_DEVICE)?;
                    device.write_all(&0_i32.to_ne_bytes())?;
                    Ok(device)
                };
                let device =
                    hold().map_err(|error| format!("cannot hold {LATENCY_DEVICE}: {error}"))?;
                Ok(Applied { _device: Some(device) })
            }
            Self::Files(changes) => {
                for change in changes {
                    write(&change.path, &change.mended)?;
                }
                Ok(Applied { _device: None })
            }
        }
    }

    /// The files, for the one who restores them.
    pub(super) fn changes(&self) -> &[Change] {
        match self {
            Self::Files(changes) => changes,
            Self::LatencyDevice => &[],
        }
    }
}

impl Change {
    pub(super) fn to_json(&self) -> Value {
        json!({ "path": self.path, "before": self.before, "mended": self.mended })
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let path = text("path").filter(|path| is_setting(path))?;
        Some(Self { path, before: text("before")?, mended: text("mended")? })
    }
}

/// Writes the values of before. A value that another program has changed meanwhile stays, and
/// is reported; so is one that cannot be written.
pub(super) fn restore(changes: &[Change]) -> Vec<String> {
    changes.iter().filter_map(|change| restore_one(change).err()).collect()
}

fn restore_one(Change { path, before, mended }: &Change) -> Result<(), String> {
    let now = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    match chosen(now.trim()) {
        now if now == before => Ok(()),
        now if is_same(now, mended) => write(path, before),
        now => Err(format!("{path} has {now}, which another program wrote: it was not restored")),
    }
}

/// Masks are read back with more zeros than were written.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace(',', "").trim_start_matches('0').to_owned();
    one == other || plain(one) == plain(other)
}

fn write(path: &str, value: &str) -> Result<(), String> {
    let file = File::options().write(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{value}\n").as_bytes()));
    written.map_err(|error| format!("cannot write {value} to {path}: {error}"))
}

/// The change of a command `echo VALUE > PATH`.
fn change_in(command: &str, system: &System) -> Option<Change> {
    let (value, path) = command.strip_prefix("echo ")?.split_once(" > ")?;
    let mended = value.trim_matches('\'').to_owned();
    let is_plain = |text: &str| !text.contains(['$', '*', ';', '|', '`', ' ']);
    if !is_setting(path) || !is_plain(path) {
        return None;
    }
    let now = system.read(path)?;
    Some(Change { path: path.to_owned(), before: chosen(&now).to_owned(), mended })
}

/// Only settings of the kernel are ever written.
fn is_setting(path: &str) -> bool {
    let below = ["/proc/sys/", "/proc/irq/", "/sys/"];
    below.iter().any(|folder| path.starts_with(folder))
        && !Path::new(path).components().any(|part| matches!(part, std::path::Component::ParentDir))
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;
    use crate::doctor::{Check, Verdict, When};

    fn finding(fix: Option<&str>) -> Finding {
        let check = Check { name: "x", title: "", good: "", why: "", when: When::Now };
        Finding { fix: fix.map(str::to_owned), ..check.found(Verdict::Warn, "") }
    }

    #[test]
    fn the_command_that_is_printed_is_the_mend() {
        let scratch = Scratch::folder("mend");
        let folder = scratch.path().join("proc/sys/vm");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat_interval"), "1\n").unwrap();
        fs::write(folder.join("enabled"), "always [madvise] never\n").unwrap();
        let system = System::at(scratch.path());
        let mend = Mend::of(
            &finding(Some(
                "echo 120 > /proc/sys/vm/stat_interval; echo never > /proc/sys/vm/enabled",
            )),
            &system,
        );
        let change = |path: &str, before: &str, mended: &str| Change {
            path: path.to_owned(),
            before: before.to_owned(),
            mended: mended.to_owned(),
        };
        let expected = vec![
            change("/proc/sys/vm/stat_interval", "1", "120"),
            change("/proc/sys/vm/enabled", "madvise", "never"),
        ];
        assert_eq!(mend, Ok(Mend::Files(expected.clone())));
        let back: Vec<Option<Change>> =
            expected.iter().map(|change| Change::from_json(&change.to_json())).collect();
        assert_eq!(back, expected.into_iter().map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_value_of_a_setting_is_refused() {
        let system = System::default();
        for fix in [
            "a machine of its own",
            "echo 1 > /etc/passwd",
            "echo 1 > /proc/sys/../../etc/passwd",
            "for f in /proc/irq/*/smp_affinity_list; do echo 0 > $f; done",
            "echo 1 > /sys/a*",
            "echo 1 > /sys/does/not/exist",
        ] {
            assert!(Mend::of(&finding(Some(fix)), &system).is_err(), "{fix}");
        }
        assert!(Mend::of(&finding(None), &system).unwrap_err().contains("already"));
        let odd = json!({ "path": "/etc/passwd", "before": "a", "mended": "b" });
        assert_eq!(Change::from_json(&odd), None);
    }

    #[test]
    fn masks_are_the_same_with_more_zeros() {
        assert!(is_same("00000003", "3") && is_same("00000000,0000000f", "f"));
        assert!(!is_same("3", "30") && is_same("never", "never"));
    }
}
