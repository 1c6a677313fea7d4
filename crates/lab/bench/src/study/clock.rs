//! What each way to read the time costs, how fine it is, and whether it goes back.

mod answers;
mod ways;

use nanotape_clock::{
    Drift,
    cross_core::{self, Effort, Offset},
};
use nanotape_console::values::grouped;
use nanotape_lab::text::nanos;
use serde_json::json;

use self::ways::{Reading, WAYS, Way};
use super::{
    Setup, StudyError,
    findings::{Axis, Cell, Findings, Plot, Point, Scale, Series, Unit, cells},
    numbers::Quartiles,
    rounds::Rounds,
};

const CELLS: &[Cell<Measured>] = cells! {
    "way" Words = |one| one.way.name;
    "p25" Nanos = |one| one.cost.map(|cost| cost.low);
    "p50" Nanos = |one| one.cost.map(|cost| cost.median);
    "p75" Nanos = |one| one.cost.map(|cost| cost.high);
    "resolution" Nanos = |one| one.resolution;
    "steps back" Count = |one| one.steps_back;
    "readings" Count = |one| one.readings;
};

/// The measurements of one way.
#[derive(Debug)]
struct Measured {
    way: &'static Way,
    /// The cost of one reading, in ns.
    cost: Option<Quartiles>,
    /// The smallest step between two readings, in ns.
    resolution: Option<f64>,
    steps_back: u64,
    readings: u64,
}

/// Everything that the answers are computed from.
#[derive(Debug)]
struct Study {
    ways: Vec<Measured>,
    /// A start and an end stamp with nothing between, in ns.
    empty: f64,
    offsets: Vec<Offset>,
    /// The drift during the run, after each round.
    drifts: Vec<Drift>,
}

pub(super) fn study(setup: &Setup<'_>) -> Result<Findings, StudyError> {
    let mut not_measured = Vec::new();
    let ways: Vec<&'static Way> =
        WAYS.iter().filter(|way| way.is_possible(&setup.clock, &mut not_measured)).collect();
    let rounds = Rounds::plan(setup.options.time, ways.len());
    let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
    let mut readings: Vec<Reading> = ways.iter().map(|_| Reading::default()).collect();
    let mut drifts = Vec::new();
    let mut turns = 0;
    rounds.run(setup.progress, &names, |index| {
        let reading = &mut readings[index];
        setup.on_first(|| ways[index].read(&setup.clock, rounds.turn, reading))?;
        turns += 1;
        if turns % ways.len() == 0 {
            drifts.push(setup.clock.drift());
        }
        Ok(())
    })?;
    let offsets = cross_core::measure(&setup.clock, Effort::default());
    if offsets.is_empty() {
        not_measured.push("offsets: this process may use one processor".to_owned());
    }
    let ways = ways.into_iter().zip(readings).map(|(way, reading)| Measured {
        way,
        cost: Quartiles::of(&reading.costs),
        resolution: reading.smallest_step(&setup.clock, way),
        steps_back: reading.steps_back,
        readings: reading.readings,
    });
    let empty = setup.clock.costs().empty_nanos;
    let study = Study { ways: ways.collect(), empty, offsets, drifts };
    Ok(study.findings(setup, not_measured))
}

impl Study {
    fn findings(&self, setup: &Setup<'_>, not_measured: Vec<String>) -> Findings {
        Findings {
            method: format!(
                "Each way is read many times in a row on processor {}; the cost is the median time \
                 of a reading over batches of {} readings, the resolution is the smallest step \
                 between two readings. Offsets between processors come from stamps that two \
                 threads exchange, drift from the kernel's clock after each round.",
                setup.cpus[0],
                grouped(ways::BATCH.into())
            ),
            answers: self.answers(),
            plots: [Some(self.cost_plot()), self.drift_plot(), self.offset_plot()]
                .into_iter()
                .flatten()
                .collect(),
            not_measured,
            ..Findings::of(CELLS, &self.ways)
        }
    }

    fn cost_plot(&self) -> Plot {
        let point = |one: &Measured| Some(Point::of(one.way.name, one.cost?));
        Plot {
            title: "Cost of a reading",
            x: Axis::words("way"),
            y: Axis::TIME,
            series: vec![Series::new("median and quartiles", self.ways.iter().filter_map(point))],
        }
    }

    fn drift_plot(&self) -> Option<Plot> {
        let point = |drift: &Drift| {
            let (ahead, bound) = (drift.counter_ahead_nanos as f64, drift.bound_nanos as f64);
            let x = json!(drift.elapsed_nanos as f64);
            Point { x, y: ahead, range: Some((ahead - bound, ahead + bound)) }
        };
        (!self.drifts.is_empty()).then(|| Plot {
            title: "The clock against the kernel's clock, with bounds",
            x: Axis::new("since the calibration", Unit::Nanos, Scale::Linear),
            y: Axis::new("ahead", Unit::Nanos, Scale::Linear),
            series: vec![Series::new("clock", self.drifts.iter().map(point))],
        })
    }

    fn offset_plot(&self) -> Option<Plot> {
        let known = self.offsets.iter().filter(|offset| offset.bound_nanos.is_finite());
        let point = |offset: &Offset| Point {
            x: json!(format!("{} against {}", offset.cpu, offset.reference_cpu)),
            y: offset.offset_nanos,
            range: Some((
                offset.offset_nanos - offset.bound_nanos,
                offset.offset_nanos + offset.bound_nanos,
            )),
        };
        let points: Vec<Point> = known.map(point).collect();
        (!points.is_empty()).then(|| Plot {
            title: "Offsets between the clocks of processors, with bounds",
            x: Axis::words("processors"),
            y: Axis::new("ahead", Unit::Nanos, Scale::Linear),
            series: vec![Series::new("offset", points)],
        })
    }
}

/// An offset with its bound: `+3.1 ns within 62 ns`.
fn offset_text(offset: &Offset) -> String {
    let sign = if offset.offset_nanos < 0.0 { "-" } else { "+" };
    format!("{sign}{} within {}", nanos(offset.offset_nanos.abs()), nanos(offset.bound_nanos))
}
