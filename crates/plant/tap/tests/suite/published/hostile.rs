//! Arbitrary contents of a ring and a board: answers, and errors that name the message; no panic.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use nanotape_board::{
    BoardReader, FollowerError, FollowerReader, RecorderReader, board_path, follower_names,
    follower_path, recorder_path,
};
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{
    PlantRun, ShutdownFlag,
    records::{FIRST_TYPE_ID, Header, RecordKind},
};
use nanotape_ring::{Publish as _, Start, stream};
use nanotape_shm::{HEADER_BYTES, RegionOptions};
use nanotape_tap::{Event, Recorder, RecorderOptions, Subscription};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::published::support::{Folder, run};

const CAPACITY_BYTES: usize = 1 << 18;

/// The ring and the board of a plant that exited.
struct Left {
    folder: Folder,
}

impl Left {
    fn new() -> Self {
        let folder = Folder::new();
        let mut config = folder.config(&folder.day(2_000, 5));
        config.ring.capacity_bytes = Some(CAPACITY_BYTES);
        run(&config);
        Self { folder }
    }

    fn ring(&self) -> PathBuf {
        self.folder.path("ring")
    }

    /// A subscription to everything, or to one stock.
    fn subscription(&self, is_of_one: bool) -> Subscription {
        let subscription = Subscription::to(&self.folder.ring()).keep_books();
        if is_of_one { subscription.symbols(["AAPL".parse().unwrap()]) } else { subscription }
    }
}

/// A type and bytes: random, or the beginning of a record and then random, of similar length.
fn message() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let any_bytes = || prop::collection::vec(any::<u8>(), 0..600);
    let of_a_kind = (prop::sample::select(&RecordKind::ALL[..]), any_bytes(), 0..8_u8).prop_map(
        |(kind, mut bytes, cut)| {
            let length = kind.length() - if cut == 0 { 8 } else { 0 };
            bytes.resize(length, 0x41);
            (bytes[0], bytes[1]) = ((length / 4) as u8, kind.type_id() as u8);
            (kind.type_id(), bytes)
        },
    );
    let of_ours = (FIRST_TYPE_ID..FIRST_TYPE_ID + 6, prop::collection::vec(any::<u8>(), 0..90));
    prop_oneof![4 => of_a_kind, 2 => of_ours, 1 => (any::<u16>(), any_bytes())]
}

/// Formats everything of an event but the books.
fn format_all(event: Event<'_>) {
    match event {
        Event::Record(delivery) => {
            let symbol = delivery.symbol.map(|symbol| symbol.to_string());
            let _ = (symbol, format!("{:?}", delivery.record));
        }
        Event::Lost(lapped) => drop(lapped.to_string()),
        other => panic!("{other:?}, without a journal"),
    }
}

#[test]
fn a_ring_of_anything_gives_records_and_errors_that_name_the_message() {
    let left = Left::new();
    let options = RegionOptions::default();
    let (writer, _) = stream::Writer::create(&left.ring(), CAPACITY_BYTES, &options).unwrap();
    let writer = RefCell::new(writer);
    let cases = (prop::collection::vec(message(), 1..40), any::<bool>());
    let run = TestRunner::default().run(&cases, |(messages, is_of_one)| {
        let mut subscriber = left.subscription(is_of_one).from(Start::Newest).open().unwrap();
        let mut writer = writer.borrow_mut();
        let first = writer.next_sequence();
        for (type_id, bytes) in &messages {
            writer.publish(*type_id, bytes).unwrap();
        }
        // Every call takes at least one message, so there are at most as many calls as messages.
        for _ in 0..=messages.len() {
            let before = subscriber.next_sequence();
            let polled = subscriber.poll(format_all);
            match polled {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    let text = error.to_string();
                    let said =
                        text.split("message ").nth(1).and_then(|rest| rest.split(':').next());
                    let sequence: u64 = said.unwrap().parse().unwrap();
                    let (type_id, bytes) = &messages[(sequence - first) as usize];
                    // It comes in its place: behind the records before it, and before all others.
                    prop_assert!(sequence >= before && sequence + 1 == subscriber.next_sequence());
                    prop_assert!(text.contains(&format!("type {type_id:#06x}")), "{}", text);
                    prop_assert!(text.contains(&format!("its {} bytes", bytes.len())), "{}", text);
                    prop_assert!(!text.contains('\n'));
                }
            }
        }
        prop_assert_eq!(subscriber.next_sequence(), first + messages.len() as u64);
        prop_assert_eq!(subscriber.poll(|_| ()).unwrap(), 0);
        let _ = subscriber.symbols();
        Ok(())
    });
    run.unwrap();
}

#[test]
fn headers_are_read_from_bytes_of_any_length() {
    for length in 0..40 {
        assert_eq!(Header::of(&vec![1; length]).is_some(), length >= 16, "{length} bytes");
    }
}

/// Overwrites a board: the parameters of its header, and any words after it.
fn scribble(file: &File, words: &[(usize, u64)], parameters: [u64; 4]) {
    for (place, parameter) in parameters.into_iter().enumerate() {
        file.write_all_at(&parameter.to_ne_bytes(), 56 + 8 * place as u64).unwrap();
    }
    for &(word, value) in words {
        let at = (HEADER_BYTES + 8 * word) as u64;
        file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    }
}

fn format_everything(ring: &Path) {
    let board = BoardReader::open(ring).unwrap();
    let stat = board.sample();
    let _ = (format!("{stat:?}"), stat.total_records(), stat.kinds());
    for (_, times) in &stat.stages {
        for quantile in [-1.0, 0.0, 0.5, 0.999, 1.0, 2.0, f64::NAN] {
            let _ = times.quantile(quantile);
        }
        assert!(times.buckets().all(|(_, count)| count > 0));
    }
    for (locate, symbol) in board.symbols() {
        let _ = (locate, symbol.to_string());
    }
    assert!(board.tainted().all(|(locate, taints)| board.taints(locate) == taints));
}

#[test]
fn a_board_of_anything_is_read_and_so_is_the_ring_beside_it() {
    let left = Left::new();
    let ring = left.ring();
    let file = OpenOptions::new().write(true).open(board_path(&ring)).unwrap();
    let words = (file.metadata().unwrap().len() as usize - HEADER_BYTES) / 8;
    let value = || prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), 0..9_u64];
    // Most of them are in the area of the counters; the last page may be padding.
    let word = prop_oneof![0..1024_usize, 1024..words - 1];
    let words = prop::collection::vec((word, value()), 0..300);
    let cases = (words, [value(), value(), value(), value()], any::<bool>());
    let run = TestRunner::default().run(&cases, |(words, parameters, is_of_one)| {
        scribble(&file, &words, parameters);
        format_everything(&ring);
        let mut subscriber = left.subscription(is_of_one).from(Start::Oldest).open().unwrap();
        // Records are valid, whatever the board contains about their stocks.
        while subscriber.poll(format_all).unwrap() > 0 {}
        let _ = (subscriber.symbols(), subscriber.board().map(|board| board.run().date));
        Ok(())
    });
    run.unwrap();
}

/// A word of the header is changed, and the file has the length that the header requires.
#[test]
fn a_region_of_another_layout_or_length_is_refused() {
    let left = Left::new();
    let ring = left.ring();
    let appender =
        Appender::open(&left.folder.path("journal"), &AppenderOptions::default()).unwrap();
    let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
    Recorder::open(&ring, appender, &options).unwrap().unwrap().close().unwrap();
    write_follower(&left);
    let open_follower = || match FollowerReader::open(&ring, "audit") {
        Err(FollowerError::Region(error)) => Err(error),
        Err(error) => panic!("{error}"),
        Ok(_) => Ok(()),
    };
    let open_board = || BoardReader::open(&ring).map(drop);
    let open_recorder = || RecorderReader::open(&ring).map(drop);
    let readers: [(_, &dyn Fn() -> _); 3] = [
        (board_path(&ring), &open_board),
        (recorder_path(&ring), &open_recorder),
        (follower_path(&ring, "audit").unwrap(), &open_follower),
    ];
    for (path, open) in readers {
        open().unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut header = [0; 56];
        file.read_exact_at(&mut header, 0).unwrap();
        let error = |changed: &[(u64, u64)]| {
            for (at, value) in changed {
                file.write_all_at(&value.to_ne_bytes(), *at).unwrap();
            }
            let error = open().unwrap_err().to_string();
            file.write_all_at(&header, 0).unwrap();
            let (start, rest) = error.split_once(": offset ").unwrap();
            assert_eq!(Path::new(start), path);
            rest.to_owned()
        };
        assert!(error(&[(32, 5)]).starts_with("32: layout 5, but this program supports layout "));
        let shorter = error(&[(40, HEADER_BYTES as u64 + 8), (48, 1)]);
        assert!(shorter.starts_with("48: payload_words is 1, expected "), "{shorter}");
        open().unwrap();
    }
}

#[test]
fn a_recorders_region_of_anything_is_read_and_taken_over() {
    let left = Left::new();
    let (ring, journal) = (left.ring(), left.folder.path("journal"));
    let record = || {
        let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
        let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
        Recorder::open(&ring, appender, &options).unwrap().unwrap()
    };
    record().run(|_| ()).unwrap();
    let path = recorder_path(&ring);
    let words = (File::open(&path).unwrap().metadata().unwrap().len() as usize - HEADER_BYTES) / 8;
    let value = || prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), 0..5_000_u64];
    // The rest is the path, and padding.
    let word = prop_oneof![3 => 0..16_usize, 1 => 16..words - 1];
    let words = prop::collection::vec((word, value()), 0..60);
    let parameters = [value(), value(), value(), value()];
    // Each case calibrates the clock of a recorder.
    let config = ProptestConfig::with_cases(40);
    let run = TestRunner::new(config).run(&(words, parameters), |(words, parameters)| {
        // Opened each time: a recorder replaces the region of another ring.
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        scribble(&file, &words, parameters);
        let stat = RecorderReader::open(&ring).unwrap().sample();
        prop_assert!(stat.journal.as_os_str().len() <= 4096);
        let recorder = record();
        let next = recorder.summary().next_sequence;
        let stat = RecorderReader::open(&ring).unwrap().sample();
        prop_assert_eq!((stat.next_sequence, &stat.journal), (next, &journal));
        Ok(())
    });
    run.unwrap();
}

/// Leaves the region of a follower of a plant that ended.
fn write_follower(left: &Left) {
    let mut config = left.folder.config(&left.folder.path("20191230.itch50"));
    config.ring.capacity_bytes = Some(CAPACITY_BYTES);
    let plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let mut follower = Subscription::to(&left.folder.ring()).named("audit").open().unwrap();
    drop(plant);
    while follower.poll(format_all).unwrap() > 0 {}
}

/// Requests the end of a plant if a test fails, so that the failure is reported instead of waiting.
struct EndOnFailure<'a>(&'a ShutdownFlag);

impl Drop for EndOnFailure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.request();
        }
    }
}

/// A living follower whose words are anything: the plant waits too long or not at all, ends on
/// request, and reports something.
#[test]
fn a_followers_region_of_anything_delays_a_plant_and_no_more() {
    let left = Left::new();
    let ring = left.ring();
    let mut config = left.folder.config(&left.folder.path("20191230.itch50"));
    (config.ring.capacity_bytes, config.ring.wait_for) = (Some(CAPACITY_BYTES), 1);
    let value = || prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), 0..50_000_u64];
    let words = prop::collection::vec((0..4_usize, value()), 0..12);
    let cases = (words, [value(), value(), value(), value()], any::<bool>());
    // Each case is a plant.
    let config_of_runs = ProptestConfig::with_cases(24);
    let run = TestRunner::new(config_of_runs).run(&cases, |(words, parameters, is_read)| {
        let stop = ShutdownFlag::new();
        let (plant, mut follower) = std::thread::scope(|scope| {
            let _ending = EndOnFailure(&stop);
            let opening = scope.spawn(|| PlantRun::open(&config, stop.clone()).unwrap());
            let follower = Subscription::to(&left.folder.ring()).named("audit");
            let follower = follower.wait(std::time::Duration::from_secs(60)).open().unwrap();
            (opening.join().unwrap(), follower)
        });
        let mut plant = plant;
        let path = follower_path(&ring, "audit").unwrap();
        let file = OpenOptions::new().write(true).open(path).unwrap();
        scribble(&file, &words, parameters);
        std::thread::scope(|scope| {
            let _ending = EndOnFailure(&stop);
            let running = scope.spawn(|| plant.run(|_| ()).unwrap());
            // The words are stored again with each poll.
            while is_read && !running.is_finished() && !stop.is_requested() {
                let _ = follower.poll(|_| ());
            }
            let _ = FollowerReader::open(&ring, "audit").unwrap().sample();
            stop.request();
            running.join().unwrap();
        });
        drop(follower);
        let followers = plant.finish().followers.unwrap();
        prop_assert_eq!(followers.followers.len(), 1);
        let _ = (followers.is_whole(), format!("{followers:?}"));
        Ok(())
    });
    run.unwrap();
    assert_eq!(follower_names(&ring), ["audit"]);
}
