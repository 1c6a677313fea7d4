//! The output of a tap: the same records in every format.

use std::{collections::BTreeMap, fs, io::Cursor};

use nanotape_plant::{
    dbn,
    dbn::{
        Mbp1Msg, SymbolIndex as _, SymbolMappingMsg,
        decode::{DbnMetadata as _, DecodeRecordRef as _, dbn::Decoder},
    },
};
use serde_json::Value;

use crate::{
    support::{nanotape, running::objects},
    tap::plants::{Market, numbers},
};

/// Cells of CSV rows by the names of their columns. No test has a quoted comma before a column that
/// it uses.
fn cut(csv: &str, columns: &[&str], record: &str) -> String {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let place = |name: &&str| names.iter().position(|column| column == name).unwrap();
    let places: Vec<usize> = columns.iter().map(place).collect();
    let mut text = columns.join(",") + "\n";
    for cells in lines.filter(|cells| cells[1] == record) {
        let cells: Vec<&str> = places.iter().map(|&place| cells[place]).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

#[test]
fn rows_of_the_inside_are_those_of_the_command_inside_byte_for_byte() {
    let market = Market::new("inside", 30_000, 12);
    let ended = market.run();
    let inside = nanotape(["inside", &market.day, "--format", "csv"]).stdout;
    let names: Vec<&str> =
        inside.lines().skip(1).map(|row| row.split(',').nth(1).unwrap()).collect();
    let columns = ["ts_ns", "symbol", "bid_price", "bid_size", "ask_price", "ask_size"];
    for symbols in [vec![], vec![names[10]], vec![names[100], names[2_000]]] {
        let symbols = symbols.join(",");
        let chosen: &[&str] = if symbols.is_empty() { &[] } else { &["--symbols", &symbols] };
        let command = ["tap", market.ring(), "--from", "oldest", "--records", "bbo"];
        let tap = nanotape([&command, chosen].concat());
        let inside = nanotape([&["inside", &market.day, "--format", "csv"], chosen].concat());
        assert_eq!((tap.status, inside.status), (0, 0), "{}", tap.stderr);
        let rows = cut(&tap.stdout, &columns, "bbo");
        assert!(rows.lines().count() > 100 && rows == inside.stdout, "{symbols}");
        // With or without a filter, every message of the ring was read.
        let [read, written, lost, gaps, last] = numbers(&tap.stderr);
        assert_eq!((read, lost, gaps, last), (ended.stop.records, 0, 0, ended.stop.records));
        // The rows include a start, a stop and the header.
        assert_eq!(written + 1, tap.stdout.lines().count() as u64);
        assert_eq!(written + 1, rows.lines().count() as u64 + 2);
    }
}

#[test]
fn json_has_the_same_cells_as_csv_and_only_those_of_its_kind() {
    let market = Market::new("json", 6_000, 8);
    let mut config = market.config();
    config.publish.records = "all".parse().unwrap();
    crate::tap::plants::run(&config);
    let tap = |format| nanotape(["tap", market.ring(), "--from", "oldest", "--format", format]);
    let (csv, json) = (tap("csv"), tap("json"));
    assert_eq!((csv.status, json.status), (0, 0), "{}", csv.stderr);
    let names: Vec<&str> = csv.stdout.lines().next().unwrap().split(',').collect();
    let mut kinds: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    let rows = objects(&json.stdout);
    assert_eq!(rows.len() + 1, csv.stdout.lines().count());
    for (line, row) in csv.stdout.lines().skip(1).zip(&rows) {
        let cells = cells_of(line);
        assert_eq!(cells.len(), names.len(), "{line}");
        for (name, cell) in names.iter().zip(cells) {
            // The action of a status is a word, which CSV has in its detail.
            if *name == "action" && row["record"] == "status" {
                assert!(row["detail"].as_str().unwrap().starts_with(row[*name].as_str().unwrap()));
                continue;
            }
            let expected = match &row[*name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                // A price has four places, even if a number needs none.
                other if name.ends_with("price") => format!("{:.4}", other.as_f64().unwrap()),
                other => other.to_string(),
            };
            assert_eq!(cell, expected, "{name}: {line}");
        }
        let members: Vec<String> = row.as_object().unwrap().keys().cloned().collect();
        let kind = row["record"].as_str().unwrap().to_owned();
        let (count, known) = kinds.entry(kind).or_insert((0, members.clone()));
        assert_eq!(*known, members);
        *count += 1;
    }
    let found: Vec<&str> = kinds.keys().map(String::as_str).collect();
    let expected = ["bbo", "definition", "imbalance", "mbo", "start", "status", "stop", "trade"];
    assert_eq!(found, expected);
    let members = |kind: &str| kinds[kind].1.join(" ");
    assert_eq!(
        members("mbo"),
        "action flags message order_reference_number price record sequence side size symbol \
         ts_event ts_ns ts_recv"
    );
    assert_eq!(
        members("definition"),
        "detail exchange group min_lot_size_round_lot raw_symbol record secsubtype security_type \
         sequence symbol ts_event ts_ns ts_recv"
    );
    assert!(members("status").contains("is_quoting is_short_sell_restricted is_trading reason"));
    // Readers of JSON round numbers above 2^53, and these are times in ns since 1970.
    for row in &rows {
        assert!(row["ts_recv"].is_string(), "{row}");
        assert!(row["ts_event"].is_string() || row["ts_event"].is_null(), "{row}");
    }
    let halted = rows.iter().find(|row| row["action"] == "trading").unwrap();
    assert_eq!(
        (&halted["is_trading"], &halted["is_quoting"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    assert_eq!(kinds["definition"].0, 8);
    assert!(members("bbo").contains("ask_orders ask_price ask_size bid_orders bid_price bid_size"));
}

/// The cells of a row, without quotes.
fn cells_of(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

#[test]
fn text_has_a_line_a_record_with_the_time_of_day() {
    let market = Market::new("text", 3_000, 4);
    market.run();
    let tap = |options: &[&str]| {
        let command = ["tap", market.ring(), "--from", "oldest", "--format", "text"];
        let ran = nanotape([&command, options].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout
    };
    let all = tap(&[]);
    let json = nanotape(["tap", market.ring(), "--from", "oldest", "--format", "json"]).stdout;
    assert_eq!(all.lines().count(), json.lines().count());
    for (line, row) in all.lines().zip(objects(&json)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], row["sequence"].to_string());
        assert!(words.contains(&row["record"].as_str().unwrap()), "{line}");
        if let Some(nanos) = row["ts_ns"].as_u64() {
            let time = nanotape_types::NanosSinceMidnight::new(nanos).unwrap();
            assert_eq!(words[1], time.to_string());
        }
        if let Some(symbol) = row["symbol"].as_str() {
            assert_eq!(words[2], symbol);
        }
    }
    let five = tap(&["--records", "trades", "--count", "5"]);
    assert_eq!(five.lines().count(), 5);
    assert!(five.starts_with("         1  ") && five.contains(" start "), "{five}");
}

#[test]
fn dbn_files_have_the_same_records_also_compressed() {
    let market = Market::new("dbn", 6_000, 8);
    let ended = market.run();
    let csv = nanotape(["tap", market.ring(), "--from", "oldest", "--format", "csv"]).stdout;
    let expected = cut(&csv, &["ts_event", "ts_recv", "symbol", "bid_price"], "bbo");
    for name in ["day.dbn", "day.dbn.zst"] {
        let path = market.folder.path(name);
        let ran = nanotape(["tap", market.ring(), "--from", "oldest", "-o", &path]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert_eq!(numbers(&ran.stderr)[1], ended.stop.records);
        let mut bytes = fs::read(&path).unwrap();
        if name.ends_with("zst") {
            bytes = zstd::decode_all(Cursor::new(bytes)).unwrap();
        }
        let mut decoder = Decoder::new(bytes.as_slice()).unwrap();
        let map = decoder.metadata().symbol_map().unwrap();
        assert_eq!(decoder.metadata().symbols.len(), 8);
        let mut rows = "ts_event,ts_recv,symbol,bid_price\n".to_owned();
        let mut records = 0;
        while let Some(record) = decoder.decode_record_ref().unwrap() {
            records += u64::from(!record.has::<SymbolMappingMsg>());
            if let Some(bbo) = record.get::<Mbp1Msg>() {
                let price = match bbo.levels[0].bid_px {
                    dbn::UNDEF_PRICE => String::new(),
                    price => format!("{:.4}", price as f64 / 1e9),
                };
                // The map finds the name by the day on which the plant ran.
                let symbol = map.get_for_rec(bbo).unwrap();
                rows += &format!("{},{},{symbol},{price}\n", bbo.hd.ts_event, bbo.ts_recv);
            }
        }
        assert_eq!(records, ended.stop.records);
        assert!(rows == expected, "{name}");
    }
    // The suffix selects the format; an existing file is kept.
    let ran = nanotape(["tap", market.ring(), "-o", &market.folder.path("day.dbn")]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1));
    assert!(ran.stderr.contains("exists; use --force"), "{}", ran.stderr);
}
