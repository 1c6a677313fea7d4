//! The whole procedure with pilot, plan and looks, on noise with a known true effect.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

use super::*;

/// The noise of a comparison: differences between processes and between blocks of one program.
struct Noise {
    random: Xoshiro256PlusPlus,
    /// Standard deviation of a process's offset, which is constant for its life.
    layout: f64,
    /// Standard deviation of a block, in most of them; sometimes eight times that.
    block: f64,
}

impl Noise {
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        crate::statistics::normal::quantile(self.uniform().clamp(1e-12, 1.0 - 1e-12))
    }

    /// A replicate of arms whose logarithms have the true distances `ln_truths`.
    fn replicate(&mut self, ln_truths: [f64; 3]) -> Vec<ArmReplicate> {
        // Shared by all arms: the load of other processes.
        let weather = 0.05 * self.normal();
        let arm = |noise: &mut Self, ln_truth: f64| {
            let offset = noise.layout * noise.normal();
            let block = |noise: &mut Self| {
                let scale = if noise.uniform() < 0.05 { 8.0 } else { 1.0 };
                weather + ln_truth + offset + scale * noise.block * noise.normal()
            };
            ArmReplicate {
                block_ln_ns: (0..3).map(|_| block(noise)).collect(),
                samples_ns: vec![(weather + ln_truth + offset).exp()],
            }
        };
        ln_truths.map(|ln_truth| arm(self, ln_truth)).into()
    }
}

/// Shares of verdicts in `sessions` comparisons with a true change, and of voided runs.
struct Shares {
    slower: f64,
    faster: f64,
    same: f64,
    void: f64,
    replicates: f64,
}

fn sessions(truth: f64, layout: f64, sessions: u32) -> Shares {
    let rules = Rules::default();
    let mut shares = Shares { slower: 0.0, faster: 0.0, same: 0.0, void: 0.0, replicates: 0.0 };
    let one = 1.0 / f64::from(sessions);
    for session in 0..sessions {
        let random = Xoshiro256PlusPlus::seed_from_u64(u64::from(session) + 1);
        let mut noise = Noise { random, layout, block: 0.002 };
        let mut measure =
            |_: &Pair, _: &mut Option<Cut>| Ok(noise.replicate([0.0, 0.0, truth.ln_1p()]));
        let subject = Subject {
            label: String::new(),
            revision: None,
            program: "/no/program".into(),
            arguments: Vec::new(),
            benchmark: String::new(),
        };
        let pair = Pair { name: String::new(), base: subject.clone(), candidate: subject };
        let results =
            compare_by(vec![pair], &rules, &mut measure, 1, &mut |_| ()).expect("no process");
        let compared = &results[0];
        let control = compared.control.expect("enough replicates");
        match compared.verdict {
            Verdict::Slower => shares.slower += one,
            Verdict::Faster => shares.faster += one,
            Verdict::Same => shares.same += one,
            Verdict::NotEnoughPower if judge::rejects(&control, &rules) => shares.void += one,
            Verdict::NotEnoughPower => {}
        }
        shares.replicates += one * compared.base_ns.len() as f64;
    }
    println!(
        "truth {:+.1}%, layout {:.1}%: slower {:.1}%, faster {:.1}%, same {:.1}%, void {:.1}%, \
         {:.0} replicates",
        truth * 100.0,
        layout * 100.0,
        shares.slower * 100.0,
        shares.faster * 100.0,
        shares.same * 100.0,
        shares.void * 100.0,
        shares.replicates
    );
    shares
}

/// At most `nominal`, plus three standard deviations for this many sessions.
fn within(share: f64, nominal: f64, sessions: u32) -> bool {
    share <= nominal + 3.0 * (nominal * (1.0 - nominal) / f64::from(sessions)).sqrt()
}

const SESSIONS: u32 = 600;

#[test]
fn equal_programs_are_the_same_and_never_different() {
    for layout in [0.0, 0.004, 0.008] {
        let shares = sessions(0.0, layout, SESSIONS);
        assert_eq!(shares.slower + shares.faster, 0.0);
        assert!(shares.same >= Rules::default().power, "{}", shares.same);
        assert!(within(shares.void, Rules::default().alpha, SESSIONS), "{}", shares.void);
    }
}

#[test]
fn changes_beyond_the_smallest_effect_are_found() {
    for layout in [0.0, 0.004, 0.008] {
        for truth in [0.03, 0.05] {
            let shares = sessions(truth, layout, SESSIONS);
            assert_eq!(shares.faster + shares.same, 0.0);
            assert!(shares.slower >= Rules::default().power, "{truth}: {}", shares.slower);
        }
    }
    let shares = sessions(-0.03, 0.004, SESSIONS);
    assert!(shares.faster >= Rules::default().power && shares.slower == 0.0, "{}", shares.faster);
}

/// The true change is exactly the limit between both verdicts: either claim is an error.
#[test]
fn a_change_of_exactly_the_smallest_effect_is_not_decided() {
    for layout in [0.0, 0.004] {
        let shares = sessions(Rules::default().smallest_effect, layout, SESSIONS);
        let alpha = Rules::default().alpha;
        assert!(within(shares.slower, alpha, SESSIONS), "slower {}", shares.slower);
        assert!(within(shares.same, alpha, SESSIONS), "same {}", shares.same);
    }
}

#[test]
fn noise_beyond_the_cap_ends_undecided() {
    let shares = sessions(0.0, 0.08, 40);
    assert_eq!(shares.slower + shares.faster, 0.0);
    assert!(shares.same < 0.1, "{}", shares.same);
    assert_eq!(shares.replicates.round(), Rules::default().cap as f64);
}
