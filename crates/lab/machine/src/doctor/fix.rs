//! A fix that can be applied and restored: values of files.
//!
//! The command that a finding prints is the fix that is tried: nothing else is written.
//! Failure: the kernel refuses some values, such as the processors of an interrupt that it manages
//! itself. The fix is tried without them, and they are reported. It fails if all are refused.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
};

use serde_json::{Value, json};

use super::{Finding, System, settings::chosen};

/// A fix: values of files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix(Vec<Change>);

/// A value of a file, before and with the fix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The file.
    pub path: String,
    /// The value before.
    pub before: String,
    /// The value of the fix.
    pub fixed: String,
    /// The value while a trial measures without the fix, if it is not the one before. The kernel
    /// leaves an interrupt where it is if its list permits that, so the list before would not move
    /// it back: this one has only the processors that it used.
    pub without: Option<String>,
}

impl Fix {
    /// The fix of a finding; an error is the reason why it cannot be tried.
    pub fn of(finding: &Finding, system: &System) -> Result<Self, String> {
        let Some(fix) = &finding.fix else {
            return Err(format!("{} is {} already", finding.name, finding.verdict.name()));
        };
        let changes: Option<Vec<Change>> =
            fix.split("; ").map(|command| change_in(command, system)).collect();
        match changes {
            Some(changes) if !changes.is_empty() => Ok(Self(changes)),
            _ => Err(format!(
                "{} cannot be tried: its fix is not a value of a file ({fix})",
                finding.name
            )),
        }
    }

    /// Writes the values, and returns what the kernel refuses, a sentence each. A file that is
    /// refused keeps its value of before, so that there is nothing to restore in it.
    pub(super) fn apply(&self) -> Result<Vec<String>, String> {
        let mut refused: Vec<String> = Vec::new();
        for change in &self.0 {
            refused.extend(write(&change.path, &change.fixed).err());
        }
        match refused.len() == self.0.len() {
            true => Err(refused.join("; ")),
            false => Ok(refused),
        }
    }

    /// Takes the fix back within a trial; an error if another program wrote one of the files.
    pub(super) fn withdraw(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|change| {
            change.take_back(change.without.as_ref().unwrap_or(&change.before))
        })
    }

    /// The files with their values.
    pub fn changes(&self) -> &[Change] {
        &self.0
    }
}

impl Change {
    pub(super) fn new(path: String, before: String, fixed: impl Into<String>) -> Self {
        Self { path, before, fixed: fixed.into(), without: None }
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { path, before, fixed, without } = self;
        json!({ "path": path, "before": before, "mended": fixed, "without": without })
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let path = text("path").filter(|path| is_setting(path))?;
        let (before, fixed) = (text("before")?, text("mended")?);
        Some(Self { path, before, fixed, without: text("without") })
    }

    /// Replaces the values of the trial with `value`. A value that another program wrote stays.
    fn take_back(&self, value: &str) -> Result<(), String> {
        let Self { path, before, fixed, without } = self;
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("cannot read {path}: {error}"))?;
        let now = chosen(text.trim());
        if now == value || now == before {
            Ok(())
        } else if is_same(now, fixed) || without.as_deref() == Some(now) {
            write(path, value)
        } else {
            Err(format!("{path} has {now}, which another program wrote: it was not restored"))
        }
    }
}

/// Writes the values of before. A value that another program has changed meanwhile stays, and
/// is reported; so is one that cannot be written.
pub(super) fn restore(changes: &[Change]) -> Vec<String> {
    changes.iter().filter_map(|change| change.take_back(&change.before).err()).collect()
}

/// Masks are read back with more zeros than were written. Only the first group of a mask is
/// shorter than eight digits, which no list of processors such as `0,2` resembles.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let is_mask = text.split(',').skip(1).all(|group| group.len() == 8);
        is_mask.then(|| text.replace(',', "").trim_start_matches('0').to_owned())
    };
    one == other || plain(one).is_some_and(|plain_one| plain(other) == Some(plain_one))
}

fn write(path: &str, value: &str) -> Result<(), String> {
    let file = File::options().write(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{value}\n").as_bytes()));
    written.map_err(|error| format!("cannot write {value} to {path}: {error}"))
}

/// The change of a command `echo VALUE > PATH`.
fn change_in(command: &str, system: &System) -> Option<Change> {
    let (value, path) = command.strip_prefix("echo ")?.split_once(" > ")?;
    let fixed = value.trim_matches('\'').to_owned();
    let is_plain = |text: &str| !text.contains(['$', '*', ';', '|', '`', ' ']);
    if !is_setting(path) || !is_plain(path) {
        return None;
    }
    let now = system.read(path)?;
    let without = path
        .strip_suffix("/smp_affinity_list")
        .and_then(|folder| system.read(&format!("{folder}/effective_affinity_list")))
        .filter(|used| !used.is_empty());
    Some(Change { without, ..Change::new(path.to_owned(), chosen(&now).to_owned(), fixed) })
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
    fn the_command_that_is_printed_is_the_fix() {
        let scratch = Scratch::folder("fix");
        let folder = scratch.path().join("proc/sys/vm");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat_interval"), "1\n").unwrap();
        fs::write(folder.join("enabled"), "always [madvise] never\n").unwrap();
        let system = System::at(scratch.path());
        let fix = Fix::of(
            &finding(Some(
                "echo 120 > /proc/sys/vm/stat_interval; echo never > /proc/sys/vm/enabled",
            )),
            &system,
        );
        let change = |path: &str, before: &str, fixed: &str| {
            Change::new(path.to_owned(), before.to_owned(), fixed)
        };
        let expected = vec![
            change("/proc/sys/vm/stat_interval", "1", "120"),
            change("/proc/sys/vm/enabled", "madvise", "never"),
        ];
        assert_eq!(fix, Ok(Fix(expected.clone())));
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
            assert!(Fix::of(&finding(Some(fix)), &system).is_err(), "{fix}");
        }
        assert!(Fix::of(&finding(None), &system).unwrap_err().contains("already"));
        let odd = json!({ "path": "/etc/passwd", "before": "a", "mended": "b" });
        assert_eq!(Change::from_json(&odd), None);
    }

    #[test]
    fn masks_are_the_same_with_more_zeros() {
        assert!(is_same("00000003", "3") && is_same("00000000,0000000f", "f"));
        assert!(!is_same("3", "30") && is_same("never", "never"));
        assert!(!is_same("0,2", "2") && is_same("0,2", "0,2"));
    }

    #[test]
    fn an_interrupt_goes_back_to_the_processor_that_it_used() {
        let scratch = Scratch::folder("fix-interrupt");
        let folder = scratch.path().join("proc/irq/25");
        fs::create_dir_all(&folder).unwrap();
        let list = folder.join("smp_affinity_list");
        fs::write(&list, "0-3\n").unwrap();
        fs::write(folder.join("effective_affinity_list"), "2-3\n").unwrap();
        let fix = finding(Some("echo 0-1 > /proc/irq/25/smp_affinity_list"));
        let mut fix = Fix::of(&fix, &System::at(scratch.path())).unwrap();
        assert_eq!(fix.0[0].without.as_deref(), Some("2-3"));
        assert_eq!(Change::from_json(&fix.0[0].to_json()).as_ref(), Some(&fix.0[0]));
        fix.0[0].path = list.display().to_string();
        let read = || fs::read_to_string(&list).unwrap();
        // Before the first change there is nothing to take back.
        fix.withdraw().unwrap();
        assert_eq!(read(), "0-3\n");
        assert_eq!(fix.apply(), Ok(Vec::new()));
        assert_eq!(read(), "0-1\n");
        fix.withdraw().unwrap();
        assert_eq!(read(), "2-3\n");
        assert_eq!(restore(fix.changes()), [""; 0]);
        assert_eq!(read(), "0-3\n");
        fs::write(&list, "0\n").unwrap();
        assert!(fix.withdraw().unwrap_err().contains("another program"));
        assert!(restore(fix.changes())[0].contains("another program"));
        assert_eq!(read(), "0\n");
    }

    #[test]
    fn what_the_kernel_refuses_is_reported_and_the_rest_is_restored() {
        let scratch = Scratch::folder("fix-refused");
        let change = |name: &str| {
            let path = scratch.path().join(name).display().to_string();
            Change::new(path, "1".to_owned(), "2")
        };
        let read = |change: &Change| fs::read_to_string(&change.path).unwrap();
        let (accepted, refused) = (change("accepted"), change("refused"));
        fs::write(&accepted.path, "1\n").unwrap();
        // A folder refuses to be written, for root too.
        fs::create_dir(&refused.path).unwrap();
        let refusals = Fix(vec![refused.clone(), accepted.clone()]).apply().unwrap();
        assert!(refusals.len() == 1 && refusals[0].contains(&refused.path), "{refusals:?}");
        assert_eq!(read(&accepted), "2\n");
        assert_eq!(restore(std::slice::from_ref(&accepted)), [""; 0]);
        assert_eq!(read(&accepted), "1\n");
        let refusals = Fix(vec![refused.clone()]).apply().unwrap_err();
        assert!(refusals.contains(&refused.path), "{refusals}");
    }
}
