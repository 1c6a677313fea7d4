//! The report of a live session: its lines, the race between them, and its gaps.

use nanotape_board::{
    LiveStat,
    health::{Figure, FigureValue, session_figures},
};

use crate::figures::filled;

/// The rows of the report; a part of the page of `nanotape stat` too.
pub const PAGE: &str = include_str!("session.txt");

/// Rows of a report: a name, and text.
pub fn report(stat: &LiveStat) -> Vec<(String, String)> {
    filled(PAGE, &[session_figures(Some(stat)), arbitration(Some(stat))].concat())
}

/// What each line alone lacks, and what all of them together lack, for the page.
pub fn arbitration(stat: Option<&LiveStat>) -> Vec<Figure> {
    let stat = stat.filter(|stat| stat.lines.len() > 1);
    let alone = stat.map(|stat| {
        let alone = stat.lines.iter().zip('A'..).map(|(line, letter)| {
            format!("line {letter} alone lacks {} messages", line.counts.missing)
        });
        FigureValue::Text(alone.collect::<Vec<_>>().join(", "))
    });
    let together = stat.map(|stat| {
        let fills = &stat.gaps.fills;
        FigureValue::Whole(
            [fills.retransmitted, fills.snapshot, fills.lost]
                .iter()
                .fold(0, |a, b| a.saturating_add(*b)),
        )
    });
    vec![Figure::new("arbitration", alone), Figure::new("lacked_together", together)]
}
