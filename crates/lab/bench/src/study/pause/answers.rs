//! The answers about pauses, from the numbers.

use nanotape_lab::text::nanos;

use super::{Measured, Study};
use crate::study::numbers::{difference, factor, interval_ns, is_clear};

impl Study {
    pub(super) fn answers(&self) -> Vec<String> {
        let Some((plain, others)) = self.ways.split_first() else { return Vec::new() };
        let mut answers: Vec<String> = self.cost(plain).into_iter().collect();
        answers.extend(round_trip(plain));
        answers.extend(others.iter().filter_map(|way| effect(plain, way)));
        answers.extend(self.ways.iter().filter_map(|way| {
            let beside = factor(way.beside?);
            Some(format!(
                "A thread that shares the core takes {beside} x as long beside a loop with {} as \
                 beside an idle one.",
                way.name
            ))
        }));
        answers
    }

    fn cost(&self, plain: &Measured) -> Option<String> {
        let pause = self.pause?.median;
        let ticks = pause * self.ticks_per_nano;
        let turn = plain.turn?.median;
        Some(format!(
            "A pause takes {} here ({ticks:.0} ticks of the counter); without it the loop polls \
             every {}.",
            nanos(pause),
            nanos(turn)
        ))
    }
}

fn round_trip(plain: &Measured) -> Option<String> {
    let trip = plain.round_trips.quartiles()?;
    Some(format!(
        "A round trip with {} takes {} (quartiles {} to {}), so the other processor sees a store \
         after about {}.",
        plain.name,
        nanos(trip.median),
        nanos(trip.low),
        nanos(trip.high),
        nanos(trip.median / 2.0)
    ))
}

/// What a way adds to the round trip.
fn effect(plain: &Measured, way: &Measured) -> Option<String> {
    let base = plain.round_trips.quartiles()?.median;
    let effect = difference(&plain.round_trips.by_round, &way.round_trips.by_round)?;
    let interval = interval_ns(&effect);
    Some(if !is_clear(&effect, 0.0) {
        format!(
            "Polling with {} changes a round trip of {} by less than the noise ({interval}).",
            way.name,
            nanos(base)
        )
    } else if effect.value > 0.0 {
        format!(
            "Polling with {} adds {} to a round trip of {} ({interval}).",
            way.name,
            nanos(effect.value),
            nanos(base)
        )
    } else {
        format!(
            "Polling with {} makes a round trip of {} shorter by {} ({interval}).",
            way.name,
            nanos(base),
            nanos(-effect.value)
        )
    })
}

#[cfg(test)]
mod tests {
    use nanotape_trace::Histogram;

    use super::*;
    use crate::study::numbers::{Quartiles, Times};

    fn way(name: &'static str, turn: f64, round_trips: [u64; 8]) -> Measured {
        let mut times = Times::new();
        for nanos in round_trips {
            let mut round = Histogram::fine();
            round.record_many(nanos, 100);
            times.add(&round);
        }
        let turn = Some(Quartiles { low: turn, median: turn, high: turn });
        Measured { name, ticks_per_nano: 2.6, turn, round_trips: times, beside: None }
    }

    fn study(ways: Vec<Measured>) -> Study {
        let pause = Some(Quartiles { low: 13.0, median: 13.5, high: 14.0 });
        Study { pause, ticks_per_nano: 2.6, ways }
    }

    #[test]
    fn a_clear_difference_is_a_number_and_an_unclear_one_is_noise() {
        let plain = [100, 101, 102, 103, 104, 105, 106, 107];
        let study = study(vec![
            way("plain spin", 0.5, plain),
            way("slow", 14.0, plain.map(|nanos| nanos + 20)),
            way("quick", 14.0, plain.map(|nanos| nanos - 10)),
            way("equal", 14.0, [107, 98, 104, 101, 106, 102, 108, 104]),
        ]);
        let answers = study.answers();
        assert_eq!(
            answers[0],
            "A pause takes 13.5 ns here (35 ticks of the counter); without it the loop polls every \
             0.50 ns."
        );
        assert!(
            answers[1].ends_with(
                "(quartiles 101 ns to 105 ns), so the other processor sees a \
                                  store after about 51.5 ns."
            ),
            "{}",
            answers[1]
        );
        assert!(answers[2].starts_with("Polling with slow adds 20.0 ns to"), "{}", answers[2]);
        assert!(answers[3].contains("quick makes a round trip of 103 ns shorter by 10.0 ns"));
        assert!(answers[4].contains("equal changes a round trip of 103 ns by less than the noise"));
        assert_eq!(answers.len(), 5);
    }

    #[test]
    fn without_a_second_processor_there_is_the_cost_only() {
        let ways = vec![
            Measured { round_trips: Times::new(), ..way("plain spin", 0.5, [100; 8]) },
            Measured { round_trips: Times::new(), ..way("pause", 14.0, [100; 8]) },
        ];
        assert_eq!(study(ways).answers().len(), 1);
    }

    #[test]
    fn a_shared_core_has_a_sentence_for_each_way() {
        let slow = Measured { beside: Some(1.84), ..way("plain spin", 0.5, [100; 8]) };
        let answers = study(vec![slow]).answers();
        assert!(answers[2].starts_with("A thread that shares the core takes 1.84 x as long"));
    }
}
