//! Appenders and tailers that are killed at any moment, repeatedly, on one journal.
//!
//! Each appender stores its progress in a word that outlives it. The next one must find all of
//! that. Tailers, of which some are also killed and continue at their position, must read every
//! record once, in order.

use std::{path::Path, time::Duration};

use nanotape_harness::{Patience, Peer, Scratch, campaign, mixed, say};
use nanotape_journal::{
    Appender, AppenderOptions, ErrorKind, RollCycle, Start, SyncPolicy, Tail, Tailer, excerpt_bytes,
};

use crate::processes::{
    children::{command, make_word, read_word, word_to_write},
    records::{check, payload},
};

/// The type of the last record.
const END: u16 = u16::MAX;

const KILLS: u64 = 150;

/// The file in which an appender stores the next number.
const COMMITTED: &str = "committed";

fn options(number: u64) -> AppenderOptions {
    AppenderOptions {
        segment_bytes: if mixed(number).is_multiple_of(3) { 1 << 18 } else { 1 << 16 },
        roll_cycle: RollCycle::Size,
        sync: match number % 4 {
            0 | 1 => SyncPolicy::Never,
            2 => SyncPolicy::Excerpts(7),
            _ => SyncPolicy::Every(Duration::from_millis(1)),
        },
        // Periodic syncs need the pretoucher.
        has_pretoucher: number % 4 == 3 || !mixed(number ^ 5).is_multiple_of(3),
        ahead_bytes: 1 << 17,
        ..AppenderOptions::default()
    }
}

/// In a child: appends without end, in every way.
pub(crate) fn append(path: &Path, number: u64) {
    let committed = word_to_write(&path.join(COMMITTED));
    let committed = &committed.words()[0];
    let mut appender = Appender::open(&path.join("journal"), &options(number)).unwrap();
    let said = committed.as_read_only().load();
    assert!(appender.next_sequence() >= said, "lost {}..{said}", appender.next_sequence());
    say(appender.next_sequence());
    let writer = number as u16;
    for step in 0_u64.. {
        let next = appender.next_sequence();
        let bytes = payload(next, writer);
        let chance = mixed(step ^ number << 32);
        match chance % 16 {
            0 | 1 => {
                let records: Vec<_> = (next..next + 5).map(|next| payload(next, writer)).collect();
                let room = records.iter().map(|record| excerpt_bytes(record.len())).sum();
                let mut batch = appender.batch(next, room).unwrap();
                for record in &records {
                    batch.append(writer, next, record).unwrap();
                }
                // Sometimes it is discarded.
                if chance >> 8 & 3 > 0 {
                    batch.commit().unwrap();
                }
            }
            2 | 3 => {
                let mut claim = appender.claim(writer, next, bytes.len()).unwrap();
                claim.copy_from(&bytes);
                if chance >> 8 & 3 > 0 {
                    claim.commit().unwrap();
                }
            }
            4 if chance >> 8 & 15 == 0 => appender.roll().unwrap(),
            _ => drop(appender.append(writer, next, &bytes).unwrap()),
        }
        committed.store(appender.next_sequence());
        if step.is_multiple_of(16) {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// In a child: reads from the number in a word up to the last record.
pub(crate) fn follow(path: &Path, word: &str) {
    let position = word_to_write(&path.join(word));
    let position = &position.words()[0];
    let from = position.as_read_only().load().max(1);
    let mut tailer = Tailer::open(&path.join("journal"), Start::Sequence(from)).unwrap();
    say(from);
    let (mut expected, mut writer) = (from, 0);
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                assert_eq!(excerpt.sequence(), expected, "nothing lost, nothing twice");
                if excerpt.type_id() == END {
                    break;
                }
                assert!(excerpt.type_id() >= writer, "writers come one after the other");
                writer = excerpt.type_id();
                check(&excerpt);
                expected += 1;
                position.store(expected);
            }
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => std::thread::sleep(Duration::from_micros(50)),
        }
    }
    say(format!("end {expected}"));
}

#[test]
fn appenders_and_tailers_killed_at_random_lose_nothing_and_read_nothing_twice() {
    let place = Scratch::on_disk("killed");
    let path = place.path();
    std::fs::create_dir(path).unwrap();
    let kills = campaign(KILLS);
    let seed = std::env::var("NANOTAPE_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("seed {seed}");
    make_word(&path.join(COMMITTED));
    let mut appender = Peer::start(command("append", path, 1, ""));
    let mut opened = Some(appender.receive().parse().unwrap());
    let words = ["tailer-0", "tailer-1", "tailer-2"];
    words.iter().for_each(|word| make_word(&path.join(word)));
    let follow = |word: &str| Peer::start(command("follow", path, 0, word));
    let mut tailers: Vec<Peer> = words.iter().map(|word| follow(word)).collect();
    tailers.iter_mut().for_each(|tailer| drop(tailer.receive()));

    let (mut tailers_killed, mut in_open) = (0, 0);
    for kill in 1..=kills {
        let chance = mixed(seed ^ kill << 8);
        // Wait for this much progress, even on a busy machine; then kill at any moment.
        let patience = Patience::new("the appender commits");
        while let Some(from) = opened
            && read_word(&path.join(COMMITTED)) < from + chance % 300
        {
            assert!(appender.is_alive(), "an appender ended by itself");
            patience.check();
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(Duration::from_micros(chance >> 8 & 1023));
        appender.kill();
        let reported = read_word(&path.join(COMMITTED));
        appender = Peer::start(command("append", path, kill + 1, ""));
        // Some are killed during or before their take-over.
        if chance >> 20 & 3 > 0 {
            let found: u64 = appender.receive().parse().unwrap();
            assert!(found >= reported, "{reported} were committed, and {found} are there");
            opened = Some(found);
        } else {
            opened = None;
            in_open += 1;
        }
        if kill.is_multiple_of(5) {
            // The first tailer is never killed.
            let which = 1 + (chance >> 40) as usize % 2;
            tailers[which].kill();
            tailers[which] = follow(words[which]);
            tailers_killed += 1;
        }
    }
    appender.kill();
    let mut last = Appender::open(&path.join("journal"), &options(0)).unwrap();
    let end = last.append(END, u64::MAX >> 1, &[]).unwrap();
    assert!(end >= read_word(&path.join(COMMITTED)));
    for tailer in &mut tailers {
        let said = (0..2).map(|_| tailer.receive()).find(|said| said.starts_with("end "));
        assert_eq!(said, Some(format!("end {end}")));
    }
    let (segment, _) = Tailer::open(&path.join("journal"), Start::Newest).unwrap().position();
    println!(
        "{} appenders killed, {in_open} of them perhaps before they were open, {tailers_killed} tailers; \
         {end} records in {segment} segments",
        kills + 1
    );
    assert!(segment > kills / 10 && end > kills * 50);
}

#[test]
fn a_second_appender_is_refused_while_the_first_lives_which_the_error_names() {
    let place = Scratch::new("second");
    let path = place.path();
    std::fs::create_dir(path).unwrap();
    make_word(&path.join(COMMITTED));
    let mut first = Peer::start(command("append", path, 2, ""));
    first.receive();
    let refused = Appender::open(&path.join("journal"), &options(2)).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Region(_)), "{refused}");
    assert!(refused.to_string().contains(&first.pid().to_string()), "{refused}");
    assert!(!refused.to_string().contains('\n'));
    first.kill();
    let second = Appender::open(&path.join("journal"), &options(2)).unwrap();
    assert!(second.next_sequence() >= read_word(&path.join(COMMITTED)));
}
