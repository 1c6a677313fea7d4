//! A day file through every structure of the books, beside the limits of the machine; and through
//! plants that publish what comes of it.
//!
//! Where: `nanotape lab bench book` and `nanotape lab bench plant`. The command line starts this program again for every reading,
//! so that heaps are fresh and the peak of memory is that of one variant; the process that was
//! started is played by [`role`].
//!
//! ```text
//! command line:  survey, then rounds: each variant once, in an order drawn by lot, then the table
//!                                     |
//! worker:                             +-- NANOTAPE_DAY_ROLE="measure default ..." nanotape FILE
//!                                         place, make tables, file through them, a line of JSON
//! ```
//!
//! A reading of a plant that is read has more processes, its taps: they meet it in a folder in memory.
//!
//! To add a structure, add a line to [`VARIANTS`]; to add a plant, one to [`PLANT_VARIANTS`].
//! Failure: [`DayFileError`]; damage in the file is found by [`Survey`], before anything is measured.

mod books;
mod error;
mod goals;
mod job;
mod limits;
mod loads;
mod one_by_one;
mod plant;
mod plant_variants;
mod profile;
mod reading;
mod session;
mod survey;
mod taps;
mod type_time;
mod usage;
mod variants;
mod worker;

pub use error::DayFileError;
pub use goals::{Goal, goals};
pub use job::{Settings, Taps};
pub use loads::table_bytes;
pub use one_by_one::{MessageLatency, QUANTILES};
pub use plant_variants::{BACKBONE, PLANT, PLANT_VARIANTS, Shape, select_plants};
pub use profile::{MOST_COUNTED, Profile, profile};
pub use reading::{Answer, Published, Reading, disagreement};
pub use session::{Measured, Plan, measure};
pub use survey::Survey;
pub use type_time::TypeTime;
pub use variants::{DEFAULT, Kind, VARIANTS, Variant, select};
pub use worker::role;
