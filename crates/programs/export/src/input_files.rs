//! The files of an input: a dataset states when they were changed last, and what they have, so that
//! a day is known that exists of other bytes.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::File,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

use nanotape_answers::Given;
use ring::digest::{self, SHA256};

/// Bytes that are read at once for a digest.
const BLOCK_BYTES: usize = 1 << 20;

/// What an input consists of.
#[derive(Debug)]
pub(crate) struct InputFiles<'g> {
    pub(crate) name: &'g Given,
    /// The file and the pieces of its capture, or the segments of a journal; of a stream none.
    files: Vec<PathBuf>,
    /// The folder of a journal, whose files can be removed.
    folder: Option<&'g Path>,
}

impl<'g> InputFiles<'g> {
    /// The files of an input, as they are now.
    pub(crate) fn of(name: &'g Given, pieces: &[PathBuf]) -> Self {
        let path = name.path();
        if name.is_standard() {
            return Self { name, files: Vec::new(), folder: None };
        }
        if path.is_dir() {
            return Self { name, files: journal_files(path), folder: Some(path) };
        }
        let files = [path.to_owned()].into_iter().chain(pieces.iter().cloned());
        Self { name, files: files.filter(|file| file.is_file()).collect(), folder: None }
    }

    /// When one of them was changed last. Tools that copy keep the time of modification, but not
    /// this one.
    pub(crate) fn ctime_ns(&self) -> Option<i128> {
        let times = self.files.iter().map(PathBuf::as_path).chain(self.folder).map(ctime_ns_of);
        times.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Begins with their digest.
    pub(crate) fn digest(&self) -> Digest {
        let files = self.files.clone();
        Digest((!files.is_empty()).then(|| thread::spawn(move || sha256_of_all(&files))))
    }
}

/// What has the records of a journal.
fn journal_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_of_records = |path: &PathBuf| {
        path.extension().is_some_and(|suffix| suffix == "segment")
            || path.file_name() == Some(OsStr::new("runs"))
    };
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_of_records).collect();
    files.sort_unstable();
    files
}

fn ctime_ns_of(path: &Path) -> Option<i128> {
    let metadata = path.metadata().ok()?;
    Some(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
}

/// The SHA-256 digest of an input, which a thread computes while the input is read.
#[derive(Debug)]
pub(crate) struct Digest(Option<JoinHandle<io::Result<String>>>);

impl Digest {
    /// The digest in hexadecimal, if there is one. A file that the reading could read and this
    /// thread could not has none.
    pub(crate) fn finish(self) -> Option<String> {
        self.0?.join().ok()?.ok()
    }
}

/// The digest of a file; of several, that of the lines which `sha256sum` prints for them in their
/// folders.
fn sha256_of_all(files: &[PathBuf]) -> io::Result<String> {
    if let [file] = files {
        return sha256(File::open(file)?);
    }
    let mut lines = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // Text takes any line.
        let _ = writeln!(lines, "{}  {name}", sha256(File::open(file)?)?);
    }
    sha256(lines.as_bytes())
}

fn sha256(mut bytes: impl io::Read) -> io::Result<String> {
    let (mut context, mut block) = (digest::Context::new(&SHA256), vec![0; BLOCK_BYTES]);
    loop {
        match bytes.read(&mut block)? {
            0 => break,
            length => context.update(&block[..length]),
        }
    }
    Ok(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}
