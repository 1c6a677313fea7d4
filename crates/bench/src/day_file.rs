//! A day file through every structure of the books, beside the limits of the machine.
//!
//! Where: `nanotape lab bench book`. The command line starts this program again for every reading,
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
//! To add a structure, add a line to [`VARIANTS`].
//! Failure: [`DayFileError`]; damage in the file is found by [`Survey`], before anything is measured.

mod books;
mod error;
mod job;
mod limits;
mod loads;
mod one_by_one;
mod profile;
mod reading;
mod session;
mod survey;
mod type_time;
mod usage;
mod variants;
mod worker;

pub use error::DayFileError;
pub use job::Settings;
pub use loads::table_bytes;
pub use one_by_one::{MessageLatency, QUANTILES};
pub use profile::{MOST_COUNTED, Profile, profile};
pub use reading::{Answer, Reading, disagreement};
pub use session::{Measured, Plan, measure};
pub use survey::Survey;
pub use type_time::TypeTime;
pub use variants::{DEFAULT, Kind, VARIANTS, Variant, select};
pub use worker::role;
