//! The answers about scheduling classes, from the numbers.

use nanotape_lab::text::nanos;

use super::{Case, FIFO_ALONE, FIFO_BUSY, FIFO_RESTS, Measured, NORMAL_ALONE, NORMAL_BUSY, Study};
use crate::study::numbers::{Quartiles, factor};

/// A longest interruption that is this much longer is not chance.
const CLEARLY_LONGER: f64 = 2.0;

impl Study {
    pub(super) fn answers(&self) -> Vec<String> {
        let mut answers = Vec::new();
        answers.extend(self.compared("alone on its processor", NORMAL_ALONE, FIFO_ALONE));
        answers.extend(self.compared("that shares its processor", NORMAL_BUSY, FIFO_RESTS));
        answers.extend(self.beside_a_busy_one());
        answers.extend(self.without_rest());
        answers
    }

    fn find(&self, case: Case) -> Option<(&Measured, Quartiles)> {
        let (_, measured) = self.cases.iter().find(|(one, _)| *one == case)?;
        Some((measured, measured.quartiles()?))
    }

    /// The two classes in the same situation; the normal one alone without the other.
    fn compared(&self, where_it_is: &str, normal: Case, real_time: Case) -> Option<String> {
        let slice = nanos(self.slice.as_nanos() as f64);
        let (measured, lost) = self.find(normal)?;
        let mut sentence = format!(
            "A normal thread {where_it_is} loses {} of {slice} (quartiles {} to {}, longest \
             interruption {})",
            nanos(lost.median),
            nanos(lost.low),
            nanos(lost.high),
            nanos(measured.longest_ns as f64)
        );
        if let Some((other, other_lost)) = self.find(real_time) {
            let rests = if real_time.rests { " that rests" } else { "" };
            sentence += &format!(
                "; a real-time thread{rests} loses {} (quartiles {} to {}, longest {})",
                nanos(other_lost.median),
                nanos(other_lost.low),
                nanos(other_lost.high),
                nanos(other.longest_ns as f64)
            );
            let overlap = other_lost.low <= lost.high && lost.low <= other_lost.high;
            if overlap {
                sentence += ": the middle halves overlap, so the class makes no clear difference \
                             to most slices";
            }
        }
        Some(sentence + ".")
    }

    /// What a busy thread takes from a normal one.
    fn beside_a_busy_one(&self) -> Option<String> {
        let (alone, _) = self.find(NORMAL_ALONE)?;
        let (busy, _) = self.find(NORMAL_BUSY)?;
        Some(format!(
            "Beside a busy thread on the same processor a normal thread loses {:.1}% of its time; \
             alone it loses {:.2}%.",
            100.0 * busy.lost_share(),
            100.0 * alone.lost_share()
        ))
    }

    /// What the kernel takes from a real-time thread that never rests.
    fn without_rest(&self) -> Option<String> {
        let (restless, _) = self.find(FIFO_BUSY)?;
        let (rested, _) = self.find(FIFO_RESTS)?;
        let (longest, rested_longest) = (restless.longest_ns as f64, rested.longest_ns as f64);
        let times = longest / rested_longest.max(1.0);
        Some(match times > CLEARLY_LONGER {
            true => format!(
                "A real-time thread that never rests is interrupted for up to {} if a normal \
                 thread waits, {} x as long as one that rests in time ({}).",
                nanos(longest),
                factor(times),
                nanos(rested_longest)
            ),
            false => format!(
                "A real-time thread that never rests is interrupted for up to {}, one that rests \
                 for up to {}: the kernel took no clear share of it here.",
                nanos(longest),
                nanos(rested_longest)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MILLISECOND: f64 = 1e6;

    fn measured(lost_ms: f64, longest_ms: f64) -> Measured {
        let slices = [0.9, 1.0, 1.0, 1.1].map(|share| share * lost_ms * MILLISECOND).to_vec();
        Measured {
            slices,
            longest_ns: (longest_ms * MILLISECOND) as u64,
            lost_ns: (lost_ms * MILLISECOND) as u64,
            watched_ns: 100_000_000,
        }
    }

    fn study(cases: Vec<(Case, Measured)>) -> Study {
        Study { slice: Duration::from_millis(100), cases }
    }

    #[test]
    fn the_classes_are_compared_and_the_share_of_the_kernel_is_named() {
        let answers = study(vec![
            (NORMAL_ALONE, measured(0.5, 0.2)),
            (NORMAL_BUSY, measured(50.0, 8.0)),
            (FIFO_ALONE, measured(0.5, 0.2)),
            (FIFO_BUSY, measured(5.0, 50.0)),
            (FIFO_RESTS, measured(0.5, 0.25)),
        ])
        .answers();
        assert!(
            answers[0].ends_with("so the class makes no clear difference to most slices."),
            "{}",
            answers[0]
        );
        assert_eq!(
            answers[1],
            "A normal thread that shares its processor loses 50.0 ms of 100 ms (quartiles 45.0 ms \
             to 50.0 ms, longest interruption 8.00 ms); a real-time thread that rests loses 500 us \
             (quartiles 450 us to 500 us, longest 250 us)."
        );
        assert!(answers[2].contains("a normal thread loses 50.0% of its time"), "{}", answers[2]);
        assert!(
            answers[3].contains("up to 50.0 ms if a normal thread waits, 200 x as long"),
            "{}",
            answers[3]
        );
    }

    #[test]
    fn equal_interruptions_are_no_share_of_the_kernel() {
        let cases = vec![(FIFO_BUSY, measured(0.5, 0.3)), (FIFO_RESTS, measured(0.5, 0.25))];
        let answers = study(cases).answers();
        assert!(answers[0].contains("took no clear share"), "{}", answers[0]);
    }

    #[test]
    fn without_the_real_time_class_the_normal_one_is_still_answered() {
        let answers =
            study(vec![(NORMAL_ALONE, measured(0.5, 0.2)), (NORMAL_BUSY, measured(50.0, 8.0))])
                .answers();
        assert_eq!(answers.len(), 3);
        assert!(answers[0].ends_with("longest interruption 200 us)."), "{}", answers[0]);
    }
}
