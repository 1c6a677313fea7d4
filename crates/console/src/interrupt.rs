//! Ctrl-C as a shutdown flag: a long-running command ends cleanly when the flag is set.

use std::sync::Arc;

use anyhow::Context as _;
use nanotape_tape::ShutdownFlag;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// Installs handlers: the first SIGINT or SIGTERM sets the flag, the second one ends the process.
pub fn install() -> anyhow::Result<ShutdownFlag> {
    let interrupt = ShutdownFlag::new();
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(interrupt.flag()))
            .and_then(|_| flag::register(signal, Arc::clone(interrupt.flag())))
            .context("cannot install signal handlers")?;
    }
    Ok(interrupt)
}
