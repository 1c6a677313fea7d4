//! Files of one process, under names that no other process uses.

use std::{fs, path::PathBuf};

/// The common prefix of all file names of this process. The harness removes files that are left.
pub fn prefix() -> String {
    format!("rivals-{}-", std::process::id())
}

/// Removes the files and folders of this process from these folders on drop.
pub struct Scratch(pub Vec<PathBuf>);

impl Drop for Scratch {
    fn drop(&mut self) {
        for file in self.0.iter().flat_map(fs::read_dir).flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&prefix()) {
                // There is no caller to report an error to.
                let _ = fs::remove_file(file.path()).or_else(|_| fs::remove_dir_all(file.path()));
            }
        }
    }
}
