//! Rings with arbitrary memory contents: results and errors, never a panic, and every call returns.
//!
//! Arithmetic is checked in test builds, so that an overflow is a panic too.

mod in_a_file;
mod mutated;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use nanotape_harness::{Random, SetAtEnd};
use nanotape_ring::{
    Batched as _, Claimed as _, Publish, Read, Rejoin, RingError, Start, Subscribe, slots, stream,
};
use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec, SharedRegion, WORD_BYTES};

const BYTES: usize = 4096;
const SLOTS: usize = 16;
const SLOT_BYTES: usize = 240;

/// Calls of each method of each reader: errors occur when a reader begins, at a lap, and when it
/// wraps around.
const CALLS: usize = 40;

const STARTS: [Start; 8] = [
    Start::Oldest,
    Start::Newest,
    Start::Sequence(0),
    Start::Sequence(1),
    Start::Sequence(100),
    Start::Sequence(u64::MAX / 4),
    Start::Sequence(u64::MAX / 2),
    Start::Sequence(u64::MAX),
];

/// The differences between the two rings.
trait Kind {
    type Writer: Publish<Reader: Clone>;

    const NAME: &'static str;

    /// Words before the messages: few, and every one of them matters.
    const CONTROL_WORDS: usize;

    fn new() -> Self::Writer;

    fn create(path: &Path) -> Result<Self::Writer, RingError>;

    fn resume(region: OwnedRegion) -> Result<Self::Writer, RingError>;

    fn join(
        region: SharedRegion,
        start: Start,
    ) -> Result<<Self::Writer as Publish>::Reader, RingError>;
}

struct Stream;

struct Slots;

impl Kind for Stream {
    type Writer = stream::Writer;

    const NAME: &'static str = "stream";
    const CONTROL_WORDS: usize = 176;

    fn new() -> Self::Writer {
        stream::Writer::on_heap(BYTES).unwrap()
    }

    fn create(path: &Path) -> Result<Self::Writer, RingError> {
        Ok(stream::Writer::create(path, BYTES, &RegionOptions::default())?.0)
    }

    fn resume(region: OwnedRegion) -> Result<Self::Writer, RingError> {
        stream::Writer::resume(region)
    }

    fn join(region: SharedRegion, start: Start) -> Result<stream::Reader, RingError> {
        stream::Reader::join(region, start)
    }
}

impl Kind for Slots {
    type Writer = slots::Writer;

    const NAME: &'static str = "slots";
    const CONTROL_WORDS: usize = 32;

    fn new() -> Self::Writer {
        slots::Writer::on_heap(SLOTS, SLOT_BYTES).unwrap()
    }

    fn create(path: &Path) -> Result<Self::Writer, RingError> {
        Ok(slots::Writer::create(path, SLOTS, SLOT_BYTES, &RegionOptions::default())?.0)
    }

    fn resume(region: OwnedRegion) -> Result<Self::Writer, RingError> {
        slots::Writer::resume(region)
    }

    fn join(region: SharedRegion, start: Start) -> Result<slots::Reader, RingError> {
        slots::Reader::join(region, start)
    }
}

/// The words of a ring after some laps.
fn used<K: Kind>() -> (RegionSpec, Vec<u64>) {
    let mut writer = K::new();
    publish_some(&mut writer, 200);
    let region = writer.region();
    (*region.spec(), region.words().iter().map(nanotape_shm::Word::load).collect())
}

fn publish_some(writer: &mut impl Publish, count: usize) {
    for length in [0, 8, 100, 3, 60, SLOT_BYTES, 17].into_iter().cycle().take(count) {
        writer.publish(length as u16, &[length as u8; SLOT_BYTES][..length]).unwrap();
    }
}

fn region_of(spec: RegionSpec, words: &[u64]) -> OwnedRegion {
    let region = OwnedRegion::on_heap(spec);
    scribble(&region, words);
    region
}

fn scribble(region: &OwnedRegion, words: &[u64]) {
    for (word, &value) in region.words().iter().zip(words) {
        word.store(value);
    }
}

/// Calls every method until there are no more messages. Returns their number.
fn read_everything(reader: &(impl Subscribe + Clone)) -> u64 {
    let mut came = 0;
    for rejoin in [Rejoin::Oldest, Rejoin::Halfway, Rejoin::Newest] {
        for size in [0, 7, 64, 300, 2 * BYTES] {
            let mut buffer = vec![0; size];
            let mut reader = reader.clone();
            reader.set_rejoin(rejoin);
            for _ in 0..CALLS {
                match reader.try_read(&mut buffer) {
                    Ok(Read::Message(received)) => {
                        assert!(received.length as usize <= size);
                        came += 1;
                    }
                    Ok(Read::Lapped(lapped)) => assert!(lapped.count() > 0),
                    Ok(Read::Empty) => break,
                    Err(error) => drop(error.to_string()),
                }
            }
            let mut reader = reader.clone();
            for _ in 0..CALLS {
                if let Ok(Read::Empty) = reader.read_batch(&mut buffer, |received, bytes| {
                    assert_eq!(received.length as usize, bytes.len());
                }) {
                    break;
                }
            }
        }
        let mut reader = reader.clone();
        reader.set_rejoin(rejoin);
        for _ in 0..CALLS {
            let read = reader.try_visit(|message| {
                let mut bytes = [0; BYTES];
                let sum = (0..3).chain([usize::MAX]).map(|at| message.word(at)).max();
                (message.copy_to(&mut bytes), sum)
            });
            if read == Ok(Read::Empty) {
                break;
            }
        }
        for start in STARTS {
            if reader.seek(start).is_ok() {
                let _ = (reader.try_read(&mut [0; BYTES]), reader.next_sequence());
            }
        }
    }
    came
}

/// Readers of all kinds, from before and after the damage, and the next writer.
fn everything<K: Kind>(region: OwnedRegion, old: &[<K::Writer as Publish>::Reader]) -> Outcome {
    let mut outcome = Outcome::default();
    for reader in old {
        outcome.messages += read_everything(reader);
    }
    for start in STARTS {
        if let Ok(reader) = K::join(region.share(), start) {
            outcome.joins += 1;
            outcome.messages += read_everything(&reader);
        }
    }
    if let Ok(mut writer) = K::resume(region) {
        outcome.take_overs += 1;
        go_on(&mut writer);
        for reader in old {
            read_everything(reader);
        }
    }
    outcome
}

/// The writer that took the ring over works.
fn go_on(writer: &mut impl Publish) {
    let mut reader = writer.reader(Start::Newest).unwrap();
    let sequence = writer.next_sequence();
    let mut claim = writer.claim(1, 20).unwrap();
    claim.set_word(0, 3);
    assert_eq!(claim.publish(), sequence);
    let mut batch = writer.batch();
    batch.push(2, &[2; 100]).unwrap();
    batch.push(2, &[2; 9]).unwrap();
    assert_eq!(batch.publish(), sequence + 1);
    for number in 0..3 {
        let read = reader.try_read(&mut [0; BYTES]).unwrap();
        assert!(matches!(read, Read::Message(r) if r.sequence == sequence + number), "{read:?}");
    }
    publish_some(writer, 300);
    writer.heartbeat(1);
}

/// Counts of successful operations: a test in which none succeeds tests nothing.
#[derive(Default, Debug)]
struct Outcome {
    messages: u64,
    joins: u64,
    take_overs: u64,
}

impl Outcome {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.joins += other.joins;
        self.take_overs += other.take_overs;
    }
}

/// A number that causes overflows, or is near a number of the ring, or is random.
fn hostile(random: &mut Random, words: &[u64]) -> u64 {
    let edges = [0, 1, u64::MAX, u64::MAX / 2, u64::MAX / 4, 512, 1 << 32, 16, 1 << 63];
    let small = random.below(5);
    let word = words[random.index(words.len())];
    match random.below(5) {
        0 => random.number(),
        1 => edges[random.index(edges.len())].wrapping_add(small).wrapping_sub(2),
        2 => word.wrapping_add(small).wrapping_sub(2),
        // Another message's word, or a flipped bit of this one's.
        3 => word ^ 1 << random.below(64),
        _ => word.wrapping_add(512 * small),
    }
}

/// Overwrites a few words, in half of the cases those before the messages.
fn hostile_words(random: &mut Random, words: &mut [u64], control_words: usize) {
    let original = words.to_vec();
    for _ in 0..=random.below(6) {
        let end = if random.below(2) == 0 { control_words } else { words.len() };
        words[random.index(end)] = hostile(random, &original);
    }
}

fn random_places<K: Kind>(cases: u64) {
    let (spec, good) = used::<K>();
    let mut all = Outcome::default();
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let mut words = good.clone();
        hostile_words(&mut random, &mut words, K::CONTROL_WORDS);
        let region = region_of(spec, &good);
        let starts = [Start::Oldest, Start::Newest, Start::Sequence(195), Start::Sequence(1)];
        let old = starts.map(|start| K::join(region.share(), start).unwrap());
        scribble(&region, &words);
        all.add(&everything::<K>(region, &old));
    }
    println!("{}, {cases} times some words: {all:?}", K::NAME);
    assert!(all.messages > cases && all.joins > cases && all.take_overs > cases / 10, "{all:?}");
}

#[test]
fn no_scribble_makes_a_reader_or_the_next_writer_panic() {
    random_places::<Stream>(2_000);
    random_places::<Slots>(2_000);
}

fn random_everything<K: Kind>(cases: u64) {
    let (spec, good) = used::<K>();
    for seed in 0..cases {
        let mut random = Random::new(!seed);
        // Fully random words are mostly refused, so some are made small, and some are kept.
        let mask = [u64::MAX, 0x3ff, 1 << 63 | 0x1fff][random.index(3)];
        let mut words = good.clone();
        let first = [0, K::CONTROL_WORDS][random.index(2)];
        for word in &mut words[first..] {
            *word = random.number() & mask;
        }
        let region = region_of(spec, &good);
        let old = [K::join(region.share(), Start::Oldest).unwrap()];
        scribble(&region, &words);
        everything::<K>(region, &old);
    }
}

#[test]
fn no_random_content_makes_a_reader_or_the_next_writer_panic() {
    random_everything::<Stream>(2_000);
    random_everything::<Slots>(2_000);
}

/// Every word of the ring, one at a time, set to every boundary value of arithmetic.
fn every_word<K: Kind>() {
    let (spec, good) = used::<K>();
    let mut all = Outcome::default();
    let capacity = (BYTES / WORD_BYTES) as u64;
    let mut cases = 0;
    for at in 0..good.len() {
        let own = good[at];
        let mut values = vec![0, 1, u64::MAX, u64::MAX - 1, u64::MAX / 2, u64::MAX / 4, 1 << 63];
        values.extend([capacity - 1, capacity, capacity + 1, own.wrapping_sub(1)]);
        let more = [1, capacity, capacity.wrapping_neg(), SLOTS as u64];
        values.extend(more.map(|more| own.wrapping_add(more)));
        // The words between the control lines are unused.
        let is_unused = at < K::CONTROL_WORDS && own == 0 && at % 16 > 2;
        for value in values.into_iter().filter(|_| !is_unused) {
            let region = region_of(spec, &good);
            let starts = [Start::Oldest, Start::Newest, Start::Sequence(195)];
            let old = starts.map(|start| K::join(region.share(), start).unwrap());
            region.words()[at].store(value);
            all.add(&everything::<K>(region, &old));
            cases += 1;
        }
    }
    println!("{}, {cases} times one word: {all:?}", K::NAME);
    assert!(all.take_overs > cases / 10, "{all:?}");
}

#[test]
fn no_boundary_value_in_any_word_makes_a_reader_or_the_next_writer_panic() {
    every_word::<Stream>();
    every_word::<Slots>();
}

/// Counters and entries that are consistent, and as large as possible.
#[test]
fn a_ring_at_the_end_of_all_numbers_is_refused_or_works() {
    let capacity = (BYTES / WORD_BYTES) as u64;
    let near_the_end = |step: u64| (0..8).map(move |times: u64| (times * step).wrapping_neg());
    let halfway = [u64::MAX / 4, u64::MAX / 2].map(|middle| middle & !(capacity - 1));
    let (spec, good) = used::<Stream>();
    for position in near_the_end(capacity).chain(halfway) {
        for number in near_the_end(70).chain(halfway) {
            let mut words = good.clone();
            for at in [0, 16].into_iter().chain((48..176).step_by(2)) {
                words[at] = match words[at] {
                    u64::MAX => u64::MAX,
                    found => found.wrapping_add(position),
                };
            }
            for at in (49..176).step_by(2) {
                words[at] = words[at].wrapping_add(number);
            }
            for at in 176..good.len() - 1 {
                if good[at] >> 48 == u64::from(b'M') {
                    words[at + 1] = words[at + 1].wrapping_add(number);
                }
            }
            let outcome = everything::<Stream>(region_of(spec, &words), &[]);
            assert!(position != 0 || number != 0 || outcome.take_overs == 1);
        }
    }
    let (spec, good) = used::<Slots>();
    let eighth = [u64::MAX / 8 + 1];
    for number in near_the_end(70).chain(halfway).chain(eighth) {
        let mut words = good.clone();
        words[0] = words[0].wrapping_add(number);
        for slot in 0..SLOTS {
            let version = &mut words[32 + slot * 32];
            *version = version.wrapping_add(number.wrapping_mul(2));
        }
        let outcome = everything::<Slots>(region_of(spec, &words), &[]);
        assert!(![0, eighth[0]].contains(&number) || outcome.take_overs == 1, "{outcome:?}");
    }
}

/// A version that no writer stores once sent a lapped reader to number 2^63, and doubling it
/// overflowed. It is damage.
#[test]
fn a_lap_to_a_version_that_no_writer_stores_is_damage() {
    let (spec, good) = used::<Slots>();
    for version in [u64::MAX, u64::MAX - 1, u64::MAX / 2 + 2, 1 << 63] {
        for rejoin in [Rejoin::Oldest, Rejoin::Halfway, Rejoin::Newest] {
            for number in 186..=200 {
                let region = region_of(spec, &good);
                let mut reader = Slots::join(region.share(), Start::Sequence(number)).unwrap();
                reader.set_rejoin(rejoin);
                let slot = (number as usize - 1) % SLOTS;
                region.words()[32 + slot * 32].store(version);
                for _ in 0..3 {
                    assert!(reader.try_visit(|_| ()).is_err(), "{version:#x}");
                    assert_eq!(reader.next_sequence(), number);
                }
            }
        }
    }
}

/// Another thread keeps writing everywhere while readers read.
fn under_fire<K: Kind>() {
    let (spec, good) = used::<K>();
    let region = region_of(spec, &good);
    let old = [Start::Oldest, Start::Newest].map(|start| K::join(region.share(), start).unwrap());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = SetAtEnd(&is_done);
        scope.spawn(|| {
            let mut random = Random::new(7);
            while !is_done.load(Ordering::Relaxed) {
                let mut words = good.clone();
                hostile_words(&mut random, &mut words, K::CONTROL_WORDS);
                scribble(&region, &words);
            }
        });
        let mut came = 0;
        for _ in 0..300 {
            for reader in &old {
                came += read_everything(reader);
            }
            for start in STARTS {
                if let Ok(reader) = K::join(region.share(), start) {
                    came += read_everything(&reader);
                }
            }
        }
        println!("{}: {came} messages under fire", K::NAME);
    });
}

#[test]
fn a_scribbler_at_work_holds_no_reader_up() {
    under_fire::<Stream>();
    under_fire::<Slots>();
}
