//! What the program `ethtool` prints about network cards. The kernel has these settings in no file.

use std::{
    io,
    process::{Command, Stdio},
};

/// Where the program is. The search path of an ordinary user often lacks the second one.
const PROGRAMS: [&str; 2] = ["ethtool", "/usr/sbin/ethtool"];

/// What ethtool prints about a network card. A text is empty if the driver does not report it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CardTexts {
    /// The name of the card, such as `eth0`.
    pub card: String,
    /// `ethtool -c`: how long the card waits before it interrupts.
    pub coalescing: String,
    /// `ethtool -k`: what the card and the kernel do with packets.
    pub features: String,
    /// `ethtool -g`: the sizes of its rings.
    pub rings: String,
}

impl CardTexts {
    /// Runs ethtool; an error is the reason why it does not answer.
    pub(super) fn of_this_machine(cards: &[String]) -> Result<Vec<Self>, String> {
        let texts = |card: &String| -> io::Result<Self> {
            Ok(Self {
                card: card.clone(),
                coalescing: run("-c", card)?,
                features: run("-k", card)?,
                rings: run("-g", card)?,
            })
        };
        cards.iter().map(texts).collect::<io::Result<_>>().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "ethtool is not installed".to_owned(),
            _ => format!("cannot run ethtool: {error}"),
        })
    }
}

fn run(option: &str, card: &str) -> io::Result<String> {
    let mut last = Err(io::ErrorKind::NotFound.into());
    for program in PROGRAMS {
        let mut command = Command::new(program);
        command.arg(option).arg(card).env("LC_ALL", "C");
        last = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        if last.is_ok() {
            break;
        }
    }
    last.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first word after a name and a colon: `off` for `Adaptive RX` in `Adaptive RX: off  TX: off`.
/// `None` for `n/a`, which is what a driver without the setting has.
pub(super) fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value =
        text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next().filter(|word| *word != "n/a")
}

/// Whether a feature is on and can be switched: `on`, but not `on [fixed]`.
pub(super) fn is_on(features: &str, name: &str) -> bool {
    let line = features.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.is_some_and(|value| value.trim() == "on")
}

/// The receive ring: its size, and the largest one.
pub(super) fn receive_ring(rings: &str) -> Option<(u64, u64)> {
    let (most, now) = rings.split_once("Current hardware settings")?;
    let size = |text| word(text, "RX")?.parse().ok();
    Some((size(now)?, size(most)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_from_the_output_of_ethtool() {
        let text = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: n/a\n\
                    stats-block-usecs:\tn/a\n\nrx-usecs:\t8\nrx-usecs-irq:\tn/a\n";
        assert_eq!((word(text, "Adaptive RX"), word(text, "rx-usecs")), (Some("on"), Some("8")));
        assert_eq!((word(text, "rx-usecs-irq"), word(text, "rx-frames")), (None, None));
        assert_eq!(word("rx-usecs", "rx-usecs"), None);
    }

    #[test]
    fn features_that_cannot_be_switched_do_not_count() {
        let text = "Features for eth0:\ngeneric-receive-offload: on\n\
                    large-receive-offload: on [fixed]\nrx-gro-hw: off\n";
        let on = |name| is_on(text, name);
        assert!(on("generic-receive-offload") && !on("large-receive-offload") && !on("rx-gro-hw"));
    }

    #[test]
    fn rings_have_a_size_and_a_largest_one() {
        let text = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\n\
                    TX:\t\t4096\nCurrent hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\n";
        assert_eq!(receive_ring(text), Some((512, 4096)));
        for rubbish in
            ["", "Current hardware settings:\nRX: 5\n", "RX: n/a\nCurrent hardware settings"]
        {
            assert_eq!(receive_ring(rubbish), None, "{rubbish}");
        }
    }
}
