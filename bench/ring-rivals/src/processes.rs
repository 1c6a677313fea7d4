//! A run whose writer and readers are processes: this one writes, and starts itself again to read.
//!
//! A reader's process says `ready` when nothing that is sent can pass it by, and when it is done
//! what it found. Its standard input is whatever the rival wants to hand over.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use crate::{
    Failure, Wrong, cpus,
    options::{Mode, Options},
    report::{Reading, Run},
    work::{self, Reader, Writer},
};

/// A reader's process, killed if this one gives up before it is done.
pub(crate) struct Second {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Second {
    /// Starts it under a name that both sides know.
    pub(crate) fn start(
        options: &Options,
        number: usize,
        name: &str,
        input: Stdio,
    ) -> Result<Self, Failure> {
        let cpus: Vec<_> = options.cpus.iter().map(usize::to_string).collect();
        let mut child = Command::new(env::current_exe()?)
            .args([&options.rival, options.mode.name()])
            .args(["--messages", &options.messages.to_string()])
            .args(["--readers", &options.readers.to_string()])
            .args(["--cpus", &cpus.join(",")])
            .args(["--second", &format!("{number},{name}")])
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()?;
        let said = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
        Ok(Self { child, said })
    }

    fn next_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        if line.is_empty() {
            let status = self.child.wait()?;
            let what = format!("the reader's process ended, {status}");
            // It has said itself what it missed.
            return Err(if status.code() == Some(1) { Wrong(what).into() } else { what.into() });
        }
        Ok(line)
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // It has ended by itself, unless this process is about to fail: there is nothing to do
        // about an error in either case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first process: writes, or sends what comes back.
pub(crate) fn first<W: Writer, R: Reader>(
    options: &Options,
    mut seconds: Vec<Second>,
    mut writer: W,
    back: Option<R>,
) -> Result<Run, Failure> {
    cpus::pin(options.writer_cpu())?;
    for second in &mut seconds {
        let line = second.next_line()?;
        if line.trim() != "ready" {
            return Err(format!("the reader's process said {line:?}").into());
        }
    }
    if let Some(mut reader) = back {
        let reading = work::ping(&mut writer, &mut reader, options)?;
        return Ok(Run { writer_seconds: 0.0, readings: vec![reading] });
    }
    let writer_seconds = work::write(&mut writer, options)?;
    let readings = seconds.iter_mut().map(|second| Reading::decoded(&second.next_line()?));
    Ok(Run { writer_seconds, readings: readings.collect::<Result<_, _>>()? })
}

/// The second process: reads, or sends back.
pub(crate) fn second<W: Writer, R: Reader>(
    options: &Options,
    number: usize,
    mut reader: R,
    back: Option<W>,
) -> Result<(), Failure> {
    cpus::pin(options.reader_cpu(number))?;
    say("ready")?;
    let reading = match (options.mode, back) {
        (Mode::PingPong, Some(mut writer)) => work::pong(&mut reader, &mut writer, options)?,
        _ => work::read(&mut reader, options)?,
    };
    say(&reading.encoded())
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
