//! `--time`: the form of the exchange's times in rows.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use nanotape_clock::UtcNanos;
use nanotape_console::rows::{Column, Rows};
use nanotape_types::NanosSinceMidnight;

/// `--time`.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimeArguments {
    /// How times are written
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    time: TimeForm,
}

/// A form of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum TimeForm {
    /// Column ts_ns: nanoseconds since the exchange's midnight
    #[default]
    Ns,
    /// Column ts_event: UTC, as in 2019-12-30T14:30:00.000000001Z
    Utc,
    /// Column time: the exchange's time of day, as in 09:30:00.000000001
    Exchange,
}

/// Writes times in the chosen form.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    form: TimeForm,
    /// 0 if the form needs no date.
    midnight_ns: u64,
}

impl TimeArguments {
    /// The writer for an input of this name and date.
    pub fn times(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<Times> {
        let midnight_ns = match self.time {
            TimeForm::Utc => midnight_ns.with_context(|| {
                format!(
                    "{name}: --time utc needs the trade date, which the file name lacks: give it, as \
                     in --date 2019-12-30"
                )
            })?,
            TimeForm::Ns | TimeForm::Exchange => 0,
        };
        Ok(Times { form: self.time, midnight_ns })
    }
}

impl Times {
    /// The column of the times.
    pub fn column(self) -> Column {
        match self.form {
            TimeForm::Ns => Column::number("ts_ns", 14),
            TimeForm::Utc => Column::word("ts_event", 30),
            TimeForm::Exchange => Column::word("time", 18),
        }
    }

    /// Whether a time is written as a whole number.
    #[inline]
    pub fn is_a_number(self) -> bool {
        self.form == TimeForm::Ns
    }

    /// Appends the cell of a time, in ns since midnight; absent for None.
    #[inline]
    pub fn write(self, rows: &mut Rows, nanos: Option<u64>) {
        match (self.form, nanos) {
            (TimeForm::Ns, _) => rows.integer_or_absent(nanos),
            (_, None) => rows.absent(),
            (TimeForm::Utc, Some(nanos)) => {
                rows.text(UtcNanos::of_unix_ns(self.midnight_ns.saturating_add(nanos)));
            }
            (TimeForm::Exchange, Some(nanos)) => {
                rows.text(NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX));
            }
        }
    }
}
