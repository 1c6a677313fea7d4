//! The process that measures one arm of a comparison, controlled by the comparing process.
//!
//! A benchmark program becomes a worker if the environment variable [`ROLE`] requests it. It then
//! reads one command per line from standard input and writes one line per answer to standard
//! output:
//!
//! | command | answer |
//! |---|---|
//! | (start) | `nanotape-lab worker 1` |
//! | `names` | `names NAME...` |
//! | `open CPU PRIORITY lock NAME` (`-` for any processor, no real-time class, no lock) | `opened OPERATIONS` |
//! | `calibrate WARM_UP_NANOS` | `cut RUNS_PER_SAMPLE SAMPLES_PER_EPOCH` |
//! | `turn EPOCHS RUNS_PER_SAMPLE SAMPLES_PER_EPOCH` | `samples NANOS...`, epoch after epoch |
//!
//! A command that fails is answered with `refused REASON`. The worker ends with its standard input,
//! so it never outlives the process that started it. A turn begins with an epoch that is not
//! reported, because the other arm has used the caches since the last turn.

use std::{
    io::{self, BufRead, Write},
    time::Duration,
};

use nanotape_clock::Clock;

use crate::{
    placement::{Pin, Placement, PlacementRequest},
    sampler::{Cut, Running},
    suite::Suite,
    text::in_full,
};

/// The environment variable that gives a benchmark program another role.
pub(crate) const ROLE: &str = "NANOTAPE_LAB_ROLE";

/// Its value for a worker.
pub(crate) const WORKER: &str = "worker";

/// The first word of its value for a process whose instructions are counted; the number of runs and
/// the benchmark follow.
pub(crate) const COUNT: &str = "count";

/// The first line of a worker.
pub(crate) const GREETING: &str = "nanotape-lab worker 1";

/// Limits of a turn, so that a mistyped command cannot fill memory.
const MOST_SAMPLES: u64 = 10_000_000;

/// Serves commands until standard input ends.
pub(crate) fn serve(
    suite: &Suite,
    commands: impl BufRead,
    mut answers: impl Write,
) -> io::Result<()> {
    writeln!(answers, "{GREETING}")?;
    answers.flush()?;
    // A rate that is accurate to some millionths is enough for ratios of a thousandth, and a worker
    // lives only briefly.
    let clock = Clock::calibrate_for(Duration::from_millis(2));
    let mut worker = Worker { suite, clock, running: None, samples: vec![], placement: None };
    for command in commands.lines() {
        let answer = worker.answer(&command?).unwrap_or_else(|reason| {
            // One line, whatever characters the reason contains.
            format!("refused {}", reason.replace(['\n', '\r'], " "))
        });
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

struct Worker<'a> {
    suite: &'a Suite,
    clock: Clock,
    running: Option<Box<dyn Running>>,
    samples: Vec<u64>,
    placement: Option<Placement>,
}

impl Worker<'_> {
    fn answer(&mut self, command: &str) -> Result<String, String> {
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["names"] => Ok(format!("names {}", self.suite.names().collect::<Vec<_>>().join(" "))),
            ["open", cpu, priority, lock, name] => {
                let request = request(cpu, priority, lock)?;
                self.open(&request, name)
            }
            ["calibrate", warm_up] => {
                let warm_up_nanos = number(warm_up)?;
                let running = self.running.as_mut().ok_or("nothing is open")?;
                let cut = running.calibrate(&self.clock, warm_up_nanos);
                let cut = cut.map_err(|error| error.to_string())?;
                Ok(format!("cut {} {}", cut.runs_per_sample, cut.samples_per_epoch))
            }
            ["turn", epochs, runs, samples] => {
                let cut = Cut {
                    runs_per_sample: number(runs)?.clamp(1, u64::from(u32::MAX)) as u32,
                    samples_per_epoch: number(samples)?.clamp(1, u64::from(u32::MAX)) as u32,
                };
                self.turn(number(epochs)?, cut)
            }
            _ => Err(format!("unknown command {command:?}")),
        }
    }

    fn open(&mut self, request: &PlacementRequest, name: &str) -> Result<String, String> {
        // Refusals are reported by the comparing process, which requested the same for itself.
        self.placement = None;
        self.placement = Some(Placement::apply(request));
        let running = self.suite.open(name).map_err(|error| in_full(&error))?;
        let operations = running.operations();
        self.running = Some(running);
        Ok(format!("opened {operations}"))
    }

    fn turn(&mut self, epochs: u64, cut: Cut) -> Result<String, String> {
        let running = self.running.as_mut().ok_or("nothing is open")?;
        let count = epochs.saturating_add(1).saturating_mul(u64::from(cut.samples_per_epoch));
        if count > MOST_SAMPLES {
            return Err(format!("{count} samples are more than {MOST_SAMPLES}"));
        }
        self.samples.clear();
        self.samples.reserve(count as usize);
        for _ in 0..=epochs {
            let epoch = running.epoch(&self.clock, cut, &mut self.samples);
            epoch.map_err(|error| error.to_string())?;
        }
        let mut answer = String::from("samples");
        for nanos in &self.samples[cut.samples_per_epoch as usize..] {
            answer.push(' ');
            answer.push_str(&nanos.to_string());
        }
        Ok(answer)
    }
}

fn request(cpu: &str, priority: &str, lock: &str) -> Result<PlacementRequest, String> {
    let pin = match cpu {
        "-" => Pin::Free,
        cpu => Pin::To(u32::try_from(number(cpu)?).map_err(|error| error.to_string())?),
    };
    let real_time_priority = match priority {
        "-" => None,
        priority => Some(number(priority)?.clamp(1, 49) as u8),
    };
    Ok(PlacementRequest { pin, real_time_priority, lock_memory: lock == "lock" })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    struct Add(u64);

    impl Fixture for Add {
        type Answer = u64;
        fn operations(&self) -> u64 {
            3
        }
        fn run(&mut self) -> u64 {
            core::hint::black_box(self.0) + 1
        }
        fn expected(&self) -> u64 {
            if self.0 == 0 { 99 } else { self.0 + 1 }
        }
    }

    fn answers_to(commands: &str) -> Vec<String> {
        let suite = Suite::new("s").add("add/1", || Add(1)).add("wrong", || Add(0));
        let mut answers = Vec::new();
        serve(&suite, commands.as_bytes(), &mut answers).unwrap();
        String::from_utf8(answers).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_worker_runs_its_commands_line_by_line() {
        let answers = answers_to("names\nopen - - - add/1\ncalibrate 0\nturn 2 5 7\n");
        assert_eq!(answers[..3], [GREETING, "names add/1 wrong", "opened 3"]);
        assert!(answers[3].starts_with("cut "), "{}", answers[3]);
        let samples: Vec<&str> = answers[4].split(' ').collect();
        assert_eq!((samples[0], samples.len()), ("samples", 1 + 2 * 7));
        assert!(samples[1..].iter().all(|nanos| nanos.parse::<u64>().is_ok()));
        assert_eq!(answers.len(), 5);
    }

    #[test]
    fn what_a_worker_cannot_do_is_refused_in_one_line() {
        let answers = answers_to(
            "turn 1 1 1\nopen - - - other\nopen x - - add/1\nopen - - lock wrong\ncalibrate 0\nsing\n\
             turn 99999999999 1 99\nturn 1 one 1\n",
        );
        let expected = [
            "refused nothing is open",
            "refused unknown benchmark other: use one of add/1, wrong",
            "refused \"x\" is not a number",
            "opened 3",
            "refused a run answered 1, expected 99",
            "refused unknown command \"sing\"",
            "refused 9900000000000 samples are more than 10000000",
            "refused \"one\" is not a number",
        ];
        assert_eq!(answers[1..], expected);
    }
}
