//! The output of a command: standard output or a file, and its format. A file is overwritten only
//! with `--force`, and gets its name when it is complete.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use flate2::write::GzEncoder;

use crate::{behind::Behind, destination::Destination, interrupt::Unfinished, leftover, progress};

/// `-o`, `--force` and `--format`.
#[derive(Args, Clone, Debug)]
pub struct OutputArguments<F: FileFormat = Format> {
    /// Write to FILE instead of standard output; the suffix chooses format and compression
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub force: bool,

    /// Output format [default: from the suffix of FILE, otherwise the default of the command]
    #[arg(long, value_enum)]
    pub format: Option<F>,
}

impl<F: FileFormat> Default for OutputArguments<F> {
    fn default() -> Self {
        Self { output: None, force: false, format: None }
    }
}

/// The formats of one command.
pub trait FileFormat: ValueEnum + Copy + Send + Sync + 'static {
    /// The suffixes that choose a format, for messages.
    const SUFFIXES: &str;

    /// The option that chooses a format, for messages.
    const OPTION: &str = "--format";

    /// The format for a suffix without its dot.
    fn of_suffix(suffix: &str) -> Option<Self>;
}

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Human-readable aligned columns
    Text,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Json,
}

impl FileFormat for Format {
    const SUFFIXES: &str = ".csv, .json or .txt";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "csv" => Some(Self::Csv),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

impl<F: FileFormat> OutputArguments<F> {
    /// The format that `--format` or the suffix chooses, or `default`.
    pub fn format_or(&self, default: F) -> anyhow::Result<F> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let Some(path) = self.file() else { return Ok(default) };
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let inner = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
        let suffix = Path::new(inner).extension().and_then(OsStr::to_str);
        match suffix.and_then(F::of_suffix) {
            Some(format) => Ok(format),
            None if is_file(path) => {
                bail!("{}: unknown suffix; use {}, or {}", path.display(), F::SUFFIXES, F::OPTION)
            }
            None => Ok(default),
        }
    }

    /// Opens the output.
    pub fn open(&self) -> anyhow::Result<Output> {
        match self.file() {
            None if self.force => bail!("--force applies to -o FILE, and there is none"),
            None => {
                let stdout = io::stdout();
                let sink = match stdout.is_terminal() {
                    true => Sink::Terminal(stdout),
                    false => Sink::Plain(Box::new(stdout)),
                };
                Ok(Output { name: "standard output".to_owned(), sink, partial: None, written: 0 })
            }
            Some(path) => Output::create(path, self.force),
        }
    }

    /// Whether the results go to a file.
    pub fn has_file(&self) -> bool {
        self.file().is_some()
    }

    /// Whether the results go to a terminal.
    pub fn is_terminal(&self) -> bool {
        !self.has_file() && io::stdout().is_terminal()
    }

    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

impl OutputArguments {
    /// The format of a command that prints rows: text on a terminal, CSV in a file or a pipe.
    pub fn row_format(&self) -> anyhow::Result<Format> {
        let terminal = io::stdout().is_terminal();
        self.format_or(if terminal { Format::Text } else { Format::Csv })
    }
}

/// An open output. [`Output::finish`] completes it. A file that is dropped without it is removed.
pub struct Output {
    /// Its name in messages.
    name: String,
    sink: Sink,
    partial: Option<Partial>,
    /// Bytes that were written, before compression.
    written: u64,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("name", &self.name).finish_non_exhaustive()
    }
}

enum Sink {
    /// Standard output, on which a progress bar would be among the rows.
    Terminal(io::Stdout),
    Plain(Box<dyn Write + Send>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// A file under a temporary name, in the folder of its final name.
struct Partial {
    file: Unfinished,
    path: PathBuf,
    /// Whether a file that has the final name is replaced.
    replace: bool,
}

impl Output {
    /// Creates `path`, compressed if it has the suffix of a compression.
    pub fn create(path: &Path, force: bool) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let cannot = || format!("cannot write {name}");
        let named = match Destination::of(path)? {
            Destination::Direct(direct) => {
                let file = direct.open().with_context(cannot)?;
                let sink = Sink::Plain(Box::new(BufWriter::new(file)));
                return Ok(Self { name, sink, partial: None, written: 0 });
            }
            Destination::Named(named) => named,
        };
        if named.path().file_name().is_none() {
            bail!("{name}: not a file name");
        }
        if named.exists() && !force {
            bail!("{} exists; use --force to overwrite it", named.path().display());
        }
        leftover::report(named.path());
        let (unfinished, file) = named.create().with_context(cannot)?;
        let partial =
            Some(Partial { file: unfinished, path: named.path().to_owned(), replace: force });
        let sink = match path.extension().and_then(OsStr::to_str) {
            Some("gz") => {
                Sink::Gzip(GzEncoder::new(BufWriter::new(file), flate2::Compression::new(6)))
            }
            Some("zst") => {
                let mut encoder = zstd::stream::write::Encoder::new(BufWriter::new(file), 3)?;
                // A reader finds a flipped bit, which otherwise could be a wrong price.
                encoder.include_checksum(true)?;
                Sink::Zstd(encoder)
            }
            _ => Sink::Plain(Box::new(Behind::new(file))),
        };
        Ok(Self { name, sink, partial, written: 0 })
    }

    /// Bytes that were written, before compression.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether this is a file that gets its name at the end.
    pub fn is_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Opens what was written so far for reading; `None` for a stream.
    pub fn reread(&mut self) -> io::Result<Option<File>> {
        self.flush()?;
        self.partial.as_ref().map(|partial| partial.file.reread()).transpose()
    }

    /// Writes the buffered data and renames the file to its final name.
    pub fn finish(self) -> io::Result<()> {
        let Self { name, sink, partial, .. } = self;
        let complete = || -> io::Result<()> {
            match sink {
                Sink::Terminal(mut stdout) => stdout.flush()?,
                Sink::Plain(mut writer) => writer.flush()?,
                Sink::Gzip(encoder) => encoder.finish()?.flush()?,
                Sink::Zstd(encoder) => encoder.finish()?.flush()?,
            }
            match partial {
                Some(Partial { file, path, replace }) => file.finish(&path, replace),
                None => Ok(()),
            }
        };
        complete().map_err(|error| named(&name, &error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.sink {
            Sink::Terminal(stdout) => {
                progress::end();
                stdout.write(bytes)
            }
            Sink::Plain(writer) => writer.write(bytes),
            Sink::Gzip(writer) => writer.write(bytes),
            Sink::Zstd(writer) => writer.write(bytes),
        };
        let written = written.map_err(|error| named(&self.name, &error))?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.sink {
            Sink::Terminal(stdout) => stdout.flush(),
            Sink::Plain(writer) => writer.flush(),
            Sink::Gzip(writer) => writer.flush(),
            Sink::Zstd(writer) => writer.flush(),
        };
        flushed.map_err(|error| named(&self.name, &error))
    }
}

/// The same kind of error, with the name of the output.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {name}: {error}"))
}

/// Removes what killed processes left of the unfinished outputs of this path, and returns the
/// number of the files.
pub fn remove_leftovers(path: &Path) -> io::Result<usize> {
    leftover::remove(path)
}

/// Whether a path names a file or a new one, and not a device, a pipe or a file that is open.
pub fn is_file(path: &Path) -> bool {
    !matches!(Destination::of(path), Ok(Destination::Direct(_)))
}
