//! Where a tap begins, and the options that do not apply to the kind of its INPUT.

use std::str::FromStr;

use anyhow::bail;
use nanotape_answers::InputKind;
use nanotape_plant::Moment;
use nanotape_ring::Start;

use super::TapArguments;

/// `--from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TapStart {
    /// Never a time.
    Start(Start),
    Moment(Moment),
}

impl TapStart {
    pub(super) fn start(self) -> Option<Start> {
        if let Self::Start(start) = self { Some(start) } else { None }
    }

    pub(super) fn moment(self) -> Option<Moment> {
        if let Self::Moment(moment) = self { Some(moment) } else { None }
    }
}

impl FromStr for TapStart {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(Start::Time(_)) | Err(_) => text.parse().map(Self::Moment).map_err(|_| {
                "expected oldest, newest, a sequence number from 1, a time of day such as 09:45, a \
                 time such as 2019-12-30T14:45:00Z, or @ and nanoseconds since 1970"
            }),
            Ok(start) => Ok(Self::Start(start)),
        }
    }
}

/// Refuses the options that do not apply to this INPUT.
pub(super) fn check(command: &TapArguments, kind: InputKind) -> anyhow::Result<()> {
    let TapArguments { input, heal, rejoin, whole, wait, through_restarts, .. } = command;
    let is_newest = command.from == Some(TapStart::Start(Start::Newest));
    let is_time = matches!(command.from, Some(TapStart::Moment(_)));
    let given = [
        ("--heal", heal.is_some()),
        ("--rejoin", rejoin.is_some()),
        ("--through-restarts", *through_restarts),
        ("--wait", !wait.is_zero()),
        ("--name", command.name.is_some()),
        ("--whole", *whole),
        ("--from newest", is_newest),
        ("--from with a time", is_time),
        ("--until", command.until.is_some()),
        ("--check-digest", command.check_digest),
    ];
    // What only an input with a writer has.
    const OF_WRITERS: [&str; 7] = [
        "--heal",
        "--rejoin",
        "--through-restarts",
        "--wait",
        "--name",
        "--whole",
        "--from newest",
    ];
    let (of_writers, others): (&[&str], &[&str]) = match kind {
        InputKind::Ring => (&[], &["--from with a time", "--until"]),
        InputKind::Journal => (&[], &["--heal", "--rejoin", "--name"]),
        InputKind::Day => (&OF_WRITERS, &[]),
        InputKind::Dbn => (&OF_WRITERS, &["--check-digest"]),
    };
    let is_refused = |option| of_writers.contains(option) || others.contains(option);
    if let Some((option, _)) =
        given.iter().find(|(option, is_given)| *is_given && is_refused(option))
    {
        bail!("{input}: is {kind}, to which {option} does not apply");
    }
    match kind {
        InputKind::Ring if *whole && heal.is_none() => {
            bail!("--whole needs the journal of the ring: add --heal JOURNAL")
        }
        _ => Ok(()),
    }
}
