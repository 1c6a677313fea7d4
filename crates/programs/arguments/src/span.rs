//! `--from` and `--until`: a span of the exchange's time.

use clap::Args;
use nanotape_answers::Span;
use nanotape_plant::Moment;

/// `--from` and `--until`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct SpanArguments {
    /// Only from this moment on (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970
    #[arg(long, value_name = "T")]
    from: Option<Moment>,

    /// Only before this moment (exclusive); reading stops there
    #[arg(long, value_name = "T", alias = "to")]
    until: Option<Moment>,
}

impl SpanArguments {
    /// The moments as they were given.
    pub fn moments(self) -> (Option<Moment>, Option<Moment>) {
        (self.from, self.until)
    }
}

impl From<SpanArguments> for Span {
    fn from(SpanArguments { from, until }: SpanArguments) -> Self {
        Self::new(from, until)
    }
}
