//! Human-readable output of `nanotape stat`: one page, or one line per reading.

use std::fmt::Write as _;

use nanotape_arguments::{
    figures::{filled, text_of},
    session,
    text::size_text,
};
use nanotape_board::health::{Figure, FigureValue, Life};
use nanotape_plant::records::{RecordKind, StopReason};

use super::Report;
use crate::values::bytes_text;

/// The page: the plant, its session, and its ring with recorder and followers.
const PAGES: [&str; 3] = [include_str!("plant.txt"), session::PAGE, include_str!("ring.txt")];

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let figures = [self.figures.clone(), self.only_on_the_page()].concat();
        let mut text = format!("{}\n", self.path.display());
        for (name, value) in PAGES.iter().flat_map(|page| filled(page, &figures)) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<16}{value}");
        }
        text
    }

    /// Sentences about the figures, and figures in other units.
    fn only_on_the_page(&self) -> Vec<Figure> {
        let (now, plant) = (self.now, &self.now.plant);
        let text = |name, text: Option<String>| Figure::new(name, text.map(FigureValue::Text));
        let stopped = match now.life() {
            Life::Stopped(StopReason::Requested) => Some(StopReason::Requested.to_string()),
            Life::Stopped(reason) => Some(format!("stopped: {reason}")),
            _ => None,
        };
        let published = RecordKind::ALL.into_iter().map(|kind| {
            let is_published = plant.kinds().iter().any(|published| published == kind);
            Figure::new(
                format!("published_{kind}"),
                is_published.then(|| FigureValue::Text(String::new())),
            )
        });
        let free_bytes = now.recorder.as_ref().and_then(|recorder| recorder.free_bytes);
        let mut figures = session::arbitration(plant.live.as_ref());
        figures.extend(published);
        figures.extend([
            text("stopped", stopped),
            text("waiting", now.waiting_text()),
            text("damages", self.counted("damage_")),
            text("anomalies", self.counted("anomaly_")),
            text("ring_size", now.capacity_bytes().map(bytes_text)),
            text("free_room", free_bytes.map(size_text)),
        ]);
        figures
    }

    /// The counters above zero whose name begins so: `length 3, lost 1`.
    fn counted(&self, prefix: &str) -> Option<String> {
        let counters = self.figures.iter();
        let counters = counters.filter_map(|figure| {
            match (figure.name.strip_prefix(prefix)?, &figure.value) {
                (kind, Some(FigureValue::Whole(count))) if *count > 0 => {
                    Some(format!("{kind} {count}"))
                }
                _ => None,
            }
        });
        Some(counters.collect::<Vec<_>>().join(", ")).filter(|counted| !counted.is_empty())
    }

    /// One report as a line.
    pub(super) fn line(&self, first: bool) -> String {
        let mut text = String::new();
        if first {
            text += "plant    time_of_day              messages   messages/s  input    records/s  \
                     damaged tainted  last record\n";
        }
        let value = |name| self.figures.iter().find(|figure| figure.name == name)?.value.as_ref();
        let shown = |name| value(name).map(text_of).unwrap_or_default();
        let rate = |name| match value(name) {
            Some(FigureValue::Real(rate)) => format!("{rate:.0}"),
            _ => String::new(),
        };
        let waiting = self.now.waiting_text().map(|waiting| format!("; {waiting}"));
        let _ = writeln!(
            text,
            "{:<8} {:<18} {:>14} {:>12} {:>6} {:>12} {:>8} {:>7}  {}{}",
            shown("state"),
            shown("time_of_day"),
            shown("messages"),
            rate("messages_per_second"),
            value("input_percent").map(|share| text_of(share) + "%").unwrap_or_default(),
            rate("records_per_second"),
            self.now.plant.damages.iter().sum::<u64>(),
            shown("tainted_stocks"),
            shown("ring_last_message_age_ns"),
            waiting.unwrap_or_default(),
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use nanotape_board::Stage;

    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_kind_of_record_and_each_stage() {
        let names = RecordKind::ALL.map(RecordKind::name).into_iter();
        for name in names.chain(Stage::ALL.map(Stage::name)) {
            assert!(PAGES.concat().contains(&format!("\n  {name:<14}")), "{name}");
        }
    }
}
