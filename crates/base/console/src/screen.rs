//! A report that is refreshed in place on a terminal.
//!
//! Protocol: the terminal's second screen, so that what was there comes back at the end. Each
//! report starts at the first line and is cut to the current size, so a resized terminal is right
//! after the next report.
//! Failure: the first screen comes back when the value is dropped, when a signal ends the process,
//! and while Ctrl-Z stops it.

use std::io::{self, StdoutLock, Write as _};

use rustix::termios::tcgetwinsize;

use crate::interrupt;

/// Switches to the second screen, and hides the cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";

/// The reverse.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Rows and columns of a terminal that does not report its size.
const USUAL: (usize, usize) = (24, 80);

/// The second screen of standard output, which is a terminal.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Shows an empty screen.
    pub fn enter() -> io::Result<Self> {
        interrupt::on_screen(true)?;
        let screen = Self(());
        write(ENTER)?;
        Ok(screen)
    }

    /// Replaces the report.
    pub fn show(&mut self, report: &str) -> io::Result<()> {
        let size = tcgetwinsize(io::stdout()).map(|size| (size.ws_row, size.ws_col));
        let (rows, columns) = match size {
            Ok((rows @ 1.., columns @ 1..)) => (usize::from(rows), usize::from(columns)),
            _ => USUAL,
        };
        write(&page(report, rows, columns))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Errors are ignored: the terminal may be gone.
        let _ = write(LEAVE);
        let _ = interrupt::on_screen(false);
    }
}

/// The first screen, while a signal stops or ends the process. No other thread writes to the
/// terminal in that time: a report would be on the wrong screen.
#[derive(Debug)]
pub(crate) struct Away(StdoutLock<'static>);

impl Away {
    pub(crate) fn go() -> Self {
        let mut stdout = io::stdout().lock();
        let _ = write_to(&mut stdout, LEAVE);
        Self(stdout)
    }

    pub(crate) fn come_back(mut self) {
        let _ = write_to(&mut self.0, ENTER);
    }
}

fn write(text: &str) -> io::Result<()> {
    write_to(&mut io::stdout().lock(), text)
}

fn write_to(stdout: &mut StdoutLock<'_>, text: &str) -> io::Result<()> {
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// The report on a terminal of this size. Each line is cleared before it is written: a line of the
/// full width leaves the cursor on its last column.
fn page(report: &str, rows: usize, columns: usize) -> String {
    let lines: Vec<_> = report.lines().collect();
    let shown = if lines.len() > rows { rows - 1 } else { lines.len() };
    let more = lines.len() - shown;
    let note = (more > 0).then(|| format!("... {more} more lines: enlarge the terminal"));
    let mut page = "\x1b[H".to_owned();
    for (number, line) in lines[..shown].iter().copied().chain(note.as_deref()).enumerate() {
        page.push_str(if number == 0 { "\x1b[2K" } else { "\r\n\x1b[2K" });
        page.extend(line.chars().take(columns));
    }
    page.push_str("\x1b[J");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_cut_to_the_terminal() {
        let report = "one\ntwo words\nthree\n";
        let whole = "\x1b[H\x1b[2Kone\r\n\x1b[2Ktwo words\r\n\x1b[2Kthree\x1b[J";
        assert_eq!(page(report, 3, 80), whole);
        assert_eq!(page(report, 3, 3), "\x1b[H\x1b[2Kone\r\n\x1b[2Ktwo\r\n\x1b[2Kthr\x1b[J");
        let cut = "\x1b[H\x1b[2Kone\r\n\x1b[2K... 2 more lines: enlarge the terminal\x1b[J";
        assert_eq!(page(report, 2, 80), cut);
        assert_eq!(page(report, 1, 7), "\x1b[H\x1b[2K... 3 m\x1b[J");
        assert_eq!(page("", 1, 1), "\x1b[H\x1b[J");
    }
}
