//! The answers about idle times, from the numbers.

use nanotape_console::values::grouped;
use nanotape_lab::text::nanos;

use super::{Case, Idle};
use crate::study::numbers::{is_clear, ratio, times};

pub(super) fn answers(cases: &[Case]) -> Vec<String> {
    let mut answers: Vec<String> =
        Idle::ALL.into_iter().filter_map(|idle| slowest_and_fastest(cases, idle)).collect();
    answers.extend(sleeping(cases));
    answers.extend(late(cases));
    answers.extend(count(cases));
    answers
}

fn of(cases: &[Case], idle: Idle) -> impl Iterator<Item = &Case> {
    cases.iter().filter(move |case| case.idle == idle && case.times.count() > 0)
}

fn rate(case: &Case) -> String {
    format!("{} a second", grouped(case.rate.into()))
}

/// The lowest rate against the highest.
fn slowest_and_fastest(cases: &[Case], idle: Idle) -> Option<String> {
    let rare = of(cases, idle).min_by_key(|case| case.rate)?;
    let frequent = of(cases, idle).max_by_key(|case| case.rate)?;
    let effect = ratio(&frequent.times.by_round, &rare.times.by_round)?;
    let (rare_ns, frequent_ns) = (rare.times.quartiles()?, frequent.times.quartiles()?);
    let verdict = match is_clear(&effect, 1.0) {
        true => times(&effect),
        false => format!("{}, which is within the noise", times(&effect)),
    };
    Some(format!(
        "A thread that {} between messages takes {} for a message at {} and {} at {}: {verdict}.",
        idle.name(),
        nanos(rare_ns.median),
        rate(rare),
        nanos(frequent_ns.median),
        rate(frequent)
    ))
}

/// The rate at which sleeping makes a message slower than spinning by most.
fn sleeping(cases: &[Case]) -> Option<String> {
    let pairs = of(cases, Idle::Sleeps).filter_map(|sleeps| {
        let spins = of(cases, Idle::Spins).find(|spins| spins.rate == sleeps.rate)?;
        Some((sleeps, ratio(&spins.times.by_round, &sleeps.times.by_round)?))
    });
    let pairs: Vec<_> = pairs.collect();
    let slower = pairs.iter().filter(|(_, effect)| is_clear(effect, 1.0) && effect.value > 1.0);
    // By the lower ends: a wide interval is no large effect.
    let largest = slower.max_by(|one, other| one.1.interval.low.total_cmp(&other.1.interval.low));
    Some(match largest {
        Some((case, effect)) => format!(
            "Sleeping instead of spinning costs most at {}: the message itself takes {}.",
            rate(case),
            times(effect)
        ),
        None if pairs.is_empty() => return None,
        None => "Sleeping instead of spinning makes no message slower by more than the noise."
            .to_owned(),
    })
}

/// How late a sleeper is.
fn late(cases: &[Case]) -> Option<String> {
    let sleeper = of(cases, Idle::Sleeps).min_by_key(|case| case.rate)?;
    let spinner = of(cases, Idle::Spins).find(|case| case.rate == sleeper.rate)?;
    Some(format!(
        "At {} a thread that sleeps begins a message {} after its due time, one that spins {}; \
         this is in addition to the time of the message.",
        rate(sleeper),
        nanos(sleeper.late.quartiles()?.median),
        nanos(spinner.late.quartiles()?.median)
    ))
}

/// How many messages the lowest rate has.
fn count(cases: &[Case]) -> Option<String> {
    let rare = of(cases, Idle::Sleeps).min_by_key(|case| case.rate)?;
    Some(format!(
        "The numbers at {} are of {} messages each; more seconds give more.",
        rate(rare),
        rare.times.count()
    ))
}

#[cfg(test)]
mod tests {
    use nanotape_trace::Histogram;

    use super::*;
    use crate::study::numbers::Times;

    fn times_of(rounds: [u64; 6]) -> Times {
        let mut times = Times::new();
        for nanos in rounds {
            let mut round = Histogram::fine();
            round.record(nanos);
            times.add(&round);
        }
        times
    }

    fn case(rate: u32, idle: Idle, nanos: u64) -> Case {
        let rounds = [0, 1, 2, 3, 4, 5].map(|more| nanos + more);
        let late = times_of([if idle == Idle::Sleeps { 60_000 } else { 50 }; 6]);
        Case { rate, idle, messages: 1, times: times_of(rounds), late }
    }

    #[test]
    fn a_slower_message_is_a_ratio_with_its_interval() {
        let cases = [
            case(1, Idle::Spins, 200),
            case(1, Idle::Sleeps, 600),
            case(1_000_000, Idle::Spins, 200),
            case(1_000_000, Idle::Sleeps, 200),
        ];
        let answers = answers(&cases);
        assert_eq!(
            answers[0],
            "A thread that spins between messages takes 202 ns for a message at 1 a second and 202 \
             ns at 1,000,000 a second: 1.00 x (95% interval 1.00 to 1.00), which is within the \
             noise."
        );
        assert!(
            answers[1].starts_with(
                "A thread that sleeps between messages takes 603 ns for a message at 1 a second \
                 and 202 ns at 1,000,000 a second: 2.98 x (95% interval "
            ),
            "{}",
            answers[1]
        );
        assert!(answers[2].contains("costs most at 1 a second"), "{}", answers[2]);
        assert!(answers[3].contains("60.0 us after its due time, one that spins 50.0 ns"));
        assert!(answers[4].contains("are of 6 messages each"), "{}", answers[4]);
    }

    #[test]
    fn equal_times_are_noise() {
        let cases = [case(1, Idle::Spins, 200), case(1, Idle::Sleeps, 200)];
        let answers = answers(&cases);
        assert!(answers[2].contains("no message slower by more than the noise"), "{answers:?}");
    }
}
