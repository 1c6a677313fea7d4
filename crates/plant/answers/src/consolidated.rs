//! The best bid and offer over several venues, from inputs that are read at the same time.
//!
//! Where: [`VenueInput`] reads one input on a thread of its own; [`ConsolidatedReading`] merges the
//! changes of all of them by the exchange's time, and [`ConsolidatedBooks`] has the best prices.
//! [`ConsolidatedTable`] makes rows of them. [`ConsolidatedRings`] has those of plants that run.
//!
//! ```text
//!  input -> books -> changes of the inside, silences --\
//!  input -> books -> changes of the inside, silences ---> TimeMerge -> ConsolidatedBooks -> rows
//! ```
//!
//! A venue is stale if it has no event for longer than a time. Its quotes then do not count for the
//! best prices, up to its next event. A venue before its first event has no quotes, and is not
//! stale. Locked and crossed prices of different venues are given as they are.
//! Bounds: [`MOST_VENUES`] inputs.

mod books;
mod reading;
mod rings;
mod table;
mod venue;

pub use books::{ConsolidatedBooks, ConsolidatedInside, ConsolidatedQuote, MOST_VENUES, VenueSet};
pub use reading::{ConsolidatedReading, ConsolidatedRow, VenueSession};
pub use rings::ConsolidatedRings;
pub use table::ConsolidatedTable;
pub use venue::{VenueChange, VenueInput};

/// The labels of venues by DBN's numbers of publishers: the identifier of the market, such as XNAS,
/// and for a second input of it `XNAS.2`. An input whose venue is unknown has its own number.
pub fn venue_labels(publishers: &[u16]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (number, publisher_id) in (1..).zip(publishers) {
        let name = match nanotape_plant::dbn::Publisher::try_from(*publisher_id) {
            Ok(publisher) => publisher.venue().as_str().to_owned(),
            Err(_) => format!("input{number}"),
        };
        let label = (2..).map(|again| format!("{name}.{again}"));
        let label =
            std::iter::once(name.clone()).chain(label).find(|label| !labels.contains(label));
        labels.push(label.unwrap_or(name));
    }
    labels
}
