//! What commands share that send a day: where the lines go, their faults, and the report.

mod report;

use std::{
    fmt::Display,
    net::{Ipv4Addr, SocketAddrV4},
    str::FromStr,
};

use anyhow::bail;
use clap::Args;
use nanotape_answers::day_ns;
use nanotape_arguments::errors::of_input;
use nanotape_exchange::{
    Faults,
    server::{ExchangeError, ExchangeOptions},
};
use nanotape_plant::{Moment, Pace};
use nanotape_types::{Alpha, NanosSinceMidnight};
pub(crate) use report::{Schedule, day_record, day_text, report_errors, require_sent};

use crate::status::note;

/// The lines of a day: where they go, what they carry, and their faults.
#[derive(Args, Debug)]
pub(crate) struct LineArguments {
    /// Where line A goes: a multicast group or one receiver
    #[arg(long, value_name = "IP:PORT", value_parser = target)]
    pub(crate) line_a: Option<SocketAddrV4>,

    /// Where line B goes
    #[arg(long, value_name = "IP:PORT", value_parser = target)]
    pub(crate) line_b: Option<SocketAddrV4>,

    /// Interface that multicast packets leave by, by its address
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST, value_parser = ip)]
    pub(crate) interface: Ipv4Addr,

    /// TTL of multicast packets; 0 keeps them on this machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) ttl: u8,

    /// Name of the session, up to 10 characters
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SESSION, value_parser = session)]
    pub(crate) session: Alpha<10>,

    /// Only from this moment on (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970; servers have the
    /// messages before it at once
    #[arg(long, value_name = "T")]
    pub(crate) from: Option<Moment>,

    /// Only before this moment (exclusive); the lines end there
    #[arg(long, value_name = "T", alias = "to")]
    pub(crate) until: Option<Moment>,

    /// Send what is before this moment at full speed
    #[arg(long, value_name = "T")]
    pub(crate) pace_from: Option<Moment>,

    /// Faults of line A
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    pub(crate) faults_a: Option<Faults>,

    /// Faults of line B
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    pub(crate) faults_b: Option<Faults>,

    /// Faults that hit both lines at once
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    pub(crate) faults_both: Option<Faults>,

    /// Seed of all faults, and of the cuts of both lines
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

const DEFAULT_SESSION: &str = "NANOTAPE";

impl LineArguments {
    /// Where line A and line B go.
    pub(crate) fn targets(&self) -> [Option<SocketAddrV4>; 2] {
        [self.line_a, self.line_b]
    }

    /// Whether a line goes anywhere.
    pub(crate) fn is_any(&self) -> bool {
        self.line_a.or(self.line_b).is_some()
    }

    /// The options of a day or a capture. `midnight_of` gives the midnight before a moment.
    pub(crate) fn options(
        &self,
        pace: Pace,
        name: &str,
        midnight_of: impl Fn(u64) -> Option<u64>,
    ) -> anyhow::Result<ExchangeOptions> {
        let of_day = |moment: Option<Moment>| {
            let Some(moment) = moment else { return Ok(None) };
            let midnight_ns = match moment {
                Moment::Clock(_) => None,
                Moment::Unix(nanos) => midnight_of(nanos),
            };
            let nanos = day_ns(moment, name, midnight_ns).map_err(of_input)?;
            anyhow::Ok(Some(NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX)))
        };
        let [from, until, pace_from] =
            [of_day(self.from)?, of_day(self.until)?, of_day(self.pace_from)?];
        if let (Some(from), Some(until)) = (from, until)
            && from >= until
        {
            bail!("--from {from} is not before --until {until}");
        }
        if pace_from.is_some() && pace == Pace::Max {
            bail!("--pace-from has no effect at full speed: choose a pace, as in --pace 1x");
        }
        Ok(ExchangeOptions {
            session: self.session,
            pace_milli: pace.milli(),
            lines: self.targets(),
            faults: [&self.faults_a, &self.faults_b]
                .map(|faults| faults.clone().unwrap_or_default()),
            faults_of_both: self.faults_both.clone().unwrap_or_default(),
            interface: self.interface,
            ttl: self.ttl.into(),
            seed: self.seed,
            from,
            until,
            pace_from,
            report: |line| note(line),
            ..ExchangeOptions::default()
        })
    }

    /// Whether a moment needs the date of the input.
    pub(crate) fn needs_date(&self) -> bool {
        let moments = [self.from, self.until, self.pace_from];
        moments.iter().flatten().any(|moment| matches!(moment, Moment::Unix(_)))
    }

    /// Returns an error if options of lines to these targets contradict each other.
    pub(crate) fn require_consistent(
        &self,
        [line_a, line_b]: [Option<SocketAddrV4>; 2],
    ) -> anyhow::Result<()> {
        let has_line = line_a.or(line_b).is_some();
        for (option, faults, is_used, needs) in [
            ("--faults-a", &self.faults_a, line_a.is_some(), "--line-a"),
            ("--faults-b", &self.faults_b, line_b.is_some(), "--line-b"),
            ("--faults-both", &self.faults_both, has_line, "a line"),
        ] {
            if !is_used && faults.is_some() {
                bail!("{option} has no effect without {needs}");
            }
        }
        if let Some(fault) = self.faults_both.as_ref().and_then(Faults::not_of_both) {
            bail!(
                "--faults-both: {fault} cannot hit both lines at once; use --faults-a and \
                 --faults-b, or drop, burst, start, silence, session=@ or restart"
            );
        }
        Ok(())
    }

    /// Returns an error if the numbers of a feed begin again that has no such fault.
    pub(crate) fn require_no_restart(&self, is_iex: bool) -> anyhow::Result<()> {
        let restarts = |faults: &Option<Faults>| {
            faults.as_ref().is_some_and(|faults| faults.restart.is_some())
        };
        if restarts(&self.faults_a) || restarts(&self.faults_b) {
            bail!("restart hits both lines at once: use --faults-both");
        }
        if restarts(&self.faults_both) && !is_iex {
            bail!("--faults-both: restart applies to the protocols of IEX");
        }
        Ok(())
    }

    /// Returns an error if an option applies only to packets that are made, and none are.
    pub(crate) fn require_no_packets_of_own(&self, name: &str) -> anyhow::Result<()> {
        let usual = session(DEFAULT_SESSION).ok();
        for (option, is_used) in [
            ("--faults-a", self.faults_a.is_some()),
            ("--faults-b", self.faults_b.is_some()),
            ("--faults-both", self.faults_both.is_some()),
            ("--seed", self.seed != 1),
            ("--session", Some(self.session) != usual),
        ] {
            if is_used {
                bail!("{name}: is a capture, and {option} applies to the packets of a day");
            }
        }
        Ok(())
    }
}

/// The status of an error of the exchange: that of its source, or the environment.
pub(crate) fn of_exchange(error: ExchangeError) -> anyhow::Error {
    match error {
        ExchangeError::Source(error) => error.into(),
        ExchangeError::Capture(error) => error.into(),
        error => anyhow::anyhow!("{error}"),
    }
}

/// A value of a type that reads itself.
pub(crate) fn parsed<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: Display>,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Where packets go: those that are sent are of IPv4, as those of captures are.
pub(crate) fn target(text: &str) -> Result<SocketAddrV4, String> {
    let address = text.parse::<SocketAddrV4>().ok().filter(|address| address.port() != 0);
    address.ok_or_else(|| {
        let found = match text.parse::<Ipv4Addr>() {
            Ok(_) => format!(", not {text} without a port"),
            Err(_) => String::new(),
        };
        format!("expected an IPv4 address and a port, as in 239.1.1.1:5001{found}")
    })
}

fn ip(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| format!("expected an IPv4 address, as in 10.0.0.5, not {text:?}"))
}

fn session(text: &str) -> Result<Alpha<10>, String> {
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let mut bytes = [b' '; 10];
    match bytes.get_mut(..text.len()).filter(|_| is_name) {
        Some(name) => {
            name.copy_from_slice(text.as_bytes());
            Ok(Alpha::new(bytes))
        }
        None => Err("expected 1 to 10 printable characters without spaces".to_owned()),
    }
}
