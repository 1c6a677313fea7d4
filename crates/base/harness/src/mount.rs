//! A small file system that a test fills.

use std::{path::Path, process::Command};

use crate::{Bounded as _, Scratch, skipped};

/// A mounted file system. Dropping the value unmounts it.
#[derive(Debug)]
pub struct Mount(Scratch);

impl Mount {
    /// Mounts a file system of this kind, with these options of `mount`. If this process cannot
    /// mount it, reports the test as skipped and returns `None`.
    pub fn new(kind: &str, options: &str) -> Option<Self> {
        let scratch = Scratch::folder(kind);
        let mut mount = Command::new("mount");
        mount.args(["-t", kind, "-o", options, "none"]).arg(scratch.path());
        match mount.bounded_output() {
            Ok(output) if output.status.success() => Some(Self(scratch)),
            outcome => {
                skipped(format!("{kind} with {options} cannot be mounted here: {outcome:?}"));
                None
            }
        }
    }

    /// The path of the mount point.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Detached now, and freed when the last process of a test has closed its files.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).bounded_status();
    }
}
