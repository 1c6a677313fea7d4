//! SIGINT, SIGTERM and SIGHUP: a request to end for a command that ends cleanly; any other command
//! dies of the signal, without an unfinished file. SIGUSR1: a request of a user to a command that
//! has something to do for it.
//!
//! Protocol: a thread receives the signals from the first call of [`install`], or from the first
//! [`Unfinished`] file. With a shutdown flag, the first signal sets it. Any other signal removes
//! the files and then ends the process as the signal does by itself, so that its parent sees the
//! signal. A command without files and without a flag has no such thread.
//! Failure: a signal that the process was started to ignore stays ignored: SIGHUP under `nohup`,
//! SIGINT in a script's background. A command that ends cleanly accepts SIGINT and SIGTERM in any
//! case, since scripts end it so.

use std::{
    ffi::OsStr,
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    thread,
};

use crate::screen::Away;
use anyhow::Context as _;
use nanotape_tape::ShutdownFlag;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGXFSZ},
    flag,
    iterator::{Handle, Signals},
    low_level::emulate_default_handler,
};

/// Random names to try for an unfinished file.
const MOST_NAMES: usize = 100;

/// Bytes of a file's name in that of its unfinished file.
const LONGEST_NAME: usize = 200;

/// What the thread that receives signals needs.
struct State {
    /// Adds signals to those that the thread receives; `None` without a thread.
    signals: Option<Handle>,
    /// The request to end, of a command that ends cleanly.
    shutdown: Option<ShutdownFlag>,
    /// Files that have not got their final names.
    unfinished: Vec<PathBuf>,
    /// Whether the terminal shows its second screen.
    is_on_screen: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    signals: None,
    shutdown: None,
    unfinished: Vec::new(),
    is_on_screen: false,
});

/// Returns a flag that the first SIGINT, SIGTERM or SIGHUP sets. The second one ends the process.
pub fn install() -> anyhow::Result<ShutdownFlag> {
    let mut state = state();
    let shutdown = ShutdownFlag::new();
    state.shutdown = Some(shutdown.clone());
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let signals = [SIGINT, SIGTERM].into_iter().chain(hangup);
    state.receive(signals).context("cannot install signal handlers")?;
    Ok(shutdown)
}

/// A write beyond the limit of file sizes becomes an error with its file, instead of a signal that
/// ends the process without a word.
pub fn catch_file_limit() -> anyhow::Result<()> {
    let flag = Arc::<AtomicBool>::default();
    flag::register(SIGXFSZ, flag).context("cannot install a handler for SIGXFSZ")?;
    Ok(())
}

/// Returns a flag that each SIGUSR1 from now on sets, which would end the process otherwise.
pub fn user_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::<AtomicBool>::default();
    flag::register(SIGUSR1, Arc::clone(&flag)).context("cannot install a handler for SIGUSR1")?;
    Ok(flag)
}

/// A file under a temporary name, beside its final one. It is removed if the value is dropped, or
/// if a signal ends the process, before [`Unfinished::finish`].
///
/// The name cannot be guessed and the file is always a new one, since other users can write to the
/// folder: a link or a file that has the name already is not opened.
#[derive(Debug)]
pub struct Unfinished {
    temporary: PathBuf,
    /// Device and number of the file.
    identity: (u64, u64),
}

impl Unfinished {
    /// Creates the file beside `path`. `mode`: its permissions, before the umask.
    pub fn create(path: &Path, mode: u32) -> io::Result<(Self, File)> {
        let mut state = state();
        state.receive([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&one| !is_ignored(one)))?;
        let (temporary, file) = create_new(path, mode)?;
        // Shows that its process is alive; see `leftover`. A file system may have no locks.
        let _ = file.try_lock();
        state.unfinished.push(temporary.clone());
        drop(state);
        let mut unfinished = Self { temporary, identity: (0, 0) };
        unfinished.identity = identity(&file.metadata()?);
        Ok((unfinished, file))
    }

    /// Opens the file for reading.
    pub fn reread(&self) -> io::Result<File> {
        File::open(&self.temporary)
    }

    /// Gives the file its final name. `replace`: a file that has the name is replaced. Otherwise
    /// that is an error, and the file keeps its temporary name, which the error has.
    pub fn finish(self, path: &Path, replace: bool) -> io::Result<()> {
        // No signal removes the file between its renaming and the removal from the list.
        let mut state = state();
        if identity(&fs::symlink_metadata(&self.temporary)?) != self.identity {
            return Err(io::Error::other(format!(
                "another process replaced the unfinished file {}",
                self.temporary.display()
            )));
        }
        let renamed = match replace {
            true => fs::rename(&self.temporary, path),
            false => rename_to_new(&self.temporary, path),
        };
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        if renamed.as_ref().map_or_else(is_taken, |()| true) {
            state.unfinished.retain(|path| *path != self.temporary);
        }
        renamed.map_err(|error| match is_taken(&error) {
            true => io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!(
                    "another process made a file of this name; the complete output is in {}",
                    self.temporary.display()
                ),
            ),
            false => error,
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut state = state();
        if let Some(index) = state.unfinished.iter().position(|path| *path == self.temporary) {
            state.unfinished.swap_remove(index);
            // An error is ignored: nothing else can be done about the leftover file.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A new file beside `path`: `.NAME.RANDOM.partial`.
fn create_new(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.as_bytes();
    // Leaves room for the rest, since the kernel limits names to 255 bytes.
    let name = OsStr::from_bytes(&name[..name.len().min(LONGEST_NAME)]);
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MOST_NAMES {
        let random = RandomState::new().hash_one(path);
        let mut temporary_name = OsStr::new(".").to_owned();
        temporary_name.push(name);
        temporary_name.push(format!(".{random:016x}.partial"));
        let temporary = path.with_file_name(temporary_name);
        // A new file is never one behind a link.
        match File::options().write(true).create_new(true).mode(mode).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Renames a file unless the new name exists.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without this, such as NFS, can give the file a second name.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

/// What distinguishes a file from every other that exists.
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl State {
    /// Receives these signals on the thread, which is started if there is none.
    fn receive(&mut self, signals: impl IntoIterator<Item = i32>) -> io::Result<()> {
        if let Some(handle) = &self.signals {
            return signals.into_iter().try_for_each(|signal| handle.add_signal(signal));
        }
        let mut signals = Signals::new(signals)?;
        let handle = signals.handle();
        thread::Builder::new().name("nanotape-signal".to_owned()).spawn(move || {
            for signal in signals.forever() {
                receive(signal);
            }
        })?;
        self.signals = Some(handle);
        Ok(())
    }
}

/// Whether the terminal shows its second screen: a signal that ends or stops the process leaves it.
pub(crate) fn on_screen(is_on_screen: bool) -> io::Result<()> {
    let mut state = state();
    state.is_on_screen = is_on_screen;
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGTSTP];
    state.receive(signals.into_iter().filter(|&signal| !is_ignored(signal)))
}

/// Requests the end, stops the process, or ends it.
fn receive(signal: i32) {
    let state = state();
    if signal == SIGTSTP {
        let away = state.is_on_screen.then(Away::go);
        // Returns when the process goes on.
        let _ = emulate_default_handler(signal);
        away.into_iter().for_each(Away::come_back);
        return;
    }
    if let Some(shutdown) = &state.shutdown
        && !shutdown.is_requested()
    {
        shutdown.request();
        return;
    }
    for path in &state.unfinished {
        let _ = fs::remove_file(path);
    }
    let _away = state.is_on_screen.then(Away::go);
    // The lock is held to the end: no file is created or renamed any more.
    let _ = emulate_default_handler(signal);
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process ignores a signal. `false` if that cannot be read.
fn is_ignored(signal: i32) -> bool {
    nanotape_host::status_mask("SigIgn").is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::SIGPIPE;

    use super::*;

    #[test]
    fn an_ignored_signal_is_known() {
        // Programs in Rust ignore SIGPIPE.
        assert!(is_ignored(SIGPIPE) && !is_ignored(SIGUSR1));
    }
}
