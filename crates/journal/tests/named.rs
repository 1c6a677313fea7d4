//! Named tailers: their place survives them, and they are seen.
#![cfg(not(nanotape_loom))]

#[path = "../../testkit/place.rs"]
mod place;

use nanotape_journal::{
    Appender, AppenderOptions, NamedTailer, Problem, Resumed, Start, Tail, remove_tailer, tailers,
};
use nanotape_shm::{OwnerState, Refusal};
use place::Place;

fn journal_of(place: &Place, count: u64) -> Appender {
    let options =
        AppenderOptions { segment_bytes: 1 << 16, has_helper: false, ..AppenderOptions::default() };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for number in 1..=count {
        appender.append(1, number * 10, &number.to_le_bytes()).unwrap();
    }
    appender
}

fn next(tailer: &mut NamedTailer) -> Option<u64> {
    match tailer.next().unwrap() {
        Tail::Excerpt(excerpt) => Some(excerpt.sequence()),
        Tail::Gap(gap) => panic!("{gap:?}"),
        Tail::Nothing => None,
    }
}

#[test]
fn a_place_survives_and_what_was_not_done_is_read_again() {
    let place = Place::new("named");
    let _appender = journal_of(&place, 10);
    let (mut tailer, resumed) =
        NamedTailer::open(place.path(), "books", Start::Sequence(3)).unwrap();
    assert_eq!(resumed, Resumed::New);
    assert_eq!((next(&mut tailer), next(&mut tailer)), (Some(3), Some(4)));
    assert_eq!((tailer.next_sequence(), tailer.read()), (4, 1), "4 is not done");
    drop(tailer);

    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::End).unwrap();
    assert_eq!(resumed, Resumed::At(4));
    assert_eq!(next(&mut tailer), Some(4));
    tailer.done();
    assert_eq!(tailer.next_sequence(), 5);
    drop(tailer);

    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::End).unwrap();
    assert_eq!(resumed, Resumed::At(5));
    let rest: Vec<u64> = std::iter::from_fn(|| next(&mut tailer)).collect();
    assert_eq!(rest, [5, 6, 7, 8, 9, 10]);
    tailer.seek(Start::Beginning).unwrap();
    assert_eq!(tailer.next_sequence(), 1);
    tailer.sync().unwrap();
}

#[test]
fn who_reads_what_is_seen_and_a_name_is_one_process_s() {
    let place = Place::new("seen");
    let _appender = journal_of(&place, 5);
    assert_eq!(tailers(place.path()).unwrap(), []);
    let (mut books, _) = NamedTailer::open(place.path(), "books", Start::Beginning).unwrap();
    let (stats, _) = NamedTailer::open(place.path(), "a.stats-1", Start::End).unwrap();
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

    let refused = NamedTailer::open(place.path(), "books", Start::Beginning).unwrap_err();
    let is_owned = |problem: &Problem| matches!(problem, Problem::Region(e) if matches!(e.refusal(), Refusal::OwnerAlive { .. }));
    assert!(is_owned(refused.problem()), "{refused}");
    let refused = remove_tailer(place.path(), "books").unwrap_err();
    assert!(is_owned(refused.problem()), "{refused}");
    remove_tailer(place.path(), "a.stats-1").unwrap();
    assert_eq!(tailers(place.path()).unwrap().len(), 1);
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_so_is_a_folder_without_a_journal() {
    let place = Place::new("names");
    let _appender = journal_of(&place, 1);
    for name in ["", "..", "a/b", ".hidden", "-x", "a b", "\u{e9}", &"x".repeat(101)] {
        let refused = NamedTailer::open(place.path(), name, Start::Beginning).unwrap_err();
        assert_eq!(*refused.problem(), Problem::Name, "{name}");
    }
    let nowhere = Place::new("nowhere");
    let refused = NamedTailer::open(nowhere.path(), "a", Start::Beginning).unwrap_err();
    assert_eq!(*refused.problem(), Problem::NotFound);
    assert!(!nowhere.path().exists());
}

#[test]
fn a_damaged_file_of_a_tailer_is_listed_and_zeros_are_replaced() {
    let place = Place::new("damaged");
    let _appender = journal_of(&place, 3);
    let (tailer, _) = NamedTailer::open(place.path(), "books", Start::Beginning).unwrap();
    drop(tailer);
    let file = place.path().join("tailers/books");
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::write(&file, vec![0; length as usize]).unwrap();
    let seen = tailers(place.path()).unwrap();
    assert!(matches!(seen[0].refusal, Some(Refusal::NotARegion { .. })));
    let (_, resumed) = NamedTailer::open(place.path(), "books", Start::End).unwrap();
    assert_eq!(resumed, Resumed::New);
}

#[test]
fn a_place_behind_the_end_is_told_and_left() {
    let place = Place::new("beyond");
    drop(journal_of(&place, 8));
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::End).unwrap();
    assert_eq!(next(&mut tailer), None);
    drop(tailer);
    // As after a loss of power that took all of it.
    for entry in std::fs::read_dir(place.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "segment") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let _appender = journal_of(&place, 2);
    let (mut tailer, resumed) = NamedTailer::open(place.path(), "books", Start::Beginning).unwrap();
    assert_eq!(resumed, Resumed::Beyond { sequence: 9, next: 3 });
    assert_eq!(next(&mut tailer), None);
    assert_eq!(tailer.next_sequence(), 3);
}
