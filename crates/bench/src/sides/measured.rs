//! Rounds of readings, and what they amount to.
//!
//! Within a round every row is read once, in an order drawn by lot, so that what the machine does
//! meanwhile meets all of them alike. Ratios are of readings of the same round.

use nanotape_lab::{
    environment::{FOREIGN_LIMIT, Noise, STOLEN_LIMIT},
    statistics::order::median,
};

use super::{Reading, Times, start};
use crate::{lot::Lot, spread::Spread};

/// A row of a table: it has a name.
pub trait Named: 'static {
    /// What it is called, everywhere.
    fn name(&self) -> &'static str;
}

/// What was measured of one row.
#[derive(Debug)]
pub struct Measured<R: Named> {
    /// Which.
    pub row: &'static R,
    /// One of each round.
    pub readings: Vec<Reading>,
}

/// How many times another row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The median over rounds of the quotient of two readings of the same round.
    pub value: f64,
    /// The row that it is held against.
    pub to: &'static str,
    /// Whether half of that row's time is what it is held against: a way, not a round trip.
    pub is_to_half: bool,
}

/// The rows of these names, and those below a name, in the order of the table; all of them if there are
/// no names. Else the name that nothing has, and all there are.
pub(crate) fn select<R: Named>(
    rows: &'static [R],
    names: &[String],
) -> Result<Vec<&'static R>, (String, String)> {
    let is_meant = |row: &R, name: &str| {
        row.name().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(name) = names.iter().find(|name| !rows.iter().any(|row| is_meant(row, name))) {
        let known = rows.iter().map(Named::name).collect::<Vec<_>>().join(", ");
        return Err((name.clone(), known));
    }
    let is_wanted = |row: &&R| names.is_empty() || names.iter().any(|name| is_meant(row, name));
    Ok(rows.iter().filter(is_wanted).collect())
}

/// Takes so many readings of each row; `read` takes one, with so many bytes of padding. `progress` is
/// told how many are done, and what the next one is of.
pub(crate) fn rounds<R: Named, E>(
    rows: &[&'static R],
    rounds: u32,
    progress: &mut dyn FnMut(u64, &str),
    mut read: impl FnMut(&'static R, usize) -> Result<Reading, E>,
) -> Result<Vec<Measured<R>>, E> {
    let mut measured: Vec<Measured<R>> =
        rows.iter().map(|&row| Measured { row, readings: Vec::new() }).collect();
    let mut turns: Vec<usize> = (0..measured.len()).collect();
    let mut done = 0;
    for round in 1..=rounds {
        let mut lot = Lot(round.into());
        lot.shuffle(&mut turns);
        for &turn in &turns {
            let Measured { row, readings } = &mut measured[turn];
            progress(done, row.name());
            let padding = lot.below(start::MOST_PADDING);
            readings.push(read(row, padding)?);
            done += 1;
        }
    }
    Ok(measured)
}

impl<R: Named> Measured<R> {
    /// Messages that the slowest reader read in a second.
    pub fn read_per_second(&self) -> Option<Spread> {
        Spread::of(&self.numbers(Reading::read_per_second))
    }

    /// A time of single messages. A round whose reader lost all of them has none.
    pub fn time_ns(&self, time: impl Fn(&Times) -> Option<u64>) -> Option<Spread> {
        self.time_ns_of(|reading| reading.times.as_ref(), time)
    }

    /// The same of other times of a reading.
    pub fn time_ns_of(
        &self,
        which: impl Fn(&Reading) -> Option<&Times>,
        time: impl Fn(&Times) -> Option<u64>,
    ) -> Option<Spread> {
        let of = |reading: &Reading| {
            let times = which(reading).filter(|times| times.count > 0)?;
            time(times).map(|nanos| nanos as f64)
        };
        Spread::of(&self.numbers(of))
    }

    /// What disturbed its processes: shares are medians over rounds, of the worst process of each.
    /// `shares`: processes of the row share processors, and are foreign to each other.
    pub(crate) fn noise_of(&self, shares: bool) -> Noise {
        let mut noise = Noise {
            stolen: median(&self.numbers(|reading| reading.noise.stolen)),
            foreign: median(&self.numbers(|reading| reading.noise.foreign)),
            involuntary_switches: self
                .readings
                .iter()
                .map(|reading| reading.noise.involuntary_switches)
                .sum(),
            ..Noise::default()
        };
        let mut judge = |share: Option<f64>, limit: f64, who: &str| {
            if let Some(share) = share.filter(|&share| share > limit) {
                let (share, limit) = (100.0 * share, 100.0 * limit);
                noise.sentences.push(format!(
                    "{who} took {share:.1}% of a processor of this row (limit {limit:.1}%)"
                ));
            }
        };
        judge(noise.stolen, STOLEN_LIMIT, "the hypervisor");
        if !shares {
            judge(noise.foreign, FOREIGN_LIMIT, "other processes");
        }
        noise
    }

    pub(crate) fn numbers(&self, number: impl Fn(&Reading) -> Option<f64>) -> Vec<f64> {
        self.readings.iter().filter_map(number).collect()
    }

    /// The median over rounds of a number of this row against one of another row.
    pub(crate) fn quotient(
        &self,
        own: impl Fn(&Reading) -> Option<f64>,
        other: &Self,
        others: impl Fn(&Reading) -> Option<f64>,
    ) -> Option<f64> {
        let pairs = self.readings.iter().zip(&other.readings);
        let quotients: Vec<f64> =
            pairs.filter_map(|(one, base)| Some(own(one)? / others(base)?)).collect();
        median(&quotients)
    }
}
