//! Calls with wrong arguments, from C and C++, and calls with right ones whose answers are checked
//! there.

use std::{path::Path, process::Command};

use nanotape_harness::Bounded as _;
use nanotape_latest::{LatestSpec, LatestWriter};
use nanotape_plant::{PlantRun, ShutdownFlag};
use nanotape_ring::stream;
use nanotape_shm::RegionOptions;
use nanotape_tap::states::{StockWords, stock_key, stock_map};

use crate::{
    streams::publish,
    support::{Day, Language, Link, PACKAGE, compile_file, printed},
};

/// A state whose bytes differ, but for those of no field (docs/formats/stock-state.md).
fn stock() -> StockWords {
    let byte = |place: usize| if matches!(place, 167 | 183 | 212..) { 0 } else { place as u8 };
    let word = |number: usize| std::array::from_fn(|place| byte(8 * number + place));
    std::array::from_fn(|number| u64::from_le_bytes(word(number)))
}

#[test]
fn wrong_calls_are_errors_with_a_line_and_right_ones_have_their_answers() {
    let day = Day::new(1_000, 3);
    PlantRun::open(&day.config(1 << 20), ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let options = RegionOptions::default();
    let (mut writer, _) = stream::Writer::create(&day.0.join("own"), 1 << 16, &options).unwrap();
    publish(&mut writer, 10);
    let spec =
        LatestSpec { entries: 5, key_words: 2, value_words: 27, writers: 1, value_layout: 0 };
    let other = LatestWriter::join(&day.0.join("other"), spec, &options).unwrap();
    for language in Language::ALL {
        let mut stocks = LatestWriter::join(&day.0.join("stocks"), stock_map(5), &options).unwrap();
        for _ in 0..2 {
            let _ = stocks.insert(&stock_key(2, "KWCK".parse().unwrap()), &stock()).unwrap();
        }
        let source = Path::new(PACKAGE).join("tests/c/calls.c");
        let Some(program) = compile_file(&source, language, Link::Shared) else { continue };
        let output = Command::new(program.path()).arg(day.0.path()).bounded_output().unwrap();
        assert_eq!(printed(&output), (String::new(), Some(0)));
    }
    drop((writer, other));
}
