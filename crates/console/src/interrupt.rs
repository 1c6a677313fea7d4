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
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    thread,
};

use crate::screen;
use anyhow::Context as _;
use nanotape_tape::ShutdownFlag;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1},
    flag,
    iterator::{Handle, Signals},
    low_level::emulate_default_handler,
};

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

/// Returns a flag that each SIGUSR1 from now on sets, which would end the process otherwise.
pub fn user_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::<AtomicBool>::default();
    flag::register(SIGUSR1, Arc::clone(&flag)).context("cannot install a handler for SIGUSR1")?;
    Ok(flag)
}

/// A file under a temporary name. It is removed if the value is dropped, or if a signal ends the
/// process, before [`Unfinished::finish`].
#[derive(Debug)]
pub struct Unfinished {
    temporary: PathBuf,
}

impl Unfinished {
    /// Creates the file.
    pub fn create(temporary: PathBuf) -> io::Result<(Self, File)> {
        let mut state = state();
        state.receive([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&one| !is_ignored(one)))?;
        let file = File::create(&temporary)?;
        state.unfinished.push(temporary.clone());
        Ok((Self { temporary }, file))
    }

    /// Gives the file its final name.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        // No signal removes the file between its renaming and the removal from the list.
        let _state = state();
        fs::rename(&self.temporary, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut state = state();
        state.unfinished.retain(|path| *path != self.temporary);
        // A finished file has another name by now. An error is ignored: nothing else can be done
        // about the leftover file.
        let _ = fs::remove_file(&self.temporary);
    }
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
        let is_on_screen = state.is_on_screen;
        if is_on_screen {
            let _ = screen::write(screen::LEAVE);
        }
        // Returns when the process goes on.
        let _ = emulate_default_handler(signal);
        if is_on_screen {
            let _ = screen::write(screen::ENTER);
        }
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
    if state.is_on_screen {
        let _ = screen::write(screen::LEAVE);
    }
    // The lock is held to the end: no file is created or renamed any more.
    let _ = emulate_default_handler(signal);
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process ignores a signal. `false` if that cannot be read.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
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
