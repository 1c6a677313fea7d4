//! `--time`: the form of the exchange's times in rows.

use anyhow::Context as _;
use clap::Args;
use nanotape_console::rows::{TimeForm, Times};

/// `--time`.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimeArguments {
    /// How times are written
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    time: TimeForm,
}

impl TimeArguments {
    /// The form for an input of this name and date.
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
