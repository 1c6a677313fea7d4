//! Delay between two feeds: how much later the second shows what the first shows.
//!
//! Where: lab. It works on values with times ([`Changes`]); it knows no exchange, no book, no
//! file and no clock. The command line reads two inputs into [`Series`], one per stock and
//! attribute, and passes windows of them to an [`Estimator`].
//!
//! ```text
//! Series (first)  --+
//!                   +-- Window --> Estimator --> Estimate with its interval, or NoEstimate
//! Series (second) --+
//! ```
//!
//! Signs: a delay is positive if the second feed is later.
#![deny(unsafe_code)]

mod batch;
mod bursts;
mod candidates;
mod combine;
mod drift;
mod estimate;
mod gpu;
mod lead_lag;
mod match_sequence;
mod match_value;
mod matcher;
mod series;
mod window;
mod xcorr;

pub use batch::{Job, estimate_all};
pub use bursts::Observed;
pub use combine::{Combined, Combiner};
pub use drift::{Shift, ShiftWatch, Trend, trend};
pub use estimate::{CONFIDENCE, Estimate, Estimator, NoEstimate};
pub use gpu::{
    Answer, BatchEstimator, Fallback, GpuDevice, GpuError, GpuLimits, GpuRow, GpuRows, GpuXcorr,
    Shares, share,
};
pub use lead_lag::{Evidence, Lead, LeadLag, LeadLagSettings, Matrix, Pair};
pub use match_sequence::{Feed, MatchSequence, SequenceCounts, SequenceRing};
pub use match_value::{MatchValue, MatchValueSettings};
pub use series::{Changes, Series};
pub use window::Window;
pub use xcorr::{
    Correlator, Padding, Peak, Samples, SettingsError, Signal, Xcorr, XcorrSettings, fast_length,
};
