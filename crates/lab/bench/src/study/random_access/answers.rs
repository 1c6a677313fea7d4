//! The answers about random reads, from the numbers.

use nanotape_console::values::{bytes_text, counted};
use nanotape_lab::{statistics::Estimate, text::nanos};

use super::{Case, Measured, Reads, Study};
use crate::study::numbers::{factor, is_clear, ratio, times};

impl Study {
    pub(super) fn answers(&self) -> Vec<String> {
        let mut answers: Vec<String> = self.by_size().into_iter().collect();
        answers.extend(self.beside_others());
        answers.extend(self.in_memory());
        answers.extend(self.in_parallel());
        answers.extend(self.oversubscribed());
        answers
    }

    fn of(&self, reads: Reads, processes: usize) -> impl Iterator<Item = &(Case, Measured)> {
        self.cases
            .iter()
            .filter(move |(case, _)| case.reads == reads && case.processes == processes)
    }

    fn largest(&self, reads: Reads, processes: usize) -> Option<(&Case, &Measured)> {
        let largest = self.of(reads, processes).max_by_key(|(case, _)| case.bytes)?;
        Some((&largest.0, &largest.1))
    }

    fn by_size(&self) -> Option<String> {
        let (small, small_measured) =
            self.of(Reads::Dependent, 1).min_by_key(|(case, _)| case.bytes)?;
        let (large, large_measured) = self.largest(Reads::Dependent, 1)?;
        let (small_ns, large_ns) = (small_measured.quartiles()?, large_measured.quartiles()?);
        Some(format!(
            "A dependent read takes {} from {} and {} from {}, {} x as long.",
            nanos(small_ns.median),
            bytes_text(small.bytes),
            nanos(large_ns.median),
            bytes_text(large.bytes),
            factor(large_ns.median / small_ns.median)
        ))
    }

    /// A process alone and one beside others, in the same rounds.
    fn slowdown(&self, case: &Case, measured: &Measured) -> Option<Estimate> {
        let alone = Case { processes: 1, ..*case };
        let (_, base) = self.cases.iter().find(|(one, _)| *one == alone)?;
        ratio(&base.by_round, &measured.by_round)
    }

    /// The size at which other processes cost most.
    fn beside_others(&self) -> Option<String> {
        if self.processors < 2 {
            return None;
        }
        let cases = self.of(Reads::Dependent, self.processors);
        let effects: Vec<(&Case, Estimate)> = cases
            .filter_map(|(case, measured)| Some((case, self.slowdown(case, measured)?)))
            .collect();
        let clear = effects.iter().filter(|(_, one)| is_clear(one, 1.0) && one.value > 1.0);
        // By the lower ends: a wide interval is no large effect.
        let worst = clear.max_by(|one, other| one.1.interval.low.total_cmp(&other.1.interval.low));
        // At least two.
        let processes = format!("{} processes", self.processors);
        Some(match worst {
            Some((case, effect)) => format!(
                "Of {} sizes other processes cost most at {}: with {processes} at the same time a \
                 read takes {} as long.",
                effects.len(),
                bytes_text(case.bytes),
                times(effect)
            ),
            None if effects.is_empty() => return None,
            None => format!(
                "With {processes} at the same time no size is slower by more than the noise."
            ),
        })
    }

    /// What other processes cost where no cache helps.
    fn in_memory(&self) -> Option<String> {
        if self.processors < 2 {
            return None;
        }
        let (case, measured) = self.largest(Reads::Dependent, self.processors)?;
        let effect = self.slowdown(case, measured)?;
        let noise = if is_clear(&effect, 1.0) { "" } else { ", which is within the noise" };
        let (_, alone) = self.largest(Reads::Dependent, 1)?;
        Some(format!(
            "From {} a read takes {} beside {} and {} alone: {}{noise}.",
            bytes_text(case.bytes),
            nanos(measured.quartiles()?.median),
            match case.processes {
                2 => "another process".to_owned(),
                processes => format!("{} other processes", processes - 1),
            },
            nanos(alone.quartiles()?.median),
            times(&effect)
        ))
    }

    /// Independent reads against dependent ones.
    fn in_parallel(&self) -> Option<String> {
        let (case, independent) = self.largest(Reads::Independent, 1)?;
        let (_, dependent) = self.largest(Reads::Dependent, 1)?;
        let effect = ratio(&independent.by_round, &dependent.by_round)?;
        Some(format!(
            "Independent reads from {} take {} each; dependent ones take {} as long, which is \
             about the number of reads that one processor has in progress.",
            bytes_text(case.bytes),
            nanos(independent.quartiles()?.median),
            times(&effect)
        ))
    }

    /// Twice as many processes as processors.
    fn oversubscribed(&self) -> Option<String> {
        let (case, full) = self.largest(Reads::Dependent, self.processors)?;
        let (_, double) = self.largest(Reads::Dependent, 2 * self.processors)?;
        let effect = ratio(&full.together, &double.together)?;
        let noise = if is_clear(&effect, 1.0) { "" } else { ", which is within the noise" };
        Some(format!(
            "{} processes on {} read {} times a second from {} together, {} read {} times: \
             {}{noise}.",
            2 * self.processors,
            counted(self.processors as u64, "processor"),
            rate(double.together()?),
            bytes_text(case.bytes),
            self.processors,
            rate(full.together()?),
            times(&effect)
        ))
    }
}

/// Reads a second: `12.9 million`.
fn rate(reads: f64) -> String {
    format!("{:.1} million", reads / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(nanos: f64, together: f64) -> Measured {
        let by_round: Vec<f64> = [0.99, 1.0, 1.01, 1.0, 0.98, 1.02].map(|one| one * nanos).into();
        Measured { slices: by_round.clone(), by_round, together: vec![together; 6] }
    }

    fn case(bytes: u64, reads: Reads, processes: usize) -> Case {
        Case { bytes, reads, processes }
    }

    fn study(beside: f64) -> Study {
        let (small, large) = (16 << 10, 256 << 20);
        Study {
            processors: 2,
            cases: vec![
                (case(small, Reads::Dependent, 1), measured(1.0, 1e9)),
                (case(small, Reads::Dependent, 2), measured(1.0, 2e9)),
                (case(large, Reads::Dependent, 1), measured(100.0, 1e7)),
                (case(large, Reads::Dependent, 2), measured(100.0 * beside, 2e7)),
                (case(large, Reads::Dependent, 4), measured(100.0, 1e7)),
                (case(large, Reads::Independent, 1), measured(10.0, 1e8)),
            ],
        }
    }

    #[test]
    fn every_answer_follows_the_numbers() {
        let answers = study(1.5).answers();
        let expected = [
            "A dependent read takes 1.00 ns from 16 KiB and 100 ns from 256 MiB, 100 x as long.",
            "Of 2 sizes other processes cost most at 256 MiB: with 2 processes at the same time a \
             read takes 1.50 x (95% interval 1.50 to 1.50) as long.",
            "From 256 MiB a read takes 150 ns beside another process and 100 ns alone: 1.50 x (95% \
             interval 1.50 to 1.50).",
            "Independent reads from 256 MiB take 10.0 ns each; dependent ones take 10.0 x (95% \
             interval 10.0 to 10.0) as long, which is about the number of reads that one \
             processor has in progress.",
            "4 processes on 2 processors read 10.0 million times a second from 256 MiB together, 2 \
             read 20.0 million times: 0.50 x (95% interval 0.50 to 0.50).",
        ];
        assert_eq!(answers, expected);
    }

    #[test]
    fn an_effect_within_the_noise_is_reported_as_noise() {
        let answers = study(1.0).answers();
        assert!(answers[1].contains("no size is slower by more than the noise"), "{}", answers[1]);
        assert!(answers[2].ends_with("which is within the noise."), "{}", answers[2]);
    }
}
