//! Lines for an operator, not too many.
//!
//! Bounds: [`MOST_NEWS`] lines in a second; the others are counted.

use core::fmt;

/// Lines of news in a second, at most.
const MOST_NEWS: usize = 20;

const SECOND_NS: u64 = 1_000_000_000;

/// A line for an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewsLine {
    /// The line.
    pub text: String,
    /// Whether something is wrong.
    pub is_problem: bool,
}

/// Lines for an operator, not too many.
#[derive(Debug, Default)]
pub(crate) struct News {
    lines: Vec<NewsLine>,
    /// Lines that were left out since the last one that was taken.
    left_out: u64,
    /// Lines since the second began.
    in_second: usize,
    second_ns: u64,
}

impl NewsLine {
    /// Something is wrong.
    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_problem: true }
    }

    /// Something happened.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_problem: false }
    }
}

impl News {
    /// Adds a line about something that is wrong, if there were few.
    pub(crate) fn push(&mut self, line: &dyn fmt::Display) {
        self.add(|| NewsLine::problem(line.to_string()));
    }

    /// Adds a line, if there were few.
    pub(crate) fn add(&mut self, line: impl FnOnce() -> NewsLine) {
        if self.in_second < MOST_NEWS {
            self.in_second += 1;
            self.lines.push(line());
        } else {
            self.left_out += 1;
        }
    }

    /// Forgets the lines that were not taken.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        (self.left_out, self.in_second) = (0, 0);
    }

    /// Moves the lines to `lines`, and begins the next second if it is time.
    pub(crate) fn take(&mut self, now_ns: u64, lines: &mut Vec<NewsLine>) {
        lines.append(&mut self.lines);
        if now_ns.saturating_sub(self.second_ns) < SECOND_NS {
            return;
        }
        (self.second_ns, self.in_second) = (now_ns, 0);
        let left_out = core::mem::take(&mut self.left_out);
        if left_out > 0 {
            lines.push(NewsLine::problem(format!("{left_out} more lines like these")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_news_is_counted() {
        let (mut news, mut lines) = (News::default(), Vec::new());
        (0..100).for_each(|number| news.push(&number));
        news.take(1, &mut lines);
        assert_eq!(lines.len(), MOST_NEWS);
        news.push(&100);
        lines.clear();
        news.take(SECOND_NS + 1, &mut lines);
        assert_eq!(lines, [NewsLine::problem("81 more lines like these")]);
        news.push(&101);
        news.take(SECOND_NS + 2, &mut lines);
        assert_eq!(lines[1..], [NewsLine::problem("101")]);
    }
}
