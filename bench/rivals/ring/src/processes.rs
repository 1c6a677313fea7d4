//! A run whose writer and readers are processes: this one writes, and starts itself again to read.
//!
//! A reader's process prints `ready` when it can receive the first message, and its reading when it
//! has received the last one. Its standard input is free for the rival's use.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use rivals_measure::{Failure, Wrong};

use crate::{
    options::{Mode, Options},
    report::Run,
    work::{self, Reader, Writer},
};

/// A reader's process, killed if this one fails before it is done.
pub(crate) struct Second {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Second {
    /// Starts it with the command line of this process and the name of the queue.
    pub(crate) fn start(number: u64, name: &str, input: Stdio) -> Result<Self, Failure> {
        let mut child = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .args(["--second", &number.to_string(), "--queue", name])
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Ok(Self { child, lines })
    }

    fn next_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        if line.is_empty() {
            let status = self.child.wait()?;
            let what = format!("the reader's process ended, {status}");
            // With status 1 it has printed which message was wrong.
            return Err(if status.code() == Some(1) { Wrong(what).into() } else { what.into() });
        }
        Ok(line)
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first process: writes. With a queue `back`, which it opens after the other process is ready,
/// it also receives each message again.
pub(crate) fn first<W: Writer, R: Reader>(
    options: &Options,
    mut seconds: Vec<Second>,
    mut writer: W,
    back: impl FnOnce() -> Result<Option<R>, Failure>,
) -> Result<Run, Failure> {
    options.cpus.pin_writer()?;
    for second in &mut seconds {
        let line = second.next_line()?;
        if line.trim() != "ready" {
            return Err(format!("the reader's process printed {line:?} instead of ready").into());
        }
    }
    if let Some(mut reader) = back()? {
        let reading = work::ping(&mut writer, &mut reader, options)?;
        return Ok(Run { writer_seconds: 0.0, readings: vec![reading] });
    }
    let writer_seconds = work::write(&mut writer, options)?;
    let readings = seconds
        .iter_mut()
        .map(|second| Ok(serde_json::from_str(&second.next_line()?)?))
        .collect::<Result<_, Failure>>()?;
    Ok(Run { writer_seconds, readings })
}

/// A reader's process: receives, or sends each message back.
pub(crate) fn second<W: Writer, R: Reader>(
    options: &Options,
    number: usize,
    mut reader: R,
    back: Option<W>,
) -> Result<(), Failure> {
    options.cpus.pin_reader(number)?;
    println!("ready");
    let reading = match (options.mode, back) {
        (Mode::PingPong, Some(mut writer)) => work::pong(&mut reader, &mut writer, options)?,
        _ => work::read(&mut reader, options)?,
    };
    println!("{}", serde_json::to_string(&reading)?);
    Ok(())
}
