//! The tables of made-up readings as text, CSV and JSON, compared with the files in `testdata`.

use std::{fs, path::Path};

use nanotape_clock::{
    Clock,
    cross_core::{Ending, Offset},
};
use nanotape_console::{output::OutputArguments, records::RecordFormat};
use nanotape_lab::environment::Noise;
use serde_json::{Value, json};

use crate::{
    day_file::{Book, Feed, Plant, Replay, Trace},
    delay::Delay,
    engine::{
        Benchmark, Cpus, Measured, Reading, Row, Run, Taken, Times, Written, figure::Shown, table,
        test,
    },
    gaps::Gaps,
    journal::Journal,
    latest::Latest,
    replicate::Replicate,
    ring::Ring,
};

/// A reading with a number in every place, or with as few as a row can have.
fn reading<B: Benchmark>(row: &Row<B>, place: u64, round: u64, is_bare: bool) -> Reading {
    let x = 3 * place + round;
    let times = |more: u64| Times {
        count: 1_000 + x,
        p50_ns: 400 * x + more,
        p90_ns: 500 * x + more,
        p99_ns: 700 * x + more,
        p999_ns: 900 * x + more,
        p9999_ns: 1_900 * x + more,
        max_ns: 250_000 * x + more,
        over_100us: 2 * x,
        reversed: x % 2,
        due_p50_ns: Some(600 * x),
        due_p99_ns: Some(800 * x),
        clock_ns: 12.5,
    };
    let day = |number: u64| {
        json!({
            "startup_nanos": 1_500_000 * number,
            "wall_nanos": 2_600_000 * number,
            "processor_nanos": 2_500_000 * number,
            "operations": 20_000,
            "answer": {
                "messages": 20_000, "inside_changes": 4_000, "orders_left": 0, "anomalies": 0,
                "order_records": if is_bare { None } else { Some(19_000) },
            },
            "peak_memory_bytes": (!is_bare).then_some(30_000_000 + number),
            "peak_anonymous_bytes": (!is_bare).then_some(20_000_000 + number),
        })
    };
    let day = serde_json::from_value(day(if is_bare { 1 } else { x })).unwrap();
    if is_bare {
        let rolls = Some(Times::default());
        return Reading { day, rolls, ..Reading::default() };
    }
    let taken = |reader: u64| Taken {
        messages: 90_000 + 100 * x + reader,
        lost: 30 * reader,
        nanos: 1_000_000 + 1_000 * x,
        batch_p50: Some(8 + x),
        wanted: 77 + x,
    };
    let sizes = [1, 2, 3, 5, 9, 17].map(|from| {
        json!({
            "from": from, "packets": 10 * from, "messages": 20 * from, "times": times(from),
        })
    });
    let step = |rate: u64, dropped: u64| {
        json!({
            "due_per_second": 1_000.0 * rate as f64, "sent_per_second": 999.0 * rate as f64,
            "packets": 100, "dropped": dropped,
        })
    };
    let numbers = json!({
        "made": 1_000 + x, "seen": 990 + x, "ns": 40.5 + x as f64, "base_ns": 30.25,
        "adds_ns": 10.25 + x as f64, "takes_share": 0.01 * x as f64, "pairs": 10 + x, "copies": x,
        "waited_ns": 5_000 * x, "drain_ns": 7_000_000 * x, "from_snapshot": 90,
        "slowest": { "symbol": place.is_multiple_of(2).then_some("AAPL"), "time": "10:00:00.5" },
        "steps": [step(50 + x, 0), step(60 + x, 0), step(70 + x, x % 2)],
        "buffer_bytes": 212_992 + x,
    });
    let is_sized = B::NAME == "feed" && row.name.starts_with("packet");
    Reading {
        written: Written { messages: 100_000 + 100 * x, nanos: 1_000_000 + 500 * x },
        taken: (0..B::readers(row) as u64).map(taken).collect(),
        times: Some(times(0)),
        calls: Some(times(1)),
        rolls: Some(times(2)),
        day,
        detail: if is_sized { sizes.to_vec().into() } else { numbers },
        noise: Noise {
            stolen: Some(0.0),
            foreign: Some(0.003 * x as f64),
            involuntary_switches: Some(x),
            ..Noise::default()
        },
    }
}

/// A run on a machine of four processors.
fn run<B: Benchmark>(rows: &[&'static Row<B>], options: &Value, is_bare: bool) -> Run<B> {
    let measure = |row: &&'static Row<B>| {
        let place = B::ROWS.iter().position(|one| one.name == row.name).unwrap() as u64;
        let of = |round| reading(row, place, round, is_bare);
        let mut measured: Measured<B> = test::measured(row.name, (1..=3).map(of));
        if measured.row.name.len().is_multiple_of(2) && !is_bare {
            measured.others = (1..=3).map(of).collect();
        }
        measured
    };
    let mut run = test::run::<B>(rows.iter().map(measure).collect());
    let mut all = serde_json::to_value(&run.options).unwrap();
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    run.options = serde_json::from_value(all).unwrap();
    run.cpus = Cpus { writer: 2, readers: vec![3, 0, 1] };
    (run.cpu, run.notes) = (Some(2), vec!["made up".to_owned()]);
    run.context.clock = Clock::monotonic();
    run.context.noise = Noise { foreign: Some(0.5), ..Noise::default() };
    run.offset = Some(Offset {
        cpu: 3,
        reference_cpu: 2,
        offset_nanos: -3.0,
        bound_nanos: 60.0,
        round_trip_nanos: 150.0,
        rounds: 100,
        ending: Ending::Complete,
    });
    run
}

/// The run in a format, and its records.
fn write<B: Benchmark>(run: &Run<B>, format: RecordFormat) -> (String, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let output = OutputArguments { output: Some(path.clone()), force: true, format: Some(format) };
    let mut output = output.records(B::COLUMNS).unwrap();
    table::write(run, &mut output).unwrap();
    let mut records = output.finish().unwrap();
    for record in &mut records {
        // The rest is of this machine.
        let environment = record["environment"].as_object_mut().unwrap();
        environment.retain(|name, _| ["foreign", "stolen"].contains(&name.as_str()));
    }
    (fs::read_to_string(path).unwrap(), records)
}

/// The text, the CSV, and the members of the first row of each section.
fn check<B: Benchmark>(options: Value) {
    let rows: Vec<&'static Row<B>> = B::ROWS.iter().collect();
    let all = run::<B>(&rows, &options, false);
    let (text, records) = write(&all, RecordFormat::Text);
    let (csv, _) = write(&all, RecordFormat::Csv);
    let mut written = format!("{text}\n{csv}");
    let mut seen = Vec::new();
    for (row, record) in rows.iter().zip(&records) {
        let title = (row.section.title)(&all);
        if !seen.contains(&title) {
            written += &format!("\n{}\n", row.name);
            for (name, value) in record.as_object().unwrap() {
                written += &format!("  {name}: {value}\n");
            }
            seen.push(title);
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/{}.txt", B::NAME));
    if std::env::var_os("NANOTAPE_WRITE_TABLES").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (line, (found, expected)) in (1..).zip(written.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "line {line} of {}", path.display());
    }
    assert_eq!(written.lines().count(), expected.lines().count(), "{}", path.display());
}

fn day() -> Value {
    json!({
        "file": "day.itch50", "orders": 65_536, "repeat": 1, "bytes": 600_000, "messages": 20_000,
        "busiest": "AAPL",
    })
}

#[test]
fn tables_of_a_day_file_are_as_before() {
    check::<Book>(json!({ "day": day() }));
    check::<Plant>(json!({ "day": day() }));
    check::<Feed>(json!({ "day": day() }));
    check::<Trace>(json!({ "day": day() }));
    let kept = json!({
        "ring": "r", "journal": "j", "moments": "m", "records": 30_000, "bytes": 2_000_000,
        "snapshots": 5, "snapshot_bytes": 240_000,
    });
    check::<Replay>(json!({ "day": day(), "kept": kept, "folder": "/dev/shm" }));
}

#[test]
fn tables_of_processes_are_as_before() {
    check::<Ring>(json!({}));
    check::<Gaps>(json!({}));
    check::<Delay>(json!({}));
    check::<Journal>(json!({ "folder": "/dev/shm", "disk": "/tmp" }));
    check::<Latest>(json!({ "entries": 1_000_000 }));
    check::<Replicate>(json!({ "folder": "/dev/shm", "processors": [2, 3, 0, 1] }));
}

#[test]
fn columns_show_declared_figures() {
    fn check<B: Benchmark>() {
        let declared: Vec<String> =
            B::FIGURES.iter().copied().flatten().flat_map(|one| one.names()).collect();
        for section in B::ROWS.iter().map(|row| row.section) {
            for column in section.columns.iter().copied().flatten() {
                assert!(!Shown::<B>::of(column).is_empty(), "{} of {}", column, section.name);
            }
        }
        for (name, pointer) in B::COLUMNS {
            let path = pointer.trim_start_matches('/').to_owned();
            let is_declared = declared.contains(&path) || path.starts_with("environment/");
            assert!(is_declared, "{name} of {}", B::NAME);
        }
        for wanted in B::GOALS {
            assert!(declared.iter().any(|path| path == wanted.path), "{}", wanted.path);
        }
    }
    check::<Book>();
    check::<Plant>();
    check::<Replay>();
    check::<Feed>();
    check::<Trace>();
    check::<Ring>();
    check::<Gaps>();
    check::<Delay>();
    check::<Journal>();
    check::<Latest>();
    check::<Replicate>();
}

/// The part of a page that follows from the declarations is between these lines.
const BEGIN: &str = "<!-- The tables below follow from the declarations in crates/lab/bench. -->\n";
const END: &str = "<!-- End of these tables. -->\n";

#[test]
fn pages_have_the_tables_of_the_declarations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats");
    for (name, tables) in crate::format_pages() {
        let path = folder.join(format!("lab-bench-{name}.md"));
        let page = fs::read_to_string(&path).unwrap();
        let (head, rest) = page.split_once(BEGIN).unwrap();
        let (found, tail) = rest.split_once(END).unwrap();
        if std::env::var_os("NANOTAPE_WRITE_TABLES").is_some() {
            fs::write(&path, format!("{head}{BEGIN}\n{tables}\n{END}{tail}")).unwrap();
            continue;
        }
        for (found, expected) in found.trim().lines().zip(tables.trim().lines()) {
            assert_eq!(found, expected, "write {name} with NANOTAPE_WRITE_TABLES=1");
        }
        assert_eq!(found.trim().lines().count(), tables.trim().lines().count(), "{name}");
    }
}
