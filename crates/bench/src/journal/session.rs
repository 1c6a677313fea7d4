//! Rounds of readings, and what they amount to.

use std::{fs::File, path::Path, time::Duration};

use nanotape_lab::environment::Noise;
use nanotape_shm::free_bytes;

use super::{
    ROLE,
    error::JournalBenchError,
    job::{Job, Settings},
    rows::{FDATASYNC, FDATASYNC_32, LINE, Row, Section, What},
};
use crate::{
    folder::Folder,
    sides::{self, Cast, Ratio, Reading, SideError, rounds, run},
    spread::Spread,
};

/// What was measured of one row.
pub type Measured = sides::Measured<Row>;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What all readings have in common.
    pub settings: Settings,
    /// What is read in each round.
    pub rows: Vec<&'static Row>,
    /// How often.
    pub rounds: u32,
}

impl Plan {
    /// Readings that will be taken.
    pub fn readings(&self) -> u64 {
        u64::from(self.rounds) * self.rows.len() as u64
    }

    /// Whether there is room for the largest reading.
    pub fn check(&self) -> Result<(), JournalBenchError> {
        for row in &self.rows {
            let folder = self.settings.folder_of(row);
            let file = File::open(folder).map_err(SideError::system("open the folder"))?;
            let (free_bytes, needed_bytes) = (free_bytes(&file), self.settings.needed_bytes(row));
            if needed_bytes > free_bytes {
                let folder = folder.clone();
                return Err(JournalBenchError::NoRoom { folder, free_bytes, needed_bytes });
            }
        }
        Ok(())
    }
}

/// Measures what was [checked](Plan::check). `program` plays [`role`](super::role); `progress` is told how
/// many readings are done, and what the next one is of. Ends in front of the next reading when `is_ended`.
pub fn measure(
    program: &Path,
    plan: &Plan,
    progress: &mut dyn FnMut(u64, &str),
    is_ended: &dyn Fn() -> bool,
) -> Result<Vec<Measured>, JournalBenchError> {
    rounds(&plan.rows, plan.rounds, progress, |row, padding| {
        if is_ended() {
            return Err(JournalBenchError::Ended);
        }
        let reading = read(program, row, &plan.settings, padding)?;
        match reading.complaint(false) {
            // The line counts what it answers, and is no journal.
            Some(complaint) if row.is_of_journal() => {
                Err(JournalBenchError::Unaccounted { row: row.name, complaint })
            }
            _ => Ok(reading),
        }
    })
}

/// Takes one reading of a row.
fn read(
    program: &Path,
    row: &'static Row,
    settings: &Settings,
    padding: usize,
) -> Result<Reading, JournalBenchError> {
    let folder = Folder::new("meet").map_err(SideError::system("make a folder in memory"))?;
    let data = Folder::new_in(settings.folder_of(row), "journal");
    let data = data.map_err(SideError::system("make a folder for the journal"))?;
    let jobs = Job::all(row, settings, folder.path().to_owned(), data.path().to_owned());
    let cast = Cast {
        program,
        row: row.name,
        variable: ROLE,
        jobs: jobs.iter().map(Job::to_text).collect(),
        arguments: vec![folder.path(), data.path()],
        padding,
        // At the slowest pace there is: of a disk, and of messages.
        work: match row.is_on_disk() {
            true => Duration::from_millis(100 * settings.amount(row)),
            false => Duration::from_micros(100 * settings.amount(row).min(1 << 40)),
        },
    };
    Ok(run(&cast, || folder.remove())?)
}

impl Measured {
    /// Messages appended or copied in a second; of those that are timed, none.
    pub fn written_per_second(&self) -> Option<Spread> {
        Spread::of(&self.numbers(Reading::written_per_second)).filter(|_| !self.row.is_timed())
    }

    /// The number by which the row is judged, round by round: p50 in ns, or messages a second.
    pub fn by_round(&self) -> Vec<f64> {
        self.numbers(|reading| main_number(self.row, reading))
    }

    /// How the row stands to its limit, if that was measured too.
    pub fn ratio(&self, all: &[Measured]) -> Option<Ratio> {
        let (to, is_to_half) = base(self.row)?;
        let base = all.iter().find(|one| one.row.name == to)?;
        let quotient = self.quotient(
            |own| main_number(self.row, own),
            base,
            |other| main_number(base.row, other),
        )?;
        let value = if is_to_half { 2.0 * quotient } else { quotient };
        Some(Ratio { value, to, is_to_half })
    }

    /// What disturbed its processes.
    pub fn noise(&self) -> Noise {
        self.noise_of(false)
    }
}

/// p50 where something is timed, and else what is written in a second.
fn main_number(row: &Row, reading: &Reading) -> Option<f64> {
    match row.is_timed() {
        true => reading.times.map(|times| times.p50_ns as f64).filter(|&nanos| nanos > 0.0),
        false => reading.written_per_second(),
    }
}

/// What a row is held against, and whether half of it.
fn base(row: &Row) -> Option<(&'static str, bool)> {
    let is_usual = row.name.contains("/73/");
    let of_length = |usual, larger| if is_usual { usual } else { larger };
    match (row.section, row.what) {
        (Section::Append, _) => Some((of_length("limit/73/mapped", "limit/256/mapped"), false)),
        (Section::Call, _) => {
            Some((of_length("limit/73/mapped-call", "limit/256/mapped-call"), false))
        }
        (Section::WriteToRead, _) => Some((LINE, true)),
        (Section::Sync, What::Sync { batch: 1 }) => Some((FDATASYNC, false)),
        (Section::Sync, _) => Some((FDATASYNC_32, false)),
        (Section::Limits | Section::LimitTimes, What::Copy { .. }) => {
            let name = match row.is_timed() {
                true => of_length("limit/73/mapped-call", "limit/256/mapped-call"),
                false => of_length("limit/73/mapped", "limit/256/mapped"),
            };
            (name != row.name).then_some((name, false))
        }
        (Section::Limits | Section::LimitTimes, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::ROWS,
        sides::{Times, Written},
    };

    #[test]
    fn every_row_but_the_limits_has_a_limit_of_its_kind() {
        for row in ROWS {
            let Some((to, _)) = base(row) else {
                assert!(row.name.starts_with("limit/"), "{}", row.name);
                continue;
            };
            let limit = ROWS.iter().find(|limit| limit.name == to).unwrap();
            assert_eq!(limit.is_timed(), row.is_timed(), "{}", row.name);
            assert!(to == LINE || limit.length == row.length, "{}", row.name);
        }
    }

    #[test]
    fn a_way_is_held_against_half_a_round_trip_and_a_rate_against_a_rate() {
        let of = |name: &str, readings: Vec<Reading>| Measured {
            row: ROWS.iter().find(|row| row.name == name).unwrap(),
            readings,
        };
        let timed = |p50_ns| Reading {
            times: Some(Times { p50_ns, ..Times::default() }),
            ..Reading::default()
        };
        let rate = |messages| Reading {
            written: Written { messages, nanos: 1_000 },
            ..Reading::default()
        };
        let all = [
            of("tail/73/100000", vec![timed(220), timed(180)]),
            of(LINE, vec![timed(200), timed(240)]),
            of("append/256/throughput", vec![rate(10)]),
            of("limit/256/mapped", vec![rate(20)]),
        ];
        let ratio = all[0].ratio(&all).unwrap();
        assert_eq!((ratio.value, ratio.to, ratio.is_to_half), ((2.2 + 1.5) / 2.0, LINE, true));
        assert_eq!(all[2].ratio(&all).unwrap().value, 0.5);
        assert_eq!(all[2].written_per_second().unwrap().median, 1e7);
        assert_eq!(all[2].ratio(&all[..3]), None);
    }
}
