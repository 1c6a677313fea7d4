//! The use of a processor's slots: the first level of the top-down method.
//!
//! Intel's processors since Ice Lake count slots and divide them into four kinds. The kernel
//! describes these in files in the folder of the processor's counters. Their numbers differ between
//! models, so they are read at run time. The kernel requires `slots` to lead the group.

use std::path::{Path, PathBuf};

use perf_event::{Builder, events::Dynamic};

use super::{CountersUnavailable, Event, bundle::Bundle};

/// The leader first; the names are those of the kernel's files.
pub(super) const EVENTS: [(Event, &str); 5] = [
    (Event::Slots, "slots"),
    (Event::Retiring, "topdown-retiring"),
    (Event::BadSpeculation, "topdown-bad-spec"),
    (Event::FrontEndBound, "topdown-fe-bound"),
    (Event::BackEndBound, "topdown-be-bound"),
];

/// Processors with two kinds of cores have the files of the bigger kind in the second folder.
const FOLDERS: [&str; 2] =
    ["/sys/bus/event_source/devices/cpu", "/sys/bus/event_source/devices/cpu_core"];

/// All five events or none: a share needs every part.
pub(super) fn open() -> Result<Bundle, CountersUnavailable> {
    let folder = FOLDERS.iter().map(PathBuf::from).find(|folder| has_events(folder));
    open_from(&folder.ok_or(CountersUnavailable::NoTopdown)?)
}

fn open_from(folder: &Path) -> Result<Bundle, CountersUnavailable> {
    let [(leader, name), members @ ..] = EVENTS;
    let mut bundle = Bundle::led_by(Builder::new(event(folder, name)?), Some(leader))?;
    for (member, name) in members {
        bundle.add_by(member, &Builder::new(event(folder, name)?))?;
    }
    Ok(bundle)
}

fn has_events(folder: &Path) -> bool {
    EVENTS.iter().all(|(_, name)| folder.join("events").join(name).exists())
}

/// The event of the kernel's file; fields that it does not name are zero.
fn event(folder: &Path, name: &str) -> Result<Dynamic, CountersUnavailable> {
    let mut builder = Dynamic::builder(folder).map_err(|_| CountersUnavailable::NoTopdown)?;
    builder.event(name).map_err(|_| CountersUnavailable::NoTopdown)?;
    let unset: Vec<String> = builder.params().map(str::to_owned).collect();
    for field in unset {
        builder.field(&field, 0).map_err(|_| CountersUnavailable::NoTopdown)?;
    }
    builder.build().map_err(|_| CountersUnavailable::NoTopdown)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::perf_program::private_directory::PrivateDirectory;

    /// A part of the files of a Sapphire Rapids processor.
    const FILES: [(&str, &str); 11] = [
        ("type", "4\n"),
        ("format/event", "config:0-7\n"),
        ("format/umask", "config:8-15\n"),
        ("format/edge", "config:18\n"),
        ("format/cmask", "config:24-31\n"),
        ("format/offcore_rsp", "config1:0-63\n"),
        ("events/slots", "event=0x00,umask=0x4\n"),
        ("events/topdown-retiring", "event=0x00,umask=0x80\n"),
        ("events/topdown-bad-spec", "event=0x00,umask=0x81\n"),
        ("events/topdown-fe-bound", "event=0x00,umask=0x82\n"),
        ("events/topdown-be-bound", "event=0x00,umask=0x83\n"),
    ];

    fn folder(files: &[(&str, &str)]) -> PrivateDirectory {
        let directory = PrivateDirectory::create().expect("a directory");
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        directory
    }

    #[test]
    fn events_are_read_from_the_files_of_the_kernel() {
        let directory = folder(&FILES);
        assert!(has_events(directory.path()));
        let configs = EVENTS.map(|(_, name)| {
            let event = event(directory.path(), name).expect("described");
            let builder = Builder::new(event);
            (builder.attrs().type_, builder.attrs().config)
        });
        assert_eq!(configs, [(4, 0x0400), (4, 0x8000), (4, 0x8100), (4, 0x8200), (4, 0x8300)]);
    }

    #[test]
    fn a_processor_without_slots_has_none() {
        let directory = folder(&FILES[..6]);
        assert!(!has_events(directory.path()));
        assert_eq!(
            event(directory.path(), "slots").map(|_| ()),
            Err(CountersUnavailable::NoTopdown)
        );
    }

    #[test]
    fn rubbish_in_the_files_is_no_event() {
        for (place, rubbish) in [(0, "four"), (1, "config"), (1, "nowhere:0-7"), (6, "event=zz")] {
            let mut files = FILES;
            files[place].1 = rubbish;
            let directory = folder(&files);
            let reason = event(directory.path(), "slots").map(|_| ());
            assert_eq!(reason, Err(CountersUnavailable::NoTopdown), "{rubbish}");
        }
    }
}
