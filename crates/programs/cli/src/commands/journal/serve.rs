//! `nanotape journal serve`: a journal for followers on other machines.

use std::{io::Write as _, net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use nanotape_arguments::{errors::of_journal, regions::of_region};
use nanotape_clock::UtcNanos;
use nanotape_replication::{ServeError, ServeEvent, ServeOptions, Server};

use super::links::{LinkArguments, LinkOptions, bad};
use crate::{
    interrupt,
    output::{Format, OutputArguments},
    record::Record,
    sides::side_name,
    status::{Status, note, warn},
    values::some_duration,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape certificates certificates leader berlin london
  nanotape journal serve days/nasdaq --listen 10.0.0.1:7000 --certificates certificates
  nanotape journal serve days/nasdaq --listen 127.0.0.1:0 --plain --wait spin
  nanotape journal serve days/nasdaq --listen 10.0.0.1:7000 --certificates certificates \\
      --follower berlin --follower london --commits

Followers run `nanotape journal replicate`. The process that appends knows nothing of this one,
and never waits for it unless it commits: --commits states here that it does, so that no follower
removes what it has acknowledged because this machine lost its power.

`nanotape journal stat JOURNAL` lists the followers, and --why NAME says why one is behind.
A connection without a certificate of the authority in ca.pem, or with one for another name than it
states, gets nothing and is reported. Port 0 lets the system choose; the first line of the output has
the address.

A follower that states a later epoch ends this leader: it was replaced. Damage in the journal ends the
connections that reach it, with a line for each.

Exit status: 0 ended by a signal; 1 a later leader exists; 2 wrong usage, no journal, or a copy that was
not promoted.")]
pub(super) struct ServeCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Address to listen on
    #[arg(long, value_name = "IP:PORT")]
    listen: SocketAddr,

    /// Name of this leader
    #[arg(long, value_name = "NAME", default_value = "leader", value_parser = side_name)]
    name: String,

    /// A follower that a commit to all followers waits for, also before it connects
    #[arg(long = "follower", value_name = "NAME", value_parser = side_name)]
    followers: Vec<String>,

    /// Commits wait for followers
    #[arg(long)]
    commits: bool,

    /// With --wait sleep, the longest time until a new excerpt is found
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = some_duration)]
    poll: Duration,

    #[command(flatten)]
    link: LinkArguments,

    #[command(flatten)]
    pub(super) output: OutputArguments,
}

pub(super) fn run(command: &ServeCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let shutdown = interrupt::install()?;
    let LinkOptions { identity, pace, heartbeat, patience } =
        command.link.options(&command.name, command.poll)?;
    let options = ServeOptions {
        name: command.name.clone(),
        listen: command.listen,
        identity,
        followers: command.followers.clone(),
        commits: command.commits,
        pace,
        heartbeat,
        patience,
        mode: command.link.mode,
    };
    let mut server = Server::open(&command.journal, options).map_err(of_serve)?;
    let mut output = command.output.open()?;
    let (address, epoch) = (server.address()?, server.term().epoch);
    let journal = command.journal.display();
    let record = Record::default()
        .with("event", "ready")
        .with("journal", journal.to_string())
        .with("address", address.to_string())
        .with("epoch", epoch);
    record.write(&mut output, format, true, || {
        format!("serving {journal} at {address}, epoch {epoch}\n")
    })?;
    output.flush()?;
    let mut refusals = Refusals::default();
    let served = server.run(&shutdown, |event| report(event, &mut refusals));
    output.finish()?;
    served.map_err(of_serve)?;
    Ok(Status::Good)
}

/// Bounds the lines about refused connections: a flood of them must not fill a log.
#[derive(Default)]
struct Refusals {
    second: u64,
    in_second: u64,
}

/// Lines about refused connections in a second.
const MOST_LINES: u64 = 10;

impl Refusals {
    /// Whether the next one is reported, and how many before it were not.
    fn next(&mut self) -> (bool, u64) {
        let second = UtcNanos::now().unix_ns() / 1_000_000_000;
        let mut unreported = 0;
        if second != self.second {
            unreported = self.in_second.saturating_sub(MOST_LINES);
            (self.second, self.in_second) = (second, 0);
        }
        self.in_second += 1;
        (self.in_second <= MOST_LINES, unreported)
    }
}

fn report(event: ServeEvent, refusals: &mut Refusals) {
    match event {
        ServeEvent::Connected { follower, address } => {
            note(format_args!("follower {follower} connected from {address}"));
        }
        ServeEvent::Gone { follower, reason } => {
            warn(format_args!("follower {follower} is gone: {reason}"));
        }
        ServeEvent::Refused { address, reason } => {
            let (is_reported, unreported) = refusals.next();
            if unreported > 0 {
                warn(format_args!("refused {unreported} more connections"));
            }
            if is_reported {
                warn(format_args!("refused a connection from {address}: {reason}"));
            }
        }
        _ => {}
    }
}

fn of_serve(error: ServeError) -> anyhow::Error {
    match error {
        ServeError::Journal(error) => of_journal(error),
        ServeError::Region(error) => of_region(&error),
        ServeError::Deposed { .. } | ServeError::Terms(_) => bad(error),
        error => error.into(),
    }
}
