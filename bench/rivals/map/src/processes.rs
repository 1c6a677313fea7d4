//! A map that several processes share: this one creates it, and starts itself again.
//!
//! Another process prints `ready` when it has opened the map. A side then waits for a line on its
//! standard input, and prints its nanoseconds at the end.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use rivals_measure::{
    Failure, Wrong,
    scratch::{self, Scratch},
};
use serde_json::Value;

use crate::{
    kill,
    options::{Mode, Options, Role},
    threads::pin,
    work::{self, Map},
};

/// Another process of the run, killed if this one fails before it is done.
pub(crate) struct Second {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Second {
    /// Starts it with the command line of this process, and waits until it has opened the map.
    pub(crate) fn start(role: Role, map: &Path) -> Result<Self, Failure> {
        let mut child = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .args(["--second", role.name(), "--map"])
            .arg(map)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Ok(Self { child, lines })
    }

    /// Its next line.
    pub(crate) fn next_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        if line.is_empty() {
            let status = self.child.wait()?;
            let what = format!("another process of the run ended, {status}");
            // With status 1 it has printed which value was wrong.
            return Err(if status.code() == Some(1) { Wrong(what).into() } else { what.into() });
        }
        Ok(line.trim().to_owned())
    }

    fn go(&mut self) -> Result<(), Failure> {
        let input = self.child.stdin.as_mut().expect("stdin is a pipe");
        Ok(writeln!(input, "go")?)
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs on a map in a folder of this process. Returns `None` in another process.
pub(crate) fn run<M: Map>(
    options: &Options,
    create: impl FnOnce(&Path, u64) -> Result<M, Failure>,
    open: impl FnOnce(&Path, u64) -> Result<M, Failure>,
) -> Result<Option<Value>, Failure> {
    if let (Some(role), Some(path)) = (options.second, &options.map) {
        second(options, role, path, open)?;
        return Ok(None);
    }
    let _files = Scratch(vec![options.folder.clone()]);
    let folder = options.folder.join(scratch::prefix() + "map");
    fs::create_dir(&folder)?;
    let path = folder.join("map");
    let mut map = create(&path, options.entries)?;
    work::fill(&mut map, options.entries)?;
    match options.mode {
        Mode::Latency => {
            options.cpus.pin_writer()?;
            work::latency(&mut map, options).map(Some)
        }
        Mode::Kill => kill::run(options, map, &path).map(Some),
        Mode::Throughput => throughput(options, map, &path).map(Some),
    }
}

fn throughput(options: &Options, mut map: impl Map, path: &Path) -> Result<Value, Failure> {
    let others = (1..options.sides).map(|_| Second::start(Role::Side, path));
    let mut others = others.collect::<Result<Vec<_>, _>>()?;
    options.cpus.pin_writer()?;
    for other in &mut others {
        other.next_line()?;
        other.go()?;
    }
    let mut nanos = vec![work::flat_out(&mut map, 0, options)?];
    for other in &mut others {
        nanos.push(other.next_line()?.parse()?);
    }
    work::throughput(&mut map, options, &nanos)
}

fn second<M: Map>(
    options: &Options,
    role: Role,
    path: &Path,
    open: impl FnOnce(&Path, u64) -> Result<M, Failure>,
) -> Result<(), Failure> {
    pin(options, 1)?;
    let mut map = open(path, options.entries)?;
    println!("ready");
    match role {
        Role::Side => {
            io::stdin().read_line(&mut String::new())?;
            println!("{}", work::flat_out(&mut map, 1, options)?);
            Ok(())
        }
        Role::Victim => kill::victim(&mut map, options.entries),
        Role::Survivor => {
            work::update_all(&mut map, options.entries)?;
            println!("done");
            Ok(())
        }
    }
}
