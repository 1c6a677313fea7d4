//! The human-readable table of a simulated queue.

use std::fmt::Write as _;

use nanotape_arguments::text::time_text;
use nanotape_console::values::{counted, grouped, nanos_text};
use nanotape_queue::{Outcome, QUANTILES, Question, Receiver, Search, Source, Window};
use nanotape_types::NanosSinceMidnight;

use super::capacity::RingCapacity;

/// Windows with the largest delays that are shown.
const WORST_WINDOWS: usize = 5;

const DAY_NS: u64 = 86_400_000_000_000;

/// The moments of a trading day whose windows are shown, in ns since midnight.
const MOMENTS: [(&str, u64); 2] = [("open", 34_200_000_000_000), ("close", 57_600_000_000_000)];

pub(super) struct Shown<'a> {
    pub(super) source: Source<'a>,
    pub(super) outcome: &'a Outcome,
    pub(super) answers: &'a [(Question, Search)],
    /// The index of the service time whose windows are shown.
    pub(super) at: usize,
}

impl Shown<'_> {
    pub(super) fn text(&self, capacity: Option<&RingCapacity>) -> String {
        let mut text = self.heading();
        for (question, search) in self.answers {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", answer(question, *search));
            if let (Question::Ring { .. }, Some(service)) =
                (question, self.outcome.services.get(self.at))
            {
                let speed = search.speed(service.service_ns);
                let at = nanos_text(service.service_ns);
                let _ = writeln!(text, "at {at} a message it holds {speed:.2} times this speed");
            }
        }
        text.push_str(&capacity.map_or_else(String::new, RingCapacity::text));
        self.services(&mut text);
        self.windows(&mut text);
        text
    }

    fn heading(&self) -> String {
        let Outcome { messages, reversed, span_ns, .. } = self.outcome;
        let clock = match self.source.arrivals {
            "received" => "the receive time of its packet",
            _ => "the exchange's time",
        };
        let mut text = format!("{}: {} messages", self.source.name, grouped(*messages));
        if let Some((first_ns, last_ns)) = *span_ns {
            let _ = write!(text, " from {} to {}", time(first_ns), time(last_ns));
        }
        let _ = writeln!(text, "; each arrives at {clock}");
        if *reversed > 0 {
            let times = counted(*reversed, "timestamp");
            let _ = writeln!(text, "{times} below an earlier one, taken as equal to it");
        }
        text
    }

    fn services(&self, text: &mut String) {
        let _ = write!(text, "\n{:>9}", "service");
        for (name, _) in QUANTILES {
            let _ = write!(text, " {name:>9}");
        }
        let _ = writeln!(
            text,
            " {:>9} {:>10} {:>6}  {:<18} {:>9} {:>10}",
            "largest", "queue", "growth", "worst window", "catch-up", "overloaded"
        );
        for (index, service) in self.outcome.services.iter().enumerate() {
            let _ = write!(text, "{:>9}", nanos_text(service.service_ns));
            for (_, quantile) in QUANTILES {
                let delay = service.quantile_ns(quantile).map(nanos_text).unwrap_or_default();
                let _ = write!(text, " {delay:>9}");
            }
            let growth = self.outcome.growth(index).map(|growth| format!("{growth:.1}"));
            let _ = writeln!(
                text,
                " {:>9} {:>10} {:>6}  {:<18} {:>9} {:>10}",
                nanos_text(service.largest_delay_ns),
                grouped(service.largest_queue),
                growth.unwrap_or_default(),
                service.worst_window_ns.map(time).unwrap_or_default(),
                nanos_text(service.catch_up_ns),
                service.overloaded_windows,
            );
        }
    }

    /// The windows at the open, at the close and just after, and those with the largest delays.
    fn windows(&self, text: &mut String) {
        let windows = &self.outcome.windows;
        let Some(service) = self.outcome.services.get(self.at) else { return };
        let length_ns = windows.length_ns();
        let _ = writeln!(
            text,
            "\nwindows of {} at {} a message\n{:<22} {:<18} {:>10} {:>10} {:>10}",
            nanos_text(length_ns),
            nanos_text(service.service_ns),
            "",
            "from",
            "messages",
            "largest",
            "queue"
        );
        let mut line = |what: &str, window: &Window| {
            let delay_ns = window.delays_ns[self.at];
            let _ = writeln!(
                text,
                "{what:<22} {:<18} {:>10} {:>10} {:>10}",
                time(window.start_ns),
                grouped(window.messages),
                nanos_text(delay_ns),
                grouped(delay_ns.div_ceil(service.service_ns)),
            );
        };
        for (name, at_ns) in MOMENTS {
            if let Some(window) = windows.at(at_ns) {
                line(&format!("at the {name}"), window);
            }
            if let Some(window) = windows.at(at_ns.saturating_add(length_ns)) {
                line(&format!("just after the {name}"), window);
            }
        }
        let mut worst: Vec<&Window> = windows.iter().collect();
        worst.sort_by_key(|window| std::cmp::Reverse(window.delays_ns[self.at]));
        for (number, window) in worst.iter().take(WORST_WINDOWS).enumerate() {
            line(&format!("largest delay, rank {}", number + 1), window);
        }
    }
}

/// The results of one receiver.
pub(super) fn receiver(receiver: &Receiver) -> String {
    let delays = receiver.delays();
    let mut text = format!(
        "\nreceiver: {} processed, {} dropped\n",
        grouped(delays.count()),
        grouped(receiver.dropped())
    );
    for (name, quantile) in QUANTILES {
        let delay = delays.quantile(quantile).map(nanos_text).unwrap_or_default();
        let _ = write!(text, "{name} {delay}, ");
    }
    let largest = delays.max().map(nanos_text).unwrap_or_default();
    let _ = writeln!(text, "largest {largest}");
    let _ = writeln!(
        text,
        "{:>4} {:>13} {:>11} {:>11} {:>9} {:>9} {:>9}",
        "core", "messages", "batches", "dropped", "largest", "queue", "busy"
    );
    for (number, core) in receiver.cores().iter().enumerate() {
        let _ = writeln!(
            text,
            "{number:>4} {:>13} {:>11} {:>11} {:>9} {:>9} {:>9}",
            grouped(core.messages),
            grouped(core.batches),
            grouped(core.dropped),
            nanos_text(core.largest_delay_ns),
            grouped(core.largest_queue),
            nanos_text(core.busy_ns)
        );
    }
    text.push_str(&super::links::text(receiver));
    text
}

fn answer(question: &Question, search: Search) -> String {
    let goal = match *question {
        Question::Delay { quantile, limit_ns, .. } => {
            let percent = (quantile * 1e8).round() / 1e6;
            format!("p{percent} at or below {}", nanos_text(limit_ns))
        }
        Question::Ring { messages } => format!("no drop in a ring of {}", grouped(messages)),
    };
    let good = grouped(search.good_ns);
    match search.bad_ns {
        None => format!("{goal}: {good} ns a message is short enough"),
        Some(1) => format!("{goal}: 1 ns a message is too long"),
        Some(bad_ns) if bad_ns - search.good_ns == 1 => {
            format!("{goal} needs at most {good} ns a message")
        }
        Some(bad_ns) => format!(
            "{goal} needs at most {good} to {} ns a message; a file gives the exact number",
            grouped(bad_ns - 1)
        ),
    }
}

/// A time of day, or UTC if the input has no date.
pub(super) fn time(ns: u64) -> String {
    let of_day = NanosSinceMidnight::new(ns).filter(|_| ns < DAY_NS);
    of_day.map_or_else(|| time_text(ns), |time| time.to_string())
}
