//! Compiled examples, and rings and plants for them.

use std::{
    env,
    io::{BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::OnceLock,
};

use nanotape_harness::{Bounded as _, BoundedChild as _, Scratch, line_of, rest_of, skipped};
use nanotape_plant::PlantConfig;
use nanotape_synth::{Market, MarketConfig};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Warnings are errors.
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A compiler, and what it takes the source for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    pub(crate) const ALL: [Self; 2] = [Self::C, Self::Cpp];

    fn arguments(self) -> [&'static str; 4] {
        match self {
            Self::C => ["cc", "-std=c11", "-x", "c"],
            Self::Cpp => ["g++", "-std=c++17", "-x", "c++"],
        }
    }

    /// The compiler with strict warnings and the folder of the header; `None` if the machine does
    /// not have it. One for C is needed to build nanotape.
    pub(crate) fn compiler(self) -> Option<Command> {
        let [program, arguments @ ..] = self.arguments();
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).bounded_status();
        if self == Self::Cpp && version.is_err() {
            skipped("no g++");
            return None;
        }
        let mut compiler = Command::new(program);
        compiler.args(arguments).args(STRICT).arg("-I").arg(Path::new(PACKAGE).join("include"));
        Some(compiler)
    }
}

/// The folder of the libraries, which Cargo builds beside this program.
fn libraries() -> PathBuf {
    let program = env::current_exe().unwrap();
    program.parent().unwrap().to_owned()
}

/// How a program is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    Shared,
    /// With what docs/c.md lists.
    Static,
}

/// Compiles an example; `None` if the machine has no compiler for it.
pub(crate) fn compile(source: &str, language: Language, link: Link) -> Option<Scratch> {
    compile_file(&Path::new(PACKAGE).join("examples").join(source), language, link)
}

/// The same for a file anywhere.
pub(crate) fn compile_file(source: &Path, language: Language, link: Link) -> Option<Scratch> {
    let program = Scratch::new("example");
    let mut compiler = language.compiler()?;
    compiler.arg(source).args(["-x", "none", "-o"]);
    compiler.arg(program.path());
    let folder = libraries();
    match link {
        Link::Shared => {
            compiler.arg("-L").arg(&folder).arg("-lnanotape_c");
            // Before LD_LIBRARY_PATH, in which Cargo has the folder of an earlier build.
            compiler.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display()));
        }
        Link::Static => {
            compiler.arg(folder.join("libnanotape_c.a"));
            compiler.args(["-lpthread", "-ldl", "-lm"]);
        }
    }
    succeeds(&mut compiler);
    Some(program)
}

/// Runs a compiler, which prints nothing.
pub(crate) fn succeeds(command: &mut Command) {
    let output = command.bounded_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{command:?}\n{text}");
}

/// An example in C, compiled once.
pub(crate) fn example(name: &str) -> Command {
    static DUMP: OnceLock<Scratch> = OnceLock::new();
    static BEST_PRICES: OnceLock<Scratch> = OnceLock::new();
    let (program, source) = match name {
        "dump" => (&DUMP, "dump.c"),
        "best_prices" => (&BEST_PRICES, "best_prices.c"),
        name => panic!("{name} is no example"),
    };
    let compiled = || compile(source, Language::C, Link::Shared).unwrap();
    Command::new(program.get_or_init(compiled).path())
}

/// What a program prints, and its status.
pub(crate) fn printed(output: &Output) -> (String, Option<i32>) {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout.clone()).unwrap(), output.status.code())
}

/// What a program prints as an error, after its output; its status is 1.
pub(crate) fn error_of(command: &mut Command) -> String {
    let output = command.bounded_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// An example that runs. Dropping the value kills it.
pub(crate) struct Running {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    pub(crate) fn line(&mut self) -> String {
        line_of(&mut self.output, "a line of an example").unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        nanotape_harness::until_stopped(self.process.id());
    }

    /// What it prints to its end, and its status.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        let text = rest_of(&mut self.output, "the rest of an example").unwrap();
        (text, self.process.bounded_wait("an example").code())
    }
}

impl Running {
    /// Its errors instead, which were piped.
    pub(crate) fn end_with_error(mut self) -> (String, Option<i32>) {
        let mut errors = BufReader::new(self.process.stderr.take().unwrap());
        let text = rest_of(&mut errors, "the errors of an example").unwrap();
        (text, self.process.bounded_wait("an example").code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with the synthetic day of a plant.
pub(crate) struct Day(pub(crate) Scratch);

impl Day {
    pub(crate) fn new(messages: u64, stocks: u16) -> Self {
        let folder = Scratch::folder("c");
        let config = MarketConfig { messages, symbols: stocks, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        Market::new(config).unwrap().write_to(&mut bytes).unwrap();
        let mut file = std::fs::File::create(folder.join("20191230.itch50")).unwrap();
        file.write_all(&bytes).unwrap();
        Self(folder)
    }

    pub(crate) fn ring(&self) -> PathBuf {
        self.0.join("ring")
    }

    pub(crate) fn config(&self, capacity_bytes: usize) -> PlantConfig {
        config_of(self.0.path(), capacity_bytes)
    }
}

/// The plant of a day in this folder.
pub(crate) fn config_of(folder: &Path, capacity_bytes: usize) -> PlantConfig {
    let mut config = PlantConfig::default();
    config.input.file = folder.join("20191230.itch50");
    config.ring.name = folder.join("ring");
    config.ring.capacity_bytes = Some(capacity_bytes);
    config
}
