//! A keeper of one journal in another: numbers, times, gaps, numbers that are given again, hooks
//! that fail, and a full disk.

use std::path::Path;

use nanotape_harness::{Mount, Scratch};
use nanotape_journal::{
    Appender, AppenderOptions, Keeper, KeeperError, KeeperHook, QUARANTINE, Start, Tail, Tailer,
    TailerSource,
};
use nanotape_tape::{Follow, Gap, Message, Reused, ShutdownFlag, Step, WriterState};

/// What a keeper called, in order.
#[derive(Default)]
struct Seen {
    calls: Vec<String>,
    /// Calls of `before` that fail as on a full disk.
    full: u32,
    /// The message for which `before` fails.
    refused: Option<u64>,
}

#[derive(Debug)]
enum Refused {
    Keeper(KeeperError),
    Full,
    Message(u64),
}

impl From<KeeperError> for Refused {
    fn from(error: KeeperError) -> Self {
        Self::Keeper(error)
    }
}

impl<S> KeeperHook<S> for Seen {
    type Error = Refused;

    fn is_full(error: &Refused) -> bool {
        match error {
            Refused::Keeper(KeeperError::Journal(error)) => error.is_full(),
            Refused::Full => true,
            Refused::Keeper(_) | Refused::Message(_) => false,
        }
    }

    fn before(&mut self, message: &Message<'_>) -> Result<(), Refused> {
        if self.refused == Some(message.sequence) {
            return Err(Refused::Message(message.sequence));
        }
        if self.full > 0 {
            self.full -= 1;
            return Err(Refused::Full);
        }
        self.calls.push(format!("before {}", message.sequence));
        Ok(())
    }

    fn synced(&mut self) {
        self.calls.push("synced".to_owned());
    }

    fn lost(&mut self, gap: &Gap) {
        self.calls.push(format!("lost {} to {}", gap.from, gap.to));
    }

    fn reused(&mut self, reused: &Reused) {
        self.calls.push(format!("reused from {}", reused.from));
    }

    fn no_room(&mut self, _: &Refused) {
        self.calls.push("no room".to_owned());
    }

    fn room_again(&mut self) {
        self.calls.push("room again".to_owned());
    }
}

fn appender(path: &Path) -> Appender {
    Appender::open(path, &AppenderOptions::default()).unwrap()
}

fn keeper(from: &Path, to: &Path) -> Keeper<TailerSource> {
    let appender = appender(to);
    let tailer = Tailer::open(from, Start::Sequence(appender.next_sequence())).unwrap();
    let shutdown = ShutdownFlag::new();
    Keeper::new(Follow::new(TailerSource::new(tailer)), appender, &shutdown)
}

/// Keeps everything that is there, up to the first idle poll or the end of the writer.
fn keep(keeper: &mut Keeper<TailerSource>, seen: &mut Seen) -> Result<(), Refused> {
    loop {
        match keeper.step(seen)?.unwrap() {
            Step::Idle => return Ok(()),
            Step::Gone(WriterState::Alive) => panic!("the writer is the same"),
            Step::Gone(_) => return Ok(()),
            _ => {}
        }
    }
}

/// Number, type, time and payload of each excerpt, and the gaps.
fn excerpts(path: &Path) -> Vec<(u64, u16, u64, Vec<u8>)> {
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    let mut all = Vec::new();
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(it) => {
                all.push((it.sequence(), it.type_id(), it.ts_ns(), it.to_vec()));
            }
            Tail::Gap(gap) => all.push((gap.from, u16::MAX, gap.to, Vec::new())),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => return all,
        }
    }
}

#[test]
fn a_kept_source_has_its_numbers_and_its_times_and_continues() {
    let folder = Scratch::folder("kept");
    let (from, to) = (folder.join("from"), folder.join("to"));
    let mut source = appender(&from);
    for number in 1..=20_u64 {
        source.append(number as u16, 1_000 * number, &number.to_le_bytes()).unwrap();
    }
    source.skip_to(31).unwrap();
    source.append(31, 31_000, b"after a gap").unwrap();
    let mut seen = Seen { full: 2, ..Seen::default() };
    let mut first = keeper(&from, &to);
    keep(&mut first, &mut seen).unwrap();
    assert_eq!((first.first_sequence(), first.kept(), first.lost()), (1, 21, 10));
    assert_eq!(seen.calls[..3], ["no room", "before 1", "room again"].map(str::to_owned));
    assert_eq!(seen.calls[seen.calls.len() - 2..], ["lost 21 to 30", "before 31"]);
    first.close().unwrap();
    source.append(32, 32_000, b"later").unwrap();
    let (mut next, mut seen) = (keeper(&from, &to), Seen::default());
    keep(&mut next, &mut seen).unwrap();
    assert_eq!((next.first_sequence(), next.kept(), seen.calls.len()), (32, 1, 1));
    next.close().unwrap();
    assert_eq!(excerpts(&to), excerpts(&from));
}

#[test]
fn numbers_that_a_source_gives_again_are_set_aside() {
    let folder = Scratch::folder("kept-again");
    let (from, to) = (folder.join("from"), folder.join("to"));
    let mut source = appender(&from);
    for number in 1..=10_u64 {
        source.append(1, number, &number.to_le_bytes()).unwrap();
    }
    let (mut keeper, mut seen) = (keeper(&from, &to), Seen::default());
    keep(&mut keeper, &mut seen).unwrap();
    source.rewind_to(6).unwrap();
    for number in 106..=112_u64 {
        source.append(1, number, &number.to_le_bytes()).unwrap();
    }
    while keeper.appender().next_sequence() != 13 {
        keep(&mut keeper, &mut seen).unwrap();
    }
    assert!(seen.calls.contains(&"reused from 6".to_owned()), "{:?}", seen.calls);
    keeper.close().unwrap();
    assert_eq!(excerpts(&to), excerpts(&from));
    assert!(std::fs::read_dir(to.join(QUARANTINE)).unwrap().count() > 0);
}

#[test]
fn a_hook_that_fails_ends_the_keeping_before_its_message() {
    let folder = Scratch::folder("kept-refused");
    let (from, to) = (folder.join("from"), folder.join("to"));
    let mut source = appender(&from);
    (1..=5).for_each(|ts_ns| _ = source.append(1, ts_ns, b"x").unwrap());
    let (mut keeper, mut seen) = (keeper(&from, &to), Seen { refused: Some(4), ..Seen::default() });
    assert!(matches!(keep(&mut keeper, &mut seen), Err(Refused::Message(4))));
    assert_eq!((keeper.kept(), keeper.appender().next_sequence()), (3, 4));
}

#[test]
fn a_keeper_waits_for_room_on_the_disk_and_loses_nothing() {
    let Some(mount) = Mount::new("tmpfs", "size=8m") else { return };
    let folder = Scratch::folder("kept-full");
    let (from, to) = (folder.join("from"), mount.path().join("to"));
    let mut source = appender(&from);
    let payload = [7; 1_000];
    (1..=3_000).for_each(|ts_ns| _ = source.append(1, ts_ns, &payload).unwrap());
    // Room for two segments, of four.
    let ballast = mount.path().join("ballast");
    std::fs::write(&ballast, vec![1; 11 << 19]).unwrap();
    let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
    let appender = Appender::open(&to, &options).unwrap();
    let tailer = Tailer::open(&from, Start::Oldest).unwrap();
    let follow = Follow::new(TailerSource::new(tailer));
    let mut keeper = Keeper::new(follow, appender, &ShutdownFlag::new());
    let mut seen = Seen::default();
    let freed = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        std::fs::remove_file(ballast).unwrap();
    });
    keep(&mut keeper, &mut seen).unwrap();
    freed.join().unwrap();
    let waits: Vec<_> = seen.calls.iter().filter(|call| call.contains("room")).collect();
    assert_eq!(waits, ["no room", "room again"]);
    keeper.close().unwrap();
    assert_eq!(excerpts(&to), excerpts(&from));
}
