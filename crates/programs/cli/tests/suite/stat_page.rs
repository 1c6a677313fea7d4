//! All formats of `nanotape stat`, byte for byte: of a plant that has everything (lines, gaps,
//! damage, a journal with snapshots, and followers), of one that has nothing yet, and of one that
//! has ended. `BLESS=1` rewrites the files in `testdata/stat`, and the tables of
//! `docs/formats/metrics.md`, which follow from the text of OpenMetrics.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use nanotape_board::{
    Board, BoardSpec, Counts, FollowerStart, LineStat, LiveStat, NamedFollower, RecorderProgress,
    RecorderState, Stage, TIMES, Waiting,
};
use nanotape_book::Anomaly;
use nanotape_feed::session::{Fills, GapCounts, LineCounts, SessionPosition};
use nanotape_market::Damage;
use nanotape_plant::records::{
    Notice, PlantStart, PlantStop, Predecessor, RecordKinds, StopReason,
};
use nanotape_ring::{Publish as _, stream::Writer};
use nanotape_shm::RegionOptions;
use nanotape_tape::Gap;
use nanotape_trace::Histogram;
use nanotape_types::StockLocate;

use crate::support::{Folder, nanotape, plants::Ring};

/// 2019-12-30 at the exchange.
const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// What the regions beside a ring show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Everything,
    /// A plant that has just started, without a recorder and without followers.
    Nothing,
    /// A plant that was stopped on request, with a full ring. Its journal is gone and its follower
    /// has ended.
    End,
}

/// The regions of a plant, its recorder and its followers, all written by this process.
struct Plant {
    _writer: Writer,
    _board: Board,
    _recorder: Option<RecorderProgress>,
    _followers: Vec<NamedFollower>,
}

impl Plant {
    fn new(ring: &Path, journal: &Path, shown: Shown) -> Self {
        let (begun_ns, now_ns) = (MIDNIGHT_NS + 3_600 * SECOND, MIDNIGHT_NS + 7_200 * SECOND);
        let kinds = if shown == Shown::Nothing { RecordKinds::ALL } else { RecordKinds::USUAL };
        let start = PlantStart {
            publisher_id: 2,
            started_ns: begun_ns,
            midnight_ns: MIDNIGHT_NS,
            date: 20_191_230,
            kinds,
            predecessor: Predecessor::None,
            pace_milli: 2_500,
        };
        let options = RegionOptions::default();
        let (mut writer, _) = Writer::create(ring, 65_536, &options).unwrap();
        let messages = match shown {
            Shown::Everything => 9,
            Shown::Nothing => 0,
            Shown::End => 5_000,
        };
        let mut buffer = Default::default();
        for number in 0..messages {
            let started_ns = begun_ns + number * SECOND;
            let notice = Notice::Start(PlantStart { started_ns, ..start });
            writer.set_time(started_ns + 40);
            writer.publish(notice.type_id(), notice.encode(2, &mut buffer)).unwrap();
        }
        let epoch = writer.region().epoch();
        let board = Board::create(ring, &BoardSpec::of(&start, 1), epoch, 3, &options).unwrap();
        match shown {
            Shown::Everything => show_everything(&board, now_ns),
            Shown::Nothing => {}
            Shown::End => show_the_end(&board, now_ns),
        }
        let created_ns = writer.region().share().created_ns();
        let recorder = (shown != Shown::Nothing).then(|| {
            let mut recorder = RecorderProgress::own(ring, created_ns, journal, 1).unwrap();
            recorder.lost(2);
            recorder.polled(4, messages - 2, 500, now_ns);
            recorder.set_state(match shown {
                Shown::End => RecorderState::JournalGone,
                _ => RecorderState::Recording,
            });
            recorder
        });
        let follower = |name, next_sequence| {
            let start = FollowerStart {
                ring,
                ring_created_ns: created_ns,
                writer_epoch: Some(epoch),
                next_sequence,
                position_bytes: 100,
            };
            NamedFollower::begin(name, &start).unwrap()
        };
        let followers = match shown {
            Shown::Everything => {
                let (archive, mut risk) = (follower("archive", 10), follower("risk", 5));
                risk.lose(&Gap { from: 2, to: 4 });
                vec![archive, risk]
            }
            Shown::Nothing => Vec::new(),
            Shown::End => {
                drop(follower("archive", 5_001));
                Vec::new()
            }
        };
        Self { _writer: writer, _board: board, _recorder: recorder, _followers: followers }
    }
}

fn show_the_end(board: &Board, now_ns: u64) {
    board.show(&Counts { messages: 1_000_000_000, ..Counts::default() }, now_ns);
    board.show_input(7, None);
    board.damage(Damage::Lost { offset: 1, bytes: 7 });
    let session = session();
    let mut line = session.lines[0].clone();
    (line.leads, line.delays) = (nanotape_board::no_times(), nanotape_board::no_times());
    let position = SessionPosition { is_holding: true, ..session.position };
    board.show_live(&LiveStat { lines: vec![line], position, overtaken: 9, ..LiveStat::default() });
    board.stop(&PlantStop {
        ts_event: 0,
        stopped_ns: now_ns,
        reason: StopReason::Requested,
        messages: 0,
        records: 0,
        damaged: 1,
        anomalies: 0,
        digest: 0,
    });
}

/// Stores a different number into each field.
fn show_everything(board: &Board, now_ns: u64) {
    let records = [61, 62, 63, 64, 65, 66];
    let ts_event = MIDNIGHT_NS + 34_200 * SECOND + 5;
    board.show(
        &Counts { messages: 50, unread: 0, records, notices: 9, ts_event, offset: 4_321 },
        now_ns,
    );
    board.show_input(1_200, Some(4_800));
    board.show_orders(17);
    board.show_waiting(Some(Waiting::Followers { joined: 2 }));
    board.damage(Damage::Length { offset: 1, tag: b'A', expected_bytes: 36, actual_bytes: 35 });
    board.damage(Damage::Type { offset: 2, tag: b'?', expected_bytes: 36, actual_bytes: 31 });
    for next in [9, 12] {
        board.damage(Damage::Missing { first: 5, next });
    }
    let stock = StockLocate::new(7);
    board.name(stock, "ZVZZT".parse().unwrap());
    for anomaly in Anomaly::ALL {
        (0..=anomaly as usize).for_each(|_| _ = board.taint(stock, anomaly));
    }
    board.taint(StockLocate::new(8), Anomaly::OverCancel);
    for (stage, nanos) in [(Stage::Read, 20), (Stage::Apply, 300), (Stage::Publish, 4_000)] {
        (1..=9).for_each(|times| board.time(stage, nanos * times));
    }
    board.show_live(&session());
}

fn session() -> LiveStat {
    let line = |port, first: u64| LineStat {
        address: SocketAddr::from(([239, 1, 2, 3], port)),
        counts: LineCounts {
            packets: first,
            bytes: first + 1,
            heartbeats: first + 2,
            messages: first + 3,
            first_messages: first + 4,
            first_packets: first + 5,
            duplicates: first + 6,
            overtaken: first + 7,
            missing: first + 8,
            other_session: first + 9,
            far_ahead: first + 10,
            malformed: core::array::from_fn(|kind| first + 11 + kind as u64),
            silences: first + 20,
        },
        kernel_drops: first + 21,
        socket_errors: first + 22,
        is_failing: first == 100,
        leads: Histogram::of_counts(TIMES, (0..120).map(|bucket| bucket * first).collect()),
        delays: Histogram::of_counts(TIMES, (0..150).map(|bucket| bucket + first).collect()),
        unknown_delays: first + 23,
    };
    LiveStat {
        lines: vec![line(5_001, 100), line(5_002, 200)],
        answers: LineCounts { packets: 31, first_messages: 32, ..LineCounts::default() },
        rerequest_errors: 48,
        rerequest_servers_down: 49,
        snapshot_failures: 50,
        soupbintcp_failures: 51,
        overtaken: 33,
        position: SessionPosition {
            expected: 34,
            highest: 40,
            missing: 35,
            kept: 36,
            is_suspect: true,
            is_holding: false,
            has_ended: false,
        },
        gaps: GapCounts {
            declared: 47,
            closed: 44,
            fills: Fills { lines: [1, 2, 3, 4], retransmitted: 11, snapshot: 12, lost: 13 },
            longest_ns: 1_500_000,
        },
    }
}

/// What follows each of these words is different each time.
const CHANGES: [(&str, &str); 11] = [
    ("process ", ",\n"),
    ("pid\":", ",}"),
    ("pid=\"", "\""),
    (", started ", "\n"),
    ("age_ns\":", ",}"),
    ("counters updated ", "\n"),
    ("  last message  ", "\n"),
    ("  progress      ", "\n"),
    ("journal_free_bytes\":", ",}"),
    ("journal_free_bytes{ring=\"RING\"} ", "\n"),
    ("  free room     ", "\n"),
];

/// The text without what is different each time.
fn masked(text: &str, names: &[(&str, &str)]) -> String {
    let named = |text: String, (long, short): &(&str, &str)| text.replace(long, short);
    let mut text = names.iter().fold(text.to_owned(), named);
    for (before, ends) in CHANGES {
        let mut parts = text.split(before);
        let first = parts.next().unwrap_or_default().to_owned();
        text = parts.fold(first, |text, part| {
            let end = part.find(|letter| ends.contains(letter)).unwrap_or(part.len());
            format!("{text}{before}...{}", &part[end..])
        });
    }
    text
}

/// Compares with a file of the repository, or writes it.
fn compare(path: &str, content: &str) {
    let file = file_of(path);
    if env::var_os("BLESS").is_some() {
        fs::write(&file, content).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert!(content == expected, "{path}: BLESS=1 rewrites it\n{content}");
}

/// A file of the repository.
fn file_of(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../..")).join(path)
}

/// The page of metrics with its tables of all families in a text of OpenMetrics.
fn page_of_metrics(text: &str) -> String {
    let page = fs::read_to_string(file_of("docs/formats/metrics.md")).unwrap();
    let (before, rest) = page.split_once(MARK).unwrap();
    let (_, after) = rest.split_once("\n## ").unwrap();
    let mut page = format!("{before}{MARK}");
    for (subject, sentence) in SUBJECTS {
        page += &format!(
            "\n{sentence}\n\n| name | type | further labels | meaning |\n|---|---|---|---|\n"
        );
        let start = format!("nanotape_{subject}");
        let families = text.split("# TYPE ").skip(1).filter(|family| {
            let rest = family.strip_prefix(&start);
            rest.is_some_and(|rest| rest.starts_with(['_', ' ']))
        });
        families.for_each(|family| page += &row_of(family));
    }
    format!("{page}\n## {after}")
}

/// The row of a family: its type, its help and its samples.
fn row_of(family: &str) -> String {
    let mut lines = family.lines();
    let (name, kind) = lines.next().unwrap().split_once(' ').unwrap();
    let suffix = match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    let help = lines.clone().find_map(|line| line.strip_prefix("# HELP ")?.split_once(' '));
    let help = help.unwrap().1.trim_end_matches('.');
    let sample = lines.find(|line| !line.starts_with('#')).unwrap();
    let (_, labels) = sample.split_once('{').unwrap();
    let labels = labels.split("\",").skip(1).filter_map(|label| label.split('=').next());
    let labels: Vec<_> =
        labels.filter(|label| *label != "le").map(|label| format!("`{label}`")).collect();
    format!("| `{name}{suffix}` | {kind} | {} | {help} |\n", labels.join(", "))
}

/// What begins the tables of the page of metrics.
const MARK: &str = "<!-- BLESS=1 cargo test -p nanotape-cli --test suite stat_page:: -->\n";

/// What metrics are about, in the order of the page.
const SUBJECTS: [(&str, &str); 6] = [
    ("plant", "The plant; the stocks only with `--tainted`:"),
    ("session", "The live session, if the plant receives one:"),
    ("line", "Its lines, with the letter of each in `line`:"),
    ("ring", "The ring:"),
    ("recorder", "The recorder of the ring, if it shows its progress:"),
    ("follower", "The named followers of the ring:"),
];

fn check(shown: Shown, name: &str) {
    let (folder, ring) = (Folder::new("stat-page"), Ring::new("stat-page"));
    let journal = folder.path("journal");
    fs::create_dir_all(Path::new(&journal).join("snapshots")).unwrap();
    if shown == Shown::Everything {
        for sequence in [1, 3] {
            let name = format!("journal/snapshots/{sequence:015}-{MIDNIGHT_NS:020}.snapshot");
            folder.write(&name, b"");
        }
    }
    let plant = Plant::new(&ring.0, Path::new(&journal), shown);
    for (format, suffix) in
        [("text", "txt"), ("json", "json"), ("prometheus", "prom"), ("openmetrics", "om")]
    {
        let stat = ["stat", ring.path(), "--tainted", "--interval", "0.01", "--format", format];
        let ran = nanotape(stat);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{format}");
        let content = masked(&ran.stdout, &[(ring.path(), "RING"), (&journal, "JOURNAL")]);
        let content = if format == "json" { content.replace(",\"", ",\n\"") } else { content };
        compare(&format!("testdata/stat/{name}.{suffix}"), &content);
        if shown == Shown::Everything && suffix == "om" {
            // A plant of a day file has metrics that a live one has not.
            let of_file = fs::read_to_string(file_of("testdata/stat/nothing.om")).unwrap();
            let is_missing = |family: &&str| {
                family
                    .split_once(' ')
                    .is_some_and(|(name, _)| !content.contains(&format!("# TYPE {name} ")))
            };
            let more: Vec<_> = of_file.split("# TYPE ").skip(1).filter(is_missing).collect();
            let all = format!("{content}# TYPE {}", more.join("# TYPE "));
            compare("docs/formats/metrics.md", &page_of_metrics(&all));
        }
    }
    drop(plant);
}

#[test]
fn each_format_of_a_plant_with_everything_is_as_its_file_says() {
    check(Shown::Everything, "everything");
}

#[test]
fn each_format_of_a_plant_that_has_just_started_is_as_its_file_says() {
    check(Shown::Nothing, "nothing");
}

#[test]
fn each_format_of_a_plant_that_has_ended_is_as_its_file_says() {
    check(Shown::End, "end");
}
