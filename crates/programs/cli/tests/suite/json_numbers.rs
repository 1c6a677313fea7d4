//! Whole numbers above 2^53 are strings in rows and reports as JSON: most readers of JSON would
//! round them.

use nanotape_wire::framing::binary_file::Records;
use serde_json::Value;

use crate::support::{Folder, nanotape};

const MOST_EXACT: u64 = 1 << 53;

/// The place of each order reference number in a message.
fn references(message: &[u8]) -> &'static [usize] {
    match message[0] {
        b'A' | b'F' | b'E' | b'C' | b'X' | b'D' => &[11],
        b'U' => &[11, 19],
        _ => &[],
    }
}

/// A day whose order reference numbers do not fit into a float.
fn day_of_great_numbers(folder: &Folder) -> String {
    let day = std::fs::read(folder.day(20_000, 10)).unwrap();
    let mut bytes = Vec::new();
    for record in Records::new(&day, 0) {
        let mut message = record.bytes.to_vec();
        for &at in references(&message) {
            // The highest byte of a number that is small.
            message[at] = 0x7F;
        }
        bytes.extend((message.len() as u16).to_be_bytes());
        bytes.extend(message);
    }
    folder.write("20191230.itch50", &bytes)
}

/// Whether no number of a value is above 2^53; counts the strings that are such numbers.
fn is_exact(value: &Value, great: &mut usize) -> bool {
    match value {
        Value::Number(number) => {
            number.is_f64() || number.as_i64().is_some_and(|n| n.unsigned_abs() <= MOST_EXACT)
        }
        Value::String(text) => {
            *great += usize::from(text.parse::<u64>().is_ok_and(|number| number > MOST_EXACT));
            true
        }
        Value::Array(values) => values.iter().all(|value| is_exact(value, great)),
        Value::Object(members) => members.values().all(|value| is_exact(value, great)),
        Value::Null | Value::Bool(_) => true,
    }
}

#[test]
fn no_command_prints_a_number_of_json_above_2_to_the_53() {
    let folder = Folder::new("json-numbers");
    let day = day_of_great_numbers(&folder);
    let (ring, journal) = (folder.path("ring"), folder.path("days"));
    let stock = nanotape(["stats", &day, "--format", "csv", "--top", "1"]).stdout;
    let stock = stock.lines().nth(2).unwrap().split(',').next().unwrap().to_owned();
    let run = ["run", "--input", &day, "--ring", &ring, "--capacity", "64MB", "--records", "all"];
    // Each command, and whether it prints such numbers.
    let commands: [(&[&str], bool); 16] = [
        (&run, false),
        (&["stat", &ring], false),
        (&["tap", &ring, "--from", "oldest"], true),
        (&["journal", "record", &ring, &journal], false),
        (&["journal", "stat", &journal], false),
        (&["journal", "dump", &journal], true),
        (&["journal", "tail", &journal], true),
        (&["ring", "stat", &ring], false),
        (&["ring", "dump", &ring], false),
        (&["convert", &day], true),
        (&["inspect", &day], true),
        (&["inside", &day], false),
        (&["trades", &day], true),
        (&["book", &day, "--symbols", &stock, "--at", "12:00", "--orders"], true),
        (&["stats", &day], false),
        (&["check", &day], false),
    ];
    for (command, has_great) in commands {
        let ran = nanotape([command, &["--format", "json"]].concat());
        assert!(ran.status < 2, "{command:?}: {}", ran.stderr);
        let mut great = 0;
        for line in ran.stdout.lines() {
            let value = serde_json::from_str(line).unwrap();
            assert!(is_exact(&value, &mut great), "{command:?}: {line}");
        }
        assert!(great > 0 || !has_great, "{command:?}: {}", ran.stdout);
    }
}
