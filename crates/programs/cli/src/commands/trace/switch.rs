//! `nanotape trace on` and `off`: requests that a process switches its sites.

use anyhow::bail;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    regions::of_region,
    threads::{self, Thread},
};
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_trace::spans::{Rate, Request, RequestError, SiteStat, SpanReader};

use super::list;
use crate::{output::OutputArguments, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace on equities                  every message, at all sites
  nanotape trace on equities --one-in 16      one message in 16
  nanotape trace on equities --sites plant.book
  nanotape trace on 4711 --sites 'plant.*'

Sites that are not named stay as they are. N is rounded up to a power of two. The plant, its recorder and
its taps answer within a quarter of a second each, and the command then prints all sites. It reaches only
processes of its own user that run its own build. Threads that have ended are left out.

Exit status: 0 the sites are switched; 2 they are not.")]
pub(super) struct OnCommand {
    #[command(flatten)]
    target: TargetArguments,

    /// Record one message in N
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::values::count::<u64>(1..=1 << 32))]
    one_in: u64,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace off equities
  nanotape trace off equities --sites plant.ring

Sites that are not named stay as they are. Spans that were recorded stay until others overwrite them.

Exit status: 0 the sites are switched; 2 they are not.")]
pub(super) struct OffCommand {
    #[command(flatten)]
    target: TargetArguments,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
struct TargetArguments {
    /// Name or path of a ring, path of a thread's region, or number of a process
    #[arg(value_name = "NAME|PID")]
    target: Given,

    /// Only these sites; * stands for any characters
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',', default_value = "*")]
    sites: Vec<String>,
}

pub(super) fn on(command: &OnCommand) -> anyhow::Result<Status> {
    let Some(rate) = Rate::one_in(command.one_in) else {
        bail!("--one-in {}: use 1 to {}", command.one_in, 1_u64 << 32);
    };
    switch(&command.target, rate, &command.output)
}

pub(super) fn off(command: &OffCommand) -> anyhow::Result<Status> {
    switch(&command.target, Rate::Off, &command.output)
}

fn switch(
    arguments: &TargetArguments,
    rate: Rate,
    output: &OutputArguments,
) -> anyhow::Result<Status> {
    let threads = threads::of_target(&arguments.target)?;
    let opened: Vec<(Thread, SpanReader)> = threads
        .into_iter()
        .map(|thread| thread.open(Start::Newest).map(|reader| (thread, reader)))
        .collect::<Result<_, _>>()?;
    let is_wanted = |site: &SiteStat| {
        let name = site.name.as_ref().map_or("", |name| name.as_str());
        arguments.sites.iter().any(|pattern| matches(pattern, name))
    };
    let all = || opened.iter().flat_map(|(_, reader)| reader.sites());
    for pattern in &arguments.sites {
        let names = all().filter_map(|site| site.name);
        if pattern != "*" && !names.into_iter().any(|name| matches(pattern, name.as_str())) {
            let names: Vec<_> =
                all().filter_map(|site| site.name).map(|name| name.to_string()).collect();
            bail!(
                "{}: no site matches {pattern}; use one of {}",
                arguments.target,
                names.join(", ")
            );
        }
    }
    let is_all = arguments.sites.iter().any(|pattern| pattern == "*");
    // A reader of the ring that was killed does not keep the others from being switched.
    let is_alive = |reader: &SpanReader| reader.owner().state == OwnerState::Alive;
    let is_any_alive = opened.iter().any(|(_, reader)| is_alive(reader));
    let (mut switched, mut refused) = (Vec::new(), None);
    for (thread, reader) in opened {
        let sites = reader.sites();
        let has_wanted = is_all || sites.iter().any(is_wanted);
        if has_wanted && (is_alive(&reader) || !is_any_alive) {
            // Sites that appear later have no name that could be wanted.
            let is_wanted = |place| sites.get(place).map_or(is_all, is_wanted);
            let rates = reader.rates().into_iter().zip(0..);
            let rates: Vec<Rate> = rates
                .map(|(now, place)| if is_wanted(place) { rate } else { now.unwrap_or(Rate::Off) })
                .collect();
            // The others get the request all the same.
            let answered = Request::send(&reader, &rates).and_then(Request::wait);
            refused = refused.or(answered.map_err(of_request).err());
        }
        switched.push(thread);
    }
    if let Some(error) = refused {
        return Err(error);
    }
    list::print(&switched, output)?;
    Ok(Status::Good)
}

fn of_request(error: RequestError) -> anyhow::Error {
    match error {
        RequestError::Region(error) => of_region(&error),
        error => anyhow::anyhow!("{error}"),
    }
}

/// Whether a name is that of a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).filter_map(|at| name.get(at..)).any(|name| matches(rest, name))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("plant.book", "plant.book", true),
            ("plant.book", "plant.books", false),
            ("*", "", true),
            ("*", "plant.book", true),
            ("plant.*", "plant.book", true),
            ("plant.*", "plan.book", false),
            ("*book", "plant.book", true),
            ("p*.*k", "plant.book", true),
            ("p*.*x", "plant.book", false),
            ("*a*a*", "abca", true),
            ("*a*a*", "abc", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
