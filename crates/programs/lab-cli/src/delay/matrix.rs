//! `--matrix`: which instrument leads which, over the whole span, for all pairs.

use std::{fmt::Write as _, num::NonZeroUsize};

use anyhow::bail;
use nanotape_console::{
    records::{Columns, RecordFormat},
    status::{BadData, Status},
    values::grouped,
};
use nanotape_delay::{CONFIDENCE, Changes, Matrix, Pair, Window};
use nanotape_lab::{pages, text::nanos as time_text};
use nanotape_tape::ShutdownFlag;
use serde_json::{Value, json};

use super::{
    Attribute, DelayArguments,
    feed::{Feed, Stocks, Wants, clock_of},
    method::Method,
    report::clock_name,
};

/// Pairs of a matrix: some minutes of work.
const MOST_PAIRS: usize = 200_000;

/// The columns of CSV.
const COLUMNS: Columns = &[
    ("first", "/first"),
    ("second", "/second"),
    ("lead_ns", "/lead_ns"),
    ("low_ns", "/low_ns"),
    ("high_ns", "/high_ns"),
    ("contrast", "/contrast"),
    ("lead_lag_ratio", "/lead_lag_ratio"),
    ("p", "/p"),
    ("q", "/q"),
    ("is_found", "/is_found"),
    ("refused", "/refused"),
];

pub(super) fn run(arguments: &DelayArguments, interrupt: &ShutdownFlag) -> anyhow::Result<Status> {
    let Some(first_name) = &arguments.first else { bail!("--matrix needs FIRST") };
    let format = arguments.output.format_or(RecordFormat::Text)?;
    let mut output = arguments.output.records_or(RecordFormat::Text, COLUMNS)?;
    let Some(first) = arguments.open(first_name, interrupt)? else { return Ok(Status::Good) };
    let second = match &arguments.second {
        None => None,
        Some(name) => match arguments.open(name, interrupt)? {
            Some(open) => Some((name, open)),
            None => return Ok(Status::Good),
        },
    };
    let one = (&**first_name, &first);
    let other = second.as_ref().map_or(one, |(name, open)| (&***name, open));
    arguments.check_options([one.1, other.1])?;
    let clock = clock_of(arguments.clock, [one, other])?;
    let wants = Wants { numbers: false, pools: false, follows: false };
    let mut stocks = Stocks::new(false);
    let mut read = |name: &str, open| -> anyhow::Result<(Feed, Status)> {
        let mut feed = Feed::new(name, open, clock, wants);
        feed.show_progress();
        while !feed.has_ended() && feed.read(&mut stocks)?.is_some() {}
        let status = feed.conclude(&arguments.symbols.list())?;
        Ok((feed, status))
    };
    let (first, mut status) = read(first_name, first)?;
    let second = match second {
        None => None,
        Some((name, open)) => {
            let (feed, of_second) = read(name, open)?;
            status = if of_second == Status::Bad { of_second } else { status };
            Some(feed)
        }
    };
    let other = second.as_ref().unwrap_or(&first);
    let Some(span) = span_of(&first, other) else {
        return Err(BadData("the inputs have no quotes at the same time".to_owned()).into());
    };
    let pairs = Pairs::examine(arguments, &first, second.as_ref(), &stocks, span)?;
    let second_name = arguments.second.as_deref().unwrap_or(first_name);
    output.heading(&pairs.text(arguments, first_name, second_name))?;
    match format {
        RecordFormat::Text => {}
        RecordFormat::Csv => {
            for pair in &pairs.pairs {
                output.result("", pairs.pair_record(pair))?;
            }
        }
        _ => {
            let record = json!({
                "format": "nanotape-lab",
                "version": 1,
                "kind": "delay",
                "name": format!("leads of {second_name} and {first_name}"),
                "clock": clock_name(clock),
                "first": **first_name,
                "second": second_name,
                "method": "lead-lag",
                "settings": arguments.method.settings_of(Method::LeadLag),
                "confidence": CONFIDENCE,
                "window_ns": span.length_ns(),
                "changes": [first.content.changes, other.content.changes],
                "losses": [first.content.losses, other.content.losses],
                "refusals": {},
                "total": null,
                "total_refused": null,
                "trend": null,
                "shifts": [],
                "over_time": [],
                "rows": [],
                "windows": [],
                "windows_left_out": 0,
                "correlations": [],
                "matrix": {
                    "false_discovery_rate": arguments.method.rate,
                    "from_ns": span.from_ns,
                    "until_ns": span.until_ns,
                    "max_lag_ns": arguments.method.lead_lag().max_lag_ns,
                    "pairs": pairs.pairs.iter().map(|pair| pairs.pair_record(pair)).collect::<Vec<_>>(),
                },
            });
            output.result("", record)?;
        }
    }
    output.finish_with(pages::delay)?;
    Ok(status)
}

/// The time in which the prices of both feeds change.
fn span_of(first: &Feed, second: &Feed) -> Option<Window> {
    let ends = |feed: &Feed| {
        let stocks = 0..feed.content.stocks.len();
        let times = stocks.filter_map(|stock| {
            let times_ns = mids(feed, stock).times_ns;
            Some((*times_ns.first()?, *times_ns.last()?))
        });
        times.reduce(|(from, until), (first, last)| (from.min(first), until.max(last)))
    };
    let ((from_one, until_one), (from_other, until_other)) = (ends(first)?, ends(second)?);
    let from_ns = from_one.max(from_other);
    let until_ns = until_one.min(until_other).saturating_add(1);
    (from_ns < until_ns).then_some(Window { from_ns, until_ns })
}

/// The pairs with the names of both sets.
struct Pairs {
    first: Vec<String>,
    second: Vec<String>,
    pairs: Vec<Pair>,
}

impl Pairs {
    fn examine(
        arguments: &DelayArguments,
        first: &Feed,
        second: Option<&Feed>,
        stocks: &Stocks,
        span: Window,
    ) -> anyhow::Result<Self> {
        let set = |feed: &'_ Feed| -> (Vec<String>, Vec<usize>) {
            let places = 0..feed.content.stocks.len();
            let places: Vec<usize> =
                places.filter(|&stock| !mids(feed, stock).is_empty()).collect();
            (places.iter().map(|&stock| stocks.name(stock)).collect(), places)
        };
        let matrix = Matrix {
            settings: arguments.method.lead_lag(),
            false_discovery_rate: arguments.method.rate,
            threads: NonZeroUsize::new(arguments.threads()).unwrap_or(NonZeroUsize::MIN),
        };
        let series = |feed, places: &[usize]| -> Vec<Changes<'_>> {
            places.iter().map(|&stock| mids(feed, stock)).collect()
        };
        let (names, places) = set(first);
        let one = series(first, &places);
        let Some(second) = second else {
            check_number(names.len() * names.len().saturating_sub(1) / 2)?;
            let pairs = matrix.all_pairs(&one, span);
            return Ok(Self { first: names.clone(), second: names, pairs });
        };
        let (others, places) = set(second);
        check_number(names.len() * others.len())?;
        let pairs = matrix.between(&one, &series(second, &places), span);
        Ok(Self { first: names, second: others, pairs })
    }

    fn text(&self, arguments: &DelayArguments, first: &str, second: &str) -> String {
        let mut found: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.is_found).collect();
        found.sort_by(|one, two| {
            let q = |pair: &Pair| pair.q_value.unwrap_or(1.0);
            q(one).total_cmp(&q(two)).then((one.first, one.second).cmp(&(two.first, two.second)))
        });
        let mut text = format!(
            "{first} and {second}: {} pairs, {} found at a false discovery rate of {}\n\
             {:<10}{:<10}{:>12}  {:<28}{:>10}{:>8}{:>12}{:>12}\n",
            grouped(self.pairs.len() as u64),
            grouped(found.len() as u64),
            arguments.method.rate,
            "leader",
            "follower",
            "lead",
            "interval",
            "contrast",
            "ratio",
            "p",
            "q",
        );
        let rows = usize::try_from(arguments.rows).unwrap_or(usize::MAX);
        for pair in found.iter().take(rows) {
            let (Ok(lead), Some(evidence)) = (pair.lead.estimate, pair.lead.evidence) else {
                continue;
            };
            // The one that leads is named first.
            let (leader, follower) = (&self.first[pair.first], &self.second[pair.second]);
            let turned = lead.delay_ns < 0.0;
            let sign = if turned { -1.0 } else { 1.0 };
            let (leader, follower) = if turned { (follower, leader) } else { (leader, follower) };
            let (low_ns, high_ns) =
                if turned { (-lead.high_ns, -lead.low_ns) } else { (lead.low_ns, lead.high_ns) };
            let ratio =
                if turned { 1.0 / evidence.lead_lag_ratio } else { evidence.lead_lag_ratio };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{leader:<10}{follower:<10}{:>12}  {:<28}{:>10.3}{ratio:>8.2}{:>12.2e}{:>12.2e}{}",
                time_text(sign * lead.delay_ns).to_string(),
                format!("{} to {}", time_text(low_ns), time_text(high_ns)),
                evidence.contrast,
                evidence.p_value,
                pair.q_value.unwrap_or(1.0),
                if low_ns <= 0.0 { "  direction not clear" } else { "" },
            );
        }
        if found.len() > rows {
            let _ = writeln!(text, "... and {} more (--rows)", found.len() - rows);
        }
        text
    }

    fn pair_record(&self, pair: &Pair) -> Value {
        let lead = pair.lead.estimate;
        let evidence = pair.lead.evidence;
        json!({
            "first": self.first[pair.first],
            "second": self.second[pair.second],
            "lead_ns": lead.ok().map(|lead| lead.delay_ns),
            "low_ns": lead.ok().map(|lead| lead.low_ns),
            "high_ns": lead.ok().map(|lead| lead.high_ns),
            "contrast": evidence.map(|evidence| evidence.contrast),
            "lead_lag_ratio": evidence.map(|evidence| evidence.lead_lag_ratio),
            "p": evidence.map(|evidence| evidence.p_value),
            "q": pair.q_value,
            "is_found": pair.is_found,
            "refused": lead.err().map(|refused| refused.to_string()),
        })
    }
}

fn check_number(pairs: usize) -> anyhow::Result<()> {
    if pairs > MOST_PAIRS {
        let (pairs, most) = (grouped(pairs as u64), grouped(MOST_PAIRS as u64));
        bail!("--matrix: {pairs} pairs, {most} at most: choose stocks with --symbols");
    }
    Ok(())
}

fn mids(feed: &Feed, stock: usize) -> Changes<'_> {
    feed.content.stocks[stock].attributes[Attribute::Mid as usize].changes()
}
