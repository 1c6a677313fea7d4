//! `--method` and its options: the estimator of a window.

use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use nanotape_console::values::{duration, nanos, nanos_text, some_duration};
use nanotape_delay::{
    Estimator, LeadLag, LeadLagSettings, MatchSequence, MatchValue, MatchValueSettings, Padding,
    SettingsError, Signal, Xcorr, XcorrSettings,
};
use serde_json::{Value, json};

use super::nanos_of;

#[derive(Args, Debug)]
pub(super) struct MethodArguments {
    /// How the delay is estimated [default: match-value; of --matrix lead-lag]
    #[arg(long, value_name = "METHOD", value_enum)]
    method: Option<Method>,

    /// Which instrument leads which: all pairs of stocks of FIRST, or of FIRST and SECOND, over the
    /// whole span, by the method lead-lag
    #[arg(long, conflicts_with_all = ["pool", "follow", "line_a", "attributes"])]
    pub(super) matrix: bool,

    /// For --matrix: the share of unrelated pairs that is accepted among those found
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    pub(super) rate: f64,

    /// Length of a window [default: 1s; of xcorr 512ms, of lead-lag 10m]
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    window: Option<Duration>,

    /// The largest delay that is searched for, in both directions [default: 5ms; of lead-lag 1s]
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    max_lag: Option<Duration>,

    /// For match-value: width of the first bin, at most about the jitter of the delay. Wider ones
    /// are tried where none has a certain peak
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = some_duration)]
    bin: Duration,

    /// For xcorr: length of a cell, from 100ns to 1ms
    #[arg(long, value_name = "TIME", default_value = "4us", value_parser = cell)]
    grid: Duration,

    /// For xcorr: standard deviation of the smoothing of each side
    #[arg(long, value_name = "TIME", default_value = "15us", value_parser = duration)]
    smoothing: Duration,

    /// For xcorr: what is correlated
    #[arg(long, value_name = "SIGNAL", value_enum, default_value_t)]
    signal: SignalChoice,

    /// For xcorr: share the windows with all NVIDIA GPUs. Without one, or if one
    /// fails: an error, or with or-cpu the cores go on alone
    #[arg(long, value_name = "USE", value_enum, num_args = 0..=1, default_missing_value = "required")]
    pub(super) gpu: Option<GpuUse>,

    /// For lead-lag: the seed of its draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Method {
    /// The densest difference of times between equal values
    MatchValue,
    /// The difference of times between equal numbers of messages
    MatchSequence,
    /// The peak of the cross-correlation
    Xcorr,
    /// The lag at which the moves of one explain the other's: for two instruments
    LeadLag,
}

/// `--gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum GpuUse {
    /// A GPU that is absent or fails is an error
    Required,
    /// The cores do the work of a GPU that is absent or fails
    OrCpu,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum SignalChoice {
    /// The changes of the value, each at its time
    #[default]
    Differences,
    /// The value itself, over a circular window, as published for JayBeams
    Levels,
}

impl MethodArguments {
    pub(super) fn method(&self) -> Method {
        let usual = if self.matrix { Method::LeadLag } else { Method::MatchValue };
        self.method.unwrap_or(usual)
    }

    pub(super) fn is_by_number(&self) -> bool {
        self.method() == Method::MatchSequence
    }

    pub(super) fn window(&self) -> Duration {
        self.window.unwrap_or(match self.method() {
            Method::MatchValue | Method::MatchSequence => Duration::from_secs(1),
            Method::Xcorr => Duration::from_millis(512),
            Method::LeadLag => Duration::from_secs(600),
        })
    }

    fn max_lag(&self, method: Method) -> Duration {
        self.max_lag.unwrap_or(match method {
            Method::LeadLag => Duration::from_secs(1),
            _ => Duration::from_millis(5),
        })
    }

    pub(super) fn max_lag_ns(&self) -> i64 {
        nanos_of(self.max_lag(self.method()))
    }

    /// The options of the method, as they are typed.
    pub(super) fn settings(&self) -> Value {
        self.settings_of(self.method())
    }

    /// The same for any method, without the window.
    pub(super) fn settings_of(&self, method: Method) -> Value {
        let text = |time: Duration| nanos_text(nanos(time));
        let mut settings = json!({ "max-lag": text(self.max_lag(method)) });
        match method {
            Method::MatchSequence => {}
            Method::MatchValue => settings["bin"] = text(self.bin).into(),
            Method::Xcorr => {
                settings["grid"] = text(self.grid).into();
                settings["smoothing"] = text(self.smoothing).into();
                settings["signal"] = match self.signal {
                    SignalChoice::Differences => "differences".into(),
                    SignalChoice::Levels => "levels".into(),
                };
            }
            Method::LeadLag => settings["seed"] = self.seed.into(),
        }
        settings
    }

    /// The settings of a search for leads.
    pub(super) fn lead_lag(&self) -> LeadLagSettings {
        LeadLagSettings {
            max_lag_ns: nanos_of(self.max_lag(Method::LeadLag)),
            seed: self.seed,
            ..LeadLagSettings::default()
        }
    }

    /// An estimator.
    pub(super) fn estimator(&self) -> anyhow::Result<Box<dyn Estimator>> {
        Ok(match self.method() {
            Method::MatchSequence => Box::new(MatchSequence::new(self.max_lag_ns())),
            Method::MatchValue => Box::new(MatchValue::new(MatchValueSettings {
                max_lag_ns: self.max_lag_ns(),
                bin_ns: nanos_of(self.bin),
                ..MatchValueSettings::default()
            })),
            Method::LeadLag => Box::new(LeadLag::new(self.lead_lag())),
            Method::Xcorr => Box::new(Xcorr::new(self.correlated()).map_err(
                |SettingsError { field, value, expected }| {
                    let option = field.trim_end_matches("_ns").replace('_', "-");
                    anyhow!("--{option}: {value} ns: expected {expected}, in ns")
                },
            )?),
        })
    }

    /// The settings of a method of transforms; `None` for other methods.
    pub(super) fn of_transforms(&self) -> Option<XcorrSettings> {
        matches!(self.method(), Method::Xcorr).then(|| self.correlated())
    }

    fn correlated(&self) -> XcorrSettings {
        let usual = XcorrSettings {
            grid_ns: nanos_of(self.grid),
            window_ns: nanos_of(self.window()),
            max_lag_ns: self.max_lag_ns(),
            ..XcorrSettings::default()
        };
        match self.signal {
            SignalChoice::Differences => {
                XcorrSettings { smoothing_ns: nanos_of(self.smoothing), ..usual }
            }
            SignalChoice::Levels => XcorrSettings {
                signal: Signal::Levels,
                padding: Padding::Circular,
                smoothing_ns: 0,
                ..usual
            },
        }
    }
}

/// A share of more than 0 and less than 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| 0.0 < *share && *share < 1.0);
    share.ok_or_else(|| "expected a number between 0 and 1, as in 0.05".to_owned())
}

/// `--grid`.
fn cell(text: &str) -> Result<Duration, String> {
    let cell = duration(text)?;
    if (Duration::from_nanos(100)..=Duration::from_millis(1)).contains(&cell) {
        Ok(cell)
    } else {
        Err("expected a time from 100ns to 1ms".to_owned())
    }
}
