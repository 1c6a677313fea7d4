//! A thousand damaged days: intact parts are delivered, and losses are reported.
//!
//! Every damage is generated from a seed. The [oracle](oracle) computes from the bytes which
//! messages are intact; the feed and a whole plant then read the file. A loss is an intact message
//! that is not delivered. It is silent if the status is still 0, or if no gap on the plant's ring
//! covers it.
//!
//! By default 100 damages are tested; `NANOTAPE_CAMPAIGN=10` tests a thousand.

mod compressed;
mod day;
mod kinds;
mod oracle;
mod reading;

use std::{fs, path::Path};

use compressed::Packing;
use day::Day;
use kinds::Kind;
use nanotape_harness::{Random, Scratch, campaign, skipped};
use nanotape_plant::records::GapKind;

/// Damages of each kind, times `NANOTAPE_CAMPAIGN`.
const EACH: u64 = 4;

/// A folder that is removed after its test.
fn folder(name: &str) -> Scratch {
    let place = Scratch::new(name);
    fs::create_dir(place.path()).unwrap();
    place
}

#[derive(Default)]
struct Tally {
    damages: u64,
    intact: u64,
    lost: u64,
    /// Damages with a loss.
    lossy: u64,
    /// Losses with status 0.
    status_0: u64,
    /// Losses that no gap covers.
    no_gap: u64,
    /// Delivered messages that the original does not have.
    altered: u64,
}

impl Tally {
    fn add(&mut self, more: &Self) {
        self.damages += more.damages;
        self.intact += more.intact;
        self.lost += more.lost;
        self.lossy += more.lossy;
        self.status_0 += more.status_0;
        self.no_gap += more.no_gap;
        self.altered += more.altered;
    }

    fn row(&self, name: &str) {
        let Self { damages, intact, lost, lossy, status_0, no_gap, altered } = self;
        let delivered = intact - lost;
        println!(
            "{name:16} {damages:8} {intact:10} {delivered:10} {lost:8} {lossy:8} {status_0:8} \
             {no_gap:8} {altered:8}"
        );
    }
}

/// Tests one damage of a kind, from a seed, and adds the result to the tally.
fn one(
    kind: Kind,
    seed: u64,
    day: &Day,
    packed: &dyn Fn(Packing) -> Vec<u8>,
    folder: &Path,
) -> Tally {
    let mut random = Random::new(seed);
    let file = folder.join("20191230.damaged");
    let intact = if let Kind::Stored(packing, wound) = kind {
        fs::write(&file, wound.inflict(&packed(packing), &mut random)).unwrap();
        oracle::intact_in(&day.bytes, &day.records, &packing.unpack(&file))
    } else {
        let damaged = kinds::damage(kind, day, &mut random);
        fs::write(&file, &damaged.bytes).unwrap();
        oracle::intact(&day.bytes, &day.records, &damaged)
    };
    let delivered = reading::deliver(&file);
    let published = reading::publish(&file, &folder.join("ring"));
    let mut tally = Tally { damages: 1, intact: intact.len() as u64, ..Tally::default() };
    let mut is_reported = true;
    for message in &intact {
        let offset = message.offset as u64;
        let body = &day.bytes[message.record.start + 2..message.record.end];
        if delivered.messages.get(&offset).is_none_or(|delivered| delivered != body) {
            tally.lost += 1;
            let there = offset..offset + message.record.len() as u64;
            is_reported &= published.gaps.iter().any(|gap| reading::covers(gap, &there));
        }
    }
    tally.altered =
        delivered.messages.values().filter(|body| !day.bodies.contains(*body)).count() as u64;
    if tally.lost > 0 {
        tally.lossy = 1;
        tally.status_0 = u64::from(published.is_good);
        tally.no_gap = u64::from(!is_reported);
        println!(
            "  {} of {}, seed {seed}: {} lost, status {}, {}",
            kind.name(),
            day.name,
            tally.lost,
            u8::from(!published.is_good),
            if is_reported { "reported by gaps" } else { "NO GAP" }
        );
    }
    tally
}

fn run(days: &[Day], each: u64, name: &str) {
    let folder = folder(name);
    let packed: Vec<_> = days
        .iter()
        .map(|day| {
            let plain = folder.path().join("plain");
            fs::write(&plain, &day.bytes).unwrap();
            [Packing::Gzip, Packing::Zstd]
                .map(|packing| if packing.is_there() { packing.pack(&plain) } else { Vec::new() })
        })
        .collect();
    let mut tallies = Vec::new();
    for (place, kind) in Kind::ALL.into_iter().enumerate() {
        if let Kind::Stored(packing, _) = kind
            && !packing.is_there()
        {
            skipped(format_args!("{} needs the program {packing:?}", kind.name()));
            continue;
        }
        let mut tally = Tally::default();
        for number in 0..each {
            let chosen = number as usize % days.len();
            let seed = (place as u64) << 32 | number;
            let packed = |packing| packed[chosen][packing as usize].clone();
            tally.add(&one(kind, seed, &days[chosen], &packed, folder.path()));
        }
        tallies.push((kind, tally));
    }
    println!(
        "{:16} {:>8} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "kind", "damages", "intact", "delivered", "lost", "lossy", "status 0", "no gap", "altered"
    );
    let mut all = Tally::default();
    for (kind, tally) in &tallies {
        tally.row(&kind.name());
        all.add(tally);
    }
    all.row("all");
    assert!(all.lost * 1000 <= all.intact, "at most 0.1 % of intact messages are lost");
    assert_eq!(all.status_0, 0, "no intact message is lost with status 0");
    assert_eq!(all.no_gap, 0, "a gap is published for each loss");
}

#[test]
fn intact_messages_of_damaged_days_are_delivered_or_reported_lost() {
    let days = [Day::synthetic(20_000, 20), Day::synthetic(20_000, 500)];
    run(&days, campaign(EACH), "synthetic");
}

#[test]
fn the_same_of_a_real_day() {
    let name = "aapl_20190130_open10k.itch50";
    match Day::real(name) {
        Some(day) => run(&[day], campaign(2), "real"),
        None => skipped(format_args!("no {name} in ../shared/data (real market data)")),
    }
}

/// The gaps of one file, without the times.
fn gaps_of(name: &str, bytes: &[u8]) -> Vec<(GapKind, u64, u64)> {
    let folder = folder(name);
    let file = folder.path().join("20191230.itch50");
    fs::write(&file, bytes).unwrap();
    let published = reading::publish(&file, &folder.path().join("ring"));
    assert_eq!(published.is_good, published.gaps.is_empty());
    published.gaps.iter().map(|gap| (gap.kind, gap.offset, gap.lost_bytes)).collect()
}

#[test]
fn a_plant_publishes_a_gap_for_a_length_of_zero() {
    let mut day = Day::synthetic(20_000, 20);
    let record = day.records.iter().find(|record| record.start == 35_170).unwrap().clone();
    day.bytes[35_170..35_173].fill(0);
    let gaps = gaps_of("zero", &day.bytes);
    assert_eq!(gaps, [(GapKind::Lost, 35_170, record.len() as u64)]);
}

#[test]
fn a_plant_publishes_a_gap_for_a_head_of_an_unknown_type() {
    let mut day = Day::synthetic(20_000, 20);
    let record = day.records.iter().find(|record| record.start == 16_226).unwrap().clone();
    day.bytes[16_226..16_229].copy_from_slice(&[0xea, 0x6a, 0xc4]);
    let gaps = gaps_of("unknown", &day.bytes);
    assert_eq!(gaps, [(GapKind::Lost, 16_226, record.len() as u64)]);
}

#[test]
fn a_plant_publishes_a_gap_where_its_input_fails_between_two_messages() {
    let day = Day::synthetic(2_000, 20);
    // All of the day is complete, but a second member is invalid: its contents are unknown.
    let folder = folder("members");
    fs::write(folder.path().join("plain"), &day.bytes).unwrap();
    if !Packing::Gzip.is_there() {
        skipped("there is no program gzip");
        return;
    }
    let packed = [Packing::Gzip.pack(&folder.path().join("plain")), vec![0x1f; 40]].concat();
    let end = day.bytes.len() as u64;
    assert_eq!(gaps_of("fault", &packed), [(GapKind::Cut, end, 0)]);
}

#[test]
fn a_plant_publishes_a_gap_for_a_message_that_another_hides() {
    let mut day = Day::synthetic(20_000, 20);
    let is = |record: &std::ops::Range<usize>, tag: u8| day.bytes[record.start + 2] == tag;
    let pair =
        day.records[10_000..].windows(2).find(|pair| is(&pair[0], b'A') && is(&pair[1], b'D'));
    let [add, delete] = pair.unwrap() else { unreachable!("windows of two") };
    // The add lacks as many bytes as the delete has.
    let at = add.start + 10;
    let hidden = (GapKind::Lost, (delete.start - delete.len()) as u64, delete.len() as u64);
    day.bytes.drain(at..at + delete.len());
    assert_eq!(gaps_of("hidden", &day.bytes), [hidden]);
}
