//! Exit statuses, and the status of an error.

use std::{cell::RefCell, fmt, io, process::ExitCode, sync::Arc};

use crate::{
    log::{LogLevel, line_of},
    printable::printable,
    printing,
    verbosity::is_quiet,
};

/// The exit status of a command; a higher one is worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// 0: the command succeeded and found nothing wrong.
    Good,
    /// 1: the data, or the subject of a check, is bad.
    Bad,
    /// 2: wrong usage, or an input or output that cannot be opened or written.
    Usage,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Good => 0,
            Status::Bad => 1,
            Status::Usage => 2,
        })
    }
}

/// The data is bad, and the command has nothing to print.
#[derive(Debug)]
pub struct BadData(pub String);

impl fmt::Display for BadData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadData {}

/// Reports the error of a command, and returns its exit status. `rest` is what its line ends with.
pub fn conclude<E>(
    result: anyhow::Result<Status>,
    is_bad: impl Fn(&E) -> bool,
    rest: impl Fn(&anyhow::Error) -> String,
) -> ExitCode
where
    E: std::error::Error + Send + Sync + 'static,
{
    match result {
        Ok(status) => status.into(),
        // The reader of the output has exited, as in `nanotape inspect day | head`.
        Err(error) if is_broken_pipe(&error) => Status::Good.into(),
        Err(error) => {
            write(LogLevel::Error, format_args!("{}{}", text_of(&error), rest(&error)));
            Status::of_error(&error, is_bad).into()
        }
    }
}

/// Prints an error that does not end the command.
pub fn report_error(error: &anyhow::Error) {
    write(LogLevel::Error, text_of(error));
}

/// An error and its causes. A cause that is part of the previous text is not repeated.
pub fn text_of(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        before if before.ends_with(&cause) => line,
        before => format!("{before}: {cause}"),
    })
}

impl Status {
    /// The status of an error: bad data, or the environment. `is_bad` knows the errors of inputs.
    pub fn of_error<E>(error: &anyhow::Error, is_bad: impl Fn(&E) -> bool) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let is_bad = error.is::<BadData>() || error.downcast_ref().is_some_and(is_bad);
        if is_bad { Self::Bad } else { Self::Usage }
    }
}

/// Prints a line on standard error. Names of files in it cannot control a terminal.
pub fn warn(line: impl fmt::Display) {
    keep(false, &line);
    write(LogLevel::Warning, line);
}

thread_local! {
    /// What the lines of this thread begin with.
    static LABEL: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Does work whose lines begin with a label: those of its thread, if a command does several things
/// at once.
pub fn labelled<T>(label: Option<&Arc<str>>, work: impl FnOnce() -> T) -> T {
    let before = LABEL.replace(label.cloned());
    let result = work();
    LABEL.set(before);
    result
}

/// A line that was printed on standard error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportLine {
    /// Whether it is a note: the others report something bad.
    pub is_note: bool,
    /// Its text.
    pub text: String,
}

thread_local! {
    /// The lines of this thread, while they are kept.
    static KEPT: RefCell<Option<Vec<ReportLine>>> = const { RefCell::new(None) };
}

/// Does work and returns its lines as well, for a result that must have them: those of its thread,
/// with the notes that `--quiet` omits. They are printed as ever.
pub fn kept<T>(work: impl FnOnce() -> T) -> (T, Vec<ReportLine>) {
    let before = KEPT.replace(Some(Vec::new()));
    let result = work();
    (result, KEPT.replace(before).unwrap_or_default())
}

fn keep(is_note: bool, line: &impl fmt::Display) {
    KEPT.with_borrow_mut(|kept| {
        if let Some(kept) = kept {
            kept.push(ReportLine { is_note, text: line.to_string() });
        }
    });
}

fn write(level: LogLevel, line: impl fmt::Display) {
    let line = LABEL.with_borrow(|label| match label {
        Some(label) => format!("{label}: {line}"),
        None => line.to_string(),
    });
    printing::write(line_of(level, &printable(&line, &[])));
}

/// [`warn`] for a line that is neither a warning nor an error: `--quiet` omits it.
pub fn note(line: impl fmt::Display) {
    keep(true, &line);
    if !is_quiet() {
        write(LogLevel::Info, line);
    }
}

/// Whether the reader of the output has exited.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_lines_are_those_of_the_work_alone() {
        warn("before");
        let (result, lines) = kept(|| {
            warn(format_args!("{} is cut", "day"));
            note("and a note");
            7
        });
        warn("after");
        let line = |is_note, text: &str| ReportLine { is_note, text: text.to_owned() };
        assert_eq!((result, lines), (7, vec![line(false, "day is cut"), line(true, "and a note")]));
        assert_eq!(kept(|| ()).1, []);
    }
}
