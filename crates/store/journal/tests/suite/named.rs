//! Named tailers: their positions outlive them, and other processes can list them.

use std::path::Path;

use nanotape_harness::{Random, Scratch};
use nanotape_journal::{
    Appender, AppenderOptions, ErrorKind, FIELDS, NamedTailer, Resumed, Start, TAILER_KIND, Tail,
    remove_tailer, tailers,
};
use nanotape_shm::{OwnedRegion, OwnerState, Refusal, RegionOptions, RegionSpec, Word};

fn journal_of(place: &Scratch, count: u64) -> Appender {
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for number in 1..=count {
        appender.append(1, number * 10, &number.to_le_bytes()).unwrap();
    }
    appender
}

/// Reads the next excerpt after declaring the one before as handled.
fn next(tailer: &mut NamedTailer) -> Option<u64> {
    tailer.done();
    match tailer.next().unwrap() {
        Tail::Excerpt(excerpt) => Some(excerpt.sequence()),
        Tail::Gap(gap) => panic!("{gap:?}"),
        Tail::Reused(reused) => panic!("{reused:?}"),
        Tail::Nothing => None,
    }
}

#[test]
fn a_place_survives_and_what_was_not_done_is_read_again() {
    let place = Scratch::new("named");
    let _appender = journal_of(&place, 10);
    let (mut tailer, resumed) =
        NamedTailer::open(place.path(), "books", Start::Sequence(3)).unwrap();
    assert_eq!(resumed, Resumed::New);
    assert_eq!((next(&mut tailer), next(&mut tailer)), (Some(3), Some(4)));
    assert_eq!((tailer.next_sequence(), tailer.read()), (4, 1), "4 is not done");
    drop(tailer);

    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::At(4));
    assert_eq!(next(&mut tailer), Some(4));
    tailer.done();
    assert_eq!(tailer.next_sequence(), 5);
    drop(tailer);

    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::At(5));
    let rest: Vec<u64> = std::iter::from_fn(|| next(&mut tailer)).collect();
    assert_eq!(rest, [5, 6, 7, 8, 9, 10]);
    tailer.seek(Start::Oldest).unwrap();
    assert_eq!(tailer.next_sequence(), 1);
    tailer.sync().unwrap();
}

/// For any number of reads, calls of `done` and ends of the tailer: the next reader begins after
/// the last excerpt that was declared as handled, and pruning keeps everything from there on.
#[test]
fn reading_moves_no_position_and_nothing_is_lost_whenever_a_tailer_ends() {
    let place = Scratch::new("at-least-once");
    let count = 20_000;
    let _appender = journal_of(&place, count);
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let name = format!("books-{seed}");
        let (mut handled, mut ends) = (0, 0);
        while handled < count {
            let (mut tailer, _) = NamedTailer::open(place.path(), &name, Start::Oldest).unwrap();
            let mut read = handled;
            for _ in 0..random.between(1, 4) {
                for _ in 0..random.between(0, 3_000) {
                    if let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
                        read += 1;
                        assert_eq!(excerpt.sequence(), read, "seed {seed}");
                    }
                }
                assert_eq!(tailer.next_sequence(), handled + 1, "seed {seed}");
                if random.below(2) == 0 {
                    tailer.done();
                    handled = read;
                }
            }
            drop(tailer);
            ends += 1;
            let seen = tailers(place.path()).unwrap();
            let seen = seen.iter().find(|tailer| tailer.name == name).unwrap();
            assert_eq!((seen.next_sequence, seen.read), (handled + 1, handled), "seed {seed}");
        }
        assert!(ends > 1, "seed {seed}");
        remove_tailer(place.path(), &name).unwrap();
    }
}

#[test]
fn a_later_position_is_stored_when_it_is_done_and_an_earlier_one_at_once() {
    let place = Scratch::new("moved");
    let _appender = journal_of(&place, 9);
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Sequence(4)).unwrap();
    tailer.seek(Start::Sequence(8)).unwrap();
    assert_eq!(tailer.next_sequence(), 4);
    tailer.seek(Start::Sequence(2)).unwrap();
    assert_eq!(tailer.next_sequence(), 2);
    tailer.seek(Start::Sequence(8)).unwrap();
    tailer.done();
    assert_eq!((tailer.next_sequence(), tailer.read()), (8, 0));
}

#[test]
fn who_reads_what_is_seen_and_a_name_is_one_process_s() {
    let place = Scratch::new("seen");
    let _appender = journal_of(&place, 5);
    assert_eq!(tailers(place.path()).unwrap(), []);
    let (mut books, _) = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    let (stats, _) = NamedTailer::open(place.path(), "a.stats-1", Start::Newest).unwrap();
    next(&mut books);
    next(&mut books);
    drop(stats);
    let seen = tailers(place.path()).unwrap();
    let names: Vec<_> = seen.iter().map(|tailer| tailer.name.as_str()).collect();
    assert_eq!(names, ["a.stats-1", "books"]);
    assert_eq!((seen[0].next_sequence, seen[1].next_sequence, seen[1].read), (6, 2, 1));
    assert_eq!(seen[0].owner.unwrap().state, OwnerState::Closed);
    assert_eq!(seen[1].owner.unwrap().state, OwnerState::Alive);
    assert!(seen[1].moved_ns > 1_600_000_000_000_000_000);

    let refused = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap_err();
    let is_owned = |problem: &ErrorKind| matches!(problem, ErrorKind::Region(e) if matches!(e.refusal(), Refusal::OwnerAlive { .. }));
    assert!(is_owned(refused.kind()), "{refused}");
    let refused = remove_tailer(place.path(), "books").unwrap_err();
    assert!(is_owned(refused.kind()), "{refused}");
    remove_tailer(place.path(), "a.stats-1").unwrap();
    assert_eq!(tailers(place.path()).unwrap().len(), 1);
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_so_is_a_folder_without_a_journal() {
    let place = Scratch::new("names");
    let _appender = journal_of(&place, 1);
    for name in ["", "..", "a/b", ".hidden", "-x", "a b", "\u{e9}", &"x".repeat(101)] {
        let refused = NamedTailer::open(place.path(), name, Start::Oldest).unwrap_err();
        assert_eq!(*refused.kind(), ErrorKind::Name, "{name}");
    }
    let nowhere = Scratch::new("nowhere");
    let refused = NamedTailer::open(nowhere.path(), "a", Start::Oldest).unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::NotFound);
    assert!(!nowhere.path().exists());
}

#[test]
fn a_damaged_file_of_a_tailer_is_listed_and_zeros_are_replaced() {
    let place = Scratch::new("damaged");
    let _appender = journal_of(&place, 3);
    let (tailer, _) = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    drop(tailer);
    let file = place.path().join("tailers/books");
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::write(&file, vec![0; length as usize]).unwrap();
    let seen = tailers(place.path()).unwrap();
    assert!(matches!(seen[0].refusal, Some(Refusal::NotARegion { .. })));
    let (_, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::New);
}

/// Restores a journal's last segment to earlier contents, in another boot, as a loss of power can.
fn put_back(file: &Path, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let boot = FIELDS.iter().find(|field| field.2 == "boot").unwrap().0;
    bytes[boot..boot + 8].copy_from_slice(&[0x55; 8]);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_position_after_the_end_is_reported_and_left() {
    let place = Scratch::new("beyond");
    let mut appender = journal_of(&place, 2);
    let file = place.path().join("0000000001.segment");
    let before = std::fs::read(&file).unwrap();
    for number in 3..=8_u64 {
        appender.append(1, number, &number.to_le_bytes()).unwrap();
    }
    drop(appender);
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(next(&mut tailer), None);
    drop(tailer);
    put_back(&file, &before);
    let _appender = journal_of(&place, 0);
    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    assert_eq!(resumed, Resumed::Beyond { sequence: 9, next: 3 });
    assert_eq!(next(&mut tailer), None);
    assert_eq!(tailer.next_sequence(), 3);
}

#[test]
fn a_position_after_reused_numbers_is_reported_and_read_again() {
    let place = Scratch::new("given-again");
    let mut appender = journal_of(&place, 5);
    let file = place.path().join("0000000001.segment");
    let before = std::fs::read(&file).unwrap();
    for number in 6..=8_u64 {
        appender.append(1, number, &number.to_le_bytes()).unwrap();
    }
    drop(appender);
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Sequence(4)).unwrap();
    assert_eq!(std::iter::from_fn(|| next(&mut tailer)).count(), 5);
    drop(tailer);
    put_back(&file, &before);
    let _appender = journal_of(&place, 6);
    let open = || NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    let (mut tailer, resumed) = open();
    assert_eq!(resumed, Resumed::Reused { from: 6, sequence: 9 });
    assert_eq!((next(&mut tailer), next(&mut tailer)), (Some(6), Some(7)));
    drop(tailer);
    let (mut tailer, resumed) = open();
    assert_eq!(resumed, Resumed::At(7), "it is reported once");
    assert_eq!(std::iter::from_fn(|| next(&mut tailer)).count(), 5);
}

#[test]
fn a_journal_that_was_made_again_is_read_from_its_beginning() {
    let place = Scratch::new("made-again");
    drop(journal_of(&place, 8));
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(next(&mut tailer), None);
    drop(tailer);
    for entry in std::fs::read_dir(place.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "segment") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let _appender = journal_of(&place, 20);
    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::Reused { from: 1, sequence: 9 });
    assert_eq!(std::iter::from_fn(|| next(&mut tailer)).count(), 20);
}

#[test]
fn a_name_at_the_end_of_an_empty_journal_is_not_new_again() {
    let place = Scratch::new("empty");
    let mut appender = journal_of(&place, 0);
    let (tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::New);
    drop(tailer);
    for number in 1..=3_u64 {
        appender.append(1, number, &number.to_le_bytes()).unwrap();
    }
    // From the end at that time: nothing is skipped.
    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::At(1));
    assert_eq!(std::iter::from_fn(|| next(&mut tailer)).count(), 3);
}

#[test]
fn a_damaged_place_is_an_error_that_names_the_file() {
    let place = Scratch::new("lost-place");
    let _appender = journal_of(&place, 5);
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    assert_eq!((next(&mut tailer), next(&mut tailer)), (Some(1), Some(2)));
    drop(tailer);
    let file = place.path().join("tailers/books");
    let good = std::fs::read(&file).unwrap();
    // Too short, another kind, another size, another layout, and not a region.
    let damages: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.truncate(2000),
        |bytes| bytes[32] ^= 1,
        |bytes| bytes[40..80].fill(0xff),
        |bytes| bytes[..64].reverse(),
        |bytes| bytes[..8].fill(0),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut bytes = good.clone();
        damage(&mut bytes);
        std::fs::write(&file, &bytes).unwrap();
        let refused = NamedTailer::open(place.path(), "books", Start::Newest);
        let refused = refused.map(|(_, resumed)| resumed).unwrap_err().to_string();
        assert!(refused.starts_with(file.to_str().unwrap()), "{number}: {refused}");
        assert!(refused.contains("remove the file"), "{number}: {refused}");
        assert!(std::fs::read(&file).unwrap() == bytes, "{number}: it is left as it is");
    }
    std::fs::write(&file, &good).unwrap();
    let (_, resumed) = NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
    assert_eq!(resumed, Resumed::At(2));
}

#[test]
fn a_place_of_an_earlier_version_is_kept() {
    let place = Scratch::new("earlier");
    let _appender = journal_of(&place, 5);
    let (tailer, _) = NamedTailer::open(place.path(), "known", Start::Oldest).unwrap();
    drop(tailer);
    let journal = tailers(place.path()).unwrap()[0].bookmark.journal;
    remove_tailer(place.path(), "known").unwrap();
    let file = place.path().join("tailers/books");
    let moved_ns = 1_700_000_000_000_000_000;
    let earlier: [(&[u8; 8], &[u64]); 2] =
        [(b"tailer 1", &[3, moved_ns, 2]), (b"tailer 2", &[3, moved_ns, 2, journal, 0, 0])];
    for (layout, values) in earlier {
        let spec = RegionSpec {
            kind: TAILER_KIND,
            layout: u64::from_be_bytes(*layout),
            parameters: [0; 4],
            words: values.len(),
        };
        let store =
            |words: &[Word]| words.iter().zip(values).for_each(|(word, it)| word.store(*it));
        drop(OwnedRegion::create(&file, spec, &RegionOptions::default(), store).unwrap());
        let seen = tailers(place.path()).unwrap();
        assert_eq!((seen[0].next_sequence, seen[0].read), (3, 2));
        let open = || NamedTailer::open(place.path(), "books", Start::Newest).unwrap();
        let (mut tailer, resumed) = open();
        assert_eq!((resumed, tailer.read()), (Resumed::At(3), 2));
        assert_eq!(next(&mut tailer), Some(3));
        tailer.done();
        let seen = tailers(place.path()).unwrap();
        assert_eq!((seen.len(), seen[0].next_sequence, seen[0].read), (1, 4, 3));
        assert_eq!(seen[0].bookmark.journal, journal);
        drop(tailer);
        assert_eq!(open().1, Resumed::At(4));
        remove_tailer(place.path(), "books").unwrap();
    }
}
