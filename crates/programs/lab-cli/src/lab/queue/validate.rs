//! `--validate`: replays a part of the input through a real plant on its recorded schedule, and
//! compares the delays with those that the simulation predicts.

mod text;

use std::{collections::BTreeMap, ops::Range};

use anyhow::bail;
use clap::Args;
use nanotape_answers::InputKind;
use nanotape_bench::paced::{ArrivalClock, Excerpt, Paced, Schedule};
use nanotape_clock::Clock;
use nanotape_console::{progress::Progress, records::RecordFormat, values::count};
use nanotape_lab::{
    NoiseWatch, Pin, Placement, PlacementRequest, environment::Noise, record::RunContext,
};
use nanotape_plant::PlantConfig;
use nanotape_queue::{Bursts, Replay, ServiceTimes, Validation, validation::Case};
use nanotape_types::NanosSinceMidnight;
use serde_json::{Value, json};

use super::QueueCommand;

/// Replays before the first message that counts, so that the thread waits as it does later.
const LEAD_NS: u64 = 10_000_000;

/// The longest replay: each of its schedules takes this long in every round.
const MOST_NS: u64 = 60_000_000_000;

/// The longest wait before a message of a calibration.
const MOST_WAIT_NS: u64 = 100_000;

/// What a message takes, about: the rest of the time up to the next one is an idle time.
const USUAL_NS: u64 = 200;

const SECOND_NS: u64 = 1_000_000_000;

/// The date of a plant whose input has none: no time depends on it.
const DATE: &str = "2019-12-30";

#[derive(Args, Debug)]
pub(super) struct ValidateArguments {
    /// Replay a part of the input through a real plant on its recorded schedule, and compare the
    /// delays with the predicted ones: busiest (the second with the most messages), burst (the
    /// worst one at the service time of the windows), or a span such as 09:30..09:30:05
    #[arg(long, value_name = "PART,...", num_args = 0..=1, require_equals = true,
        default_missing_value = "busiest,burst", value_delimiter = ',', value_parser = part)]
    validate: Vec<Part>,

    /// Replays of each schedule
    #[arg(long, value_name = "N", default_value_t = 3, requires = "validate",
        value_parser = count::<u32>(1..=100))]
    rounds: u32,

    /// Replay at FACTOR times the recorded speed
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "validate",
        value_parser = speed)]
    speed: f64,

    /// Replay on this processor [default: the last allowed one]
    #[arg(long, value_name = "CPU", requires = "validate")]
    cpu: Option<u32>,
}

/// What is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The second with the most messages.
    Busiest,
    /// The worst burst.
    Burst,
    /// A span of the day, in ns since midnight.
    Span { from_ns: u64, until_ns: u64 },
}

fn part(text: &str) -> Result<Part, String> {
    let span = || {
        let (from, until) = text.split_once("..")?;
        let [from_ns, until_ns] = [from, until]
            .map(|time| time.parse::<NanosSinceMidnight>().map(NanosSinceMidnight::get));
        let (from_ns, until_ns) = (from_ns.ok()?, until_ns.ok()?);
        let is_valid = from_ns < until_ns && until_ns - from_ns <= MOST_NS;
        is_valid.then_some(Part::Span { from_ns, until_ns })
    };
    match text {
        "busiest" => Ok(Part::Busiest),
        "burst" => Ok(Part::Burst),
        _ => span().ok_or_else(|| {
            "expected busiest, burst, or a span of at most a minute such as 09:30..09:30:05"
                .to_owned()
        }),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.01..=100.0).contains(&speed) => Ok(speed),
        _ => Err("expected a factor from 0.01 to 100, such as 1.6".to_owned()),
    }
}

/// The results of all parts, and where they were measured.
pub(super) struct Validated {
    parts: Vec<Validation>,
    speed: f64,
    context: RunContext,
}

/// Arrivals that are replayed.
struct Window {
    name: String,
    from_ns: u64,
    /// The last one that counts.
    last_ns: u64,
    /// Messages that count, if fewer than those of the time.
    messages: Option<u64>,
}

impl QueueCommand {
    /// Refuses a replay of what has no messages, and in a format without one.
    pub(super) fn require_messages(&self, format: RecordFormat) -> anyhow::Result<()> {
        if self.validate.validate.is_empty() {
            return Ok(());
        }
        let name = self.input.name();
        if name.is_standard() {
            bail!("standard input is read only once: give --validate a file");
        }
        if format == RecordFormat::Csv {
            bail!("CSV has no replay: use text, JSON or HTML with --validate");
        }
        if self.input.open(self.span.into(), &[])?.kind() != InputKind::Day {
            bail!(
                "{name}: has records without the exchange's messages; --validate needs a day file \
                 or a capture"
            );
        }
        Ok(())
    }

    /// The replays, if any are requested. `at_ns`: the service time of the worst burst.
    pub(super) fn validated(&self, at_ns: Option<u64>) -> anyhow::Result<Option<Validated>> {
        if self.validate.validate.is_empty() {
            return Ok(None);
        }
        let opening = self.input.open(self.span.into(), &[])?;
        let mut config = self.input.plant_config();
        if opening.midnight_ns.is_none() {
            config.input.date = DATE.parse().ok();
        }
        let midnight_ns = opening.midnight_ns.unwrap_or(0);
        let (windows, is_received) = self.windows_to_replay(at_ns.unwrap_or(1))?;
        let clock = match is_received {
            true => ArrivalClock::Received { midnight_ns },
            false => ArrivalClock::Event,
        };
        let spans: Vec<Range<u64>> = windows
            .iter()
            .map(|window| window.from_ns.saturating_sub(LEAD_NS)..window.last_ns.saturating_add(1))
            .collect();
        let mut source = self.source()?;
        let excerpt = Excerpt::read(&mut source, clock, &spans)?;
        let arrivals: Vec<(u64, u8)> = excerpt.arrivals().collect();
        let cases = windows.iter().filter_map(|window| window.case(&arrivals));
        let cases: Vec<Case> = cases.collect();
        self.compare(&config, &excerpt, &arrivals, &cases).map(Some)
    }

    fn source(&self) -> anyhow::Result<nanotape_feed::DaySource> {
        let name = self.input.name();
        let source = self.input.open_day_again()?;
        source.ok_or_else(|| anyhow::anyhow!("{name}: --validate needs a day file or a capture"))
    }

    /// The arrivals of each part, and whether they are receive times.
    fn windows_to_replay(&self, at_ns: u64) -> anyhow::Result<(Vec<Window>, bool)> {
        let mut bursts = Bursts::new(at_ns, 1);
        let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
        let (_, clock) = self.read_arrivals(|at_ns, _, _| {
            bursts.arrive(at_ns, |_| ());
            *seconds.entry(at_ns / SECOND_NS).or_default() += 1;
        })?;
        let burst = bursts.finish().into_iter().next();
        let busiest = seconds.iter().rev().max_by_key(|(_, messages)| **messages);
        let window = |part: &Part| match *part {
            Part::Busiest => {
                let from_ns = busiest?.0 * SECOND_NS;
                let last_ns = from_ns + SECOND_NS - 1;
                Some(Window { name: "busiest second".into(), from_ns, last_ns, messages: None })
            }
            Part::Burst => {
                let burst = burst.as_ref()?;
                let name = format!("worst burst at {at_ns} ns a message");
                let (from_ns, last_ns) = (burst.first_ns, burst.last_ns);
                Some(Window { name, from_ns, last_ns, messages: Some(burst.messages) })
            }
            Part::Span { from_ns, until_ns } => {
                let last_ns = until_ns - 1;
                Some(Window { name: "span".into(), from_ns, last_ns, messages: None })
            }
        };
        let windows: Vec<Window> = self.validate.validate.iter().filter_map(window).collect();
        let longest = windows.iter().find(|window| window.last_ns - window.from_ns > MOST_NS);
        if let Some(longest) = longest {
            bail!("the {} takes more than a minute; use --at, or a span", longest.name);
        }
        Ok((windows, clock == "received"))
    }

    /// Replays all schedules in turns, and compares.
    fn compare(
        &self,
        config: &PlantConfig,
        excerpt: &Excerpt,
        arrivals: &[(u64, u8)],
        cases: &[Case],
    ) -> anyhow::Result<Validated> {
        let &ValidateArguments { rounds, speed, cpu, .. } = &self.validate;
        let placement = Placement::apply(&PlacementRequest {
            pin: cpu.map_or(Pin::Last, Pin::To),
            real_time_priority: None,
            lock_memory: false,
        });
        if let (Some(cpu), [refused, ..]) = (cpu, placement.refused()) {
            bail!("--cpu {cpu}: {refused}");
        }
        let mut context = RunContext::capture(&placement);
        placement.release();
        let clock: Clock = context.clock;
        let seed = self.receiver.seed();
        let paced = Paced { config, excerpt, cpu, clock };
        let progress = Progress::with_steps("replays", u64::from(rounds) * 3);
        let watch = NoiseWatch::start(clock, None);
        let mut noises = Vec::new();
        let mut replays: [Vec<Replay>; 3] = Default::default();
        for turn in 0..rounds as usize * 3 {
            // Each round begins with another schedule.
            let (round, which) = (turn / 3, (turn + turn / 3) % 3);
            let schedule = match which {
                0 => Schedule::BackToBack,
                1 => Schedule::AfterIdle { waits_ns: waits_ns(arrivals, speed, round, rounds) },
                _ => Schedule::Recorded { speed },
            };
            let mut source = self.source()?;
            let (replay, noise) = paced.replay(&mut source, &schedule)?;
            replays[which].push(replay);
            noises.push(noise);
            progress.set(turn as u64 + 1);
        }
        drop(progress);
        context.noise = noise_of(watch.stop(), &noises);
        let [busy, idle, recorded] = replays;
        let letters: Vec<u8> = arrivals.iter().map(|(_, letter)| *letter).collect();
        let times = ServiceTimes::of(&letters, &busy, &idle);
        let compare =
            |case| times.as_ref().and_then(|times| Validation::of(case, times, &recorded, seed));
        let parts: Vec<Validation> = cases.iter().filter_map(compare).collect();
        if parts.is_empty() {
            bail!("{}: no message in the parts to replay", self.input.name());
        }
        Ok(Validated { parts, speed, context })
    }
}

/// The noise of the whole run, with the shares of the processor that others took in the worst
/// replay.
fn noise_of(mut whole: Noise, replays: &[Noise]) -> Noise {
    let taken = |noise: &Noise| noise.foreign.unwrap_or(0.0) + noise.stolen.unwrap_or(0.0);
    let worst = replays.iter().max_by(|one, other| taken(one).total_cmp(&taken(other)));
    if let Some(worst) = worst {
        (whole.stolen, whole.foreign) = (worst.stolen, worst.foreign);
        whole
            .sentences
            .extend(worst.taken_by_others().map(|line| format!("in one replay, {line}")));
        whole.unknown.clone_from(&worst.unknown);
    }
    whole
}

impl Window {
    /// Its messages; `None` without any.
    fn case(&self, arrivals: &[(u64, u8)]) -> Option<Case> {
        let first = arrivals.partition_point(|(at_ns, _)| *at_ns < self.from_ns);
        let end = arrivals.partition_point(|(at_ns, _)| *at_ns <= self.last_ns);
        let most = self.messages.and_then(|messages| usize::try_from(messages).ok());
        let end = most.map_or(end, |most| end.min(first.saturating_add(most)));
        let span_ns = (arrivals.get(first)?.0, arrivals.get(end.checked_sub(1)?)?.0);
        (first < end).then(|| Case { name: self.name.clone(), messages: first..end, span_ns })
    }
}

/// The idle times of the input, about, each before another message: all are moved by a part of the
/// input that is larger in each round. So idle times come together as they do in the input.
fn waits_ns(arrivals: &[(u64, u8)], speed: f64, round: usize, rounds: u32) -> Vec<u64> {
    let gaps = arrivals.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / speed);
    let idle = gaps.map(|gap| (gap as u64).saturating_sub(USUAL_NS).min(MOST_WAIT_NS));
    let mut waits: Vec<u64> = idle.chain([0]).collect();
    // Below the length: a round is below their number.
    let by = waits.len() * (round + 1) / (rounds as usize + 1);
    waits.rotate_left(by);
    waits
}

impl Validated {
    /// The object of docs/formats/lab-queue.md.
    pub(super) fn record(&self) -> Value {
        let mut record = self.context.line("queue", "", json!({}));
        for field in ["format", "version", "kind", "name"] {
            record.as_object_mut().map(|record| record.remove(field));
        }
        record["speed"] = json!(self.speed);
        record["parts"] = self.parts.iter().map(Validation::record).collect();
        record
    }
}
