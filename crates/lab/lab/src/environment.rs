//! The machine and settings of a measurement, and whether the machine was quiet enough.
//!
//! Where: the harness captures an [`Environment`] before a run, keeps a [`NoiseWatch`] during it,
//! and writes both into the record with [`to_json`]. `docs/formats/lab-record.md` lists the fields.
//! Bounds: reads small files under `/proc` and `/sys` and the executable, and runs `git` twice.
//! Failure: none. Values that cannot be read are `None`, which is `null` in the record; nothing is
//! guessed.

mod binary;
mod build;
mod noise;
mod processor_time;
mod source;

use std::path::Path;

use nanotape_host::{CLOCK_SOURCES, System, hypervisor};
use serde_json::{Value, json};

pub use self::{
    build::BuildInfo,
    noise::{FOREIGN_LIMIT, Noise, NoiseWatch, PRESSURE_LIMIT, STOLEN_LIMIT},
};
use crate::placement::Placement;

/// The machine, the program and its source, as known before a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Environment {
    /// The machine's host name.
    pub host: Option<String>,
    /// The operating system and its release.
    pub kernel: Option<String>,
    /// The processor's model.
    pub cpu: Option<String>,
    /// The hypervisor of the machine; `none` if the processor reports none.
    pub hypervisor: Option<String>,
    /// Processors that are online.
    pub cpus: Option<u32>,
    /// The only processor that the measuring thread can run on.
    pub cpu_pinned: Option<u32>,
    /// The frequency governor of that processor, in the kernel's word.
    pub governor: Option<String>,
    /// `on` or `off`: frequencies above the nominal one.
    pub turbo: Option<String>,
    /// Whether hardware threads share cores, in the kernel's word.
    pub smt: Option<String>,
    /// The setting of transparent huge pages, and the number of reserved pages.
    pub huge_pages: Option<String>,
    /// The source of the kernel's clock.
    pub clocksource: Option<String>,
    /// Whether addresses differ from run to run.
    pub aslr: Option<String>,
    /// The requested and the actual scheduling.
    pub scheduling: String,
    /// The requested and the actual locking of memory.
    pub memory_locked: String,
    /// The load average over one minute, before the run.
    pub load_average: Option<f64>,
    /// The commit of the source tree.
    pub revision: Option<String>,
    /// Whether a tracked file differs from that commit.
    pub dirty: Option<bool>,
    /// The build settings of the benchmark.
    pub build: BuildInfo,
    /// A hash of the executable's bytes: distinguishes builds, and is not cryptographic.
    pub binary: Option<String>,
}

impl Environment {
    /// Reads everything. `source` is a directory of the source tree, usually `.`, the directory in
    /// which the benchmark was started.
    pub fn capture(placement: &Placement, build: BuildInfo, source: &Path) -> Self {
        let name = rustix::system::uname();
        let cpu_pinned = placement.cpu();
        let system = System::default();
        let word = |path: &str| known(&system.read(path)?);
        let tree = source::Tree::of(source);
        Self {
            host: name.nodename().to_str().ok().and_then(known),
            kernel: kernel(name.sysname().to_str().ok(), name.release().to_str().ok()),
            cpu: system.processor_model(),
            hypervisor: hypervisor(),
            cpus: system.online_if_known().map(|online| online.count()),
            cpu_pinned,
            governor: cpu_pinned
                .and_then(|cpu| word(&System::frequency_path(cpu, "scaling_governor"))),
            turbo: system.turbo().map(|turbo| if turbo.is_on { "on" } else { "off" }.to_owned()),
            smt: word("/sys/devices/system/cpu/smt/control"),
            huge_pages: system.huge_pages(),
            clocksource: word(&format!("{CLOCK_SOURCES}/current_clocksource")),
            aslr: system.address_layout(),
            scheduling: placement.scheduling().to_owned(),
            memory_locked: placement.memory_locked().to_owned(),
            load_average: system.read("/proc/loadavg").as_deref().and_then(load_average),
            revision: tree.revision,
            dirty: tree.dirty,
            build,
            binary: binary::hash_of_file(Path::new("/proc/self/exe")),
        }
    }
}

/// The record's `environment` object, complete: every documented field, `null` if not known. The
/// record's `noise` list is [`Noise::sentences`].
pub fn to_json(environment: &Environment, noise: &Noise) -> Value {
    let e = environment;
    json!({
        "host": e.host,
        "kernel": e.kernel,
        "cpu": e.cpu,
        "hypervisor": e.hypervisor,
        "cpus": e.cpus,
        "cpu_pinned": e.cpu_pinned,
        "governor": e.governor,
        "turbo": e.turbo,
        "smt": e.smt,
        "huge_pages": e.huge_pages,
        "clocksource": e.clocksource,
        "aslr": e.aslr,
        "scheduling": e.scheduling,
        "memory_locked": e.memory_locked,
        "load_average": e.load_average,
        "stolen": noise.stolen,
        "foreign": noise.foreign,
        "involuntary_switches": noise.involuntary_switches,
        "revision": e.revision,
        "dirty": e.dirty,
        "compiler": e.build.compiler,
        "flags": e.build.flags,
        "profile": e.build.profile,
        "binary": e.binary,
    })
}

fn kernel(system: Option<&str>, release: Option<&str>) -> Option<String> {
    Some(format!("{} {}", known(system?)?, known(release?)?))
}

/// The load over one minute, from the text of `/proc/loadavg`.
fn load_average(text: &str) -> Option<f64> {
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

/// A word or line without surrounding space; `None` if it is empty or `(none)`.
fn known(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text != "(none)").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of the table under `## environment` in the format document.
    fn documented() -> Vec<String> {
        let text = include_str!("../../../../docs/formats/lab-record.md");
        let table = text.split("## `environment`").nth(1).expect("the section is there");
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut names: Vec<String> = rows
            .flat_map(|row| row.split('|').next().unwrap_or("").split(','))
            .map(|name| name.replace('`', "").trim().to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_object_has_exactly_the_documented_fields() {
        let object = to_json(&Environment::default(), &Noise::default());
        let mut names: Vec<String> =
            object.as_object().expect("an object").keys().cloned().collect();
        names.sort();
        assert_eq!(names, documented());
    }

    #[test]
    fn what_is_not_known_is_null_and_never_absent() {
        let object = to_json(&Environment::default(), &Noise::default());
        assert!(object["governor"].is_null());
        assert!(object["stolen"].is_null());
        assert!(object["dirty"].is_null());
        assert_eq!(object["scheduling"], "");
    }

    #[test]
    fn load_is_the_first_number() {
        assert_eq!(load_average("0.52 0.58 0.59 1/467 12345\n"), Some(0.52));
        for rubbish in ["", "x", "-1", "nan", "inf 0"] {
            assert_eq!(load_average(rubbish), None, "{rubbish:?}");
        }
    }

    #[test]
    fn empty_words_are_not_known() {
        assert_eq!(known(" tsc\n"), Some("tsc".to_owned()));
        assert_eq!(known(" \n"), None);
        assert_eq!(known("(none)"), None);
        assert_eq!(kernel(Some("Linux"), Some("6.1")), Some("Linux 6.1".to_owned()));
        assert_eq!(kernel(Some("Linux"), None), None);
    }
}
