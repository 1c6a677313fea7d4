//! The structures of the header have the layouts of those in Rust: assertions in C, which compilers
//! of both languages check.

use std::{fmt::Write as _, fs, mem::offset_of, process::Command};

use nanotape_harness::{Bounded as _, Scratch, skipped};

use crate::{Bbo, MapEntry, MapShape, Mbo, ReaderItem, RecordHeader, Stock, TapOptions, Trade};

/// Assertions in C about the layout of a structure in Rust.
macro_rules! layout {
    ($text:ident, $Rust:ty, $c:literal, $($field:ident),+) => {
        let (size, align) = (size_of::<$Rust>(), align_of::<$Rust>());
        writeln!($text, "static_assert(sizeof({0}) == {size}, \"{0}\");", $c).unwrap();
        writeln!($text, "static_assert(NT_ALIGNOF({0}) == {align}, \"{0}\");", $c).unwrap();
        $(
            let (field, offset) = (stringify!($field), offset_of!($Rust, $field));
            writeln!($text, "static_assert(offsetof({0}, {field}) == {offset}, \"{0}\");", $c)
                .unwrap();
        )+
    };
}

#[test]
fn structures_have_the_layouts_of_rust_in_both_languages() {
    let mut text = "#include \"nanotape.h\"\n#include \"nanotape.h\"\n".to_owned();
    text += "#ifdef __cplusplus\n#define NT_ALIGNOF alignof\n#else\n";
    text += "#define NT_ALIGNOF _Alignof\n#endif\n";
    layout!(text, RecordHeader, "nt_record_header", length, rtype, publisher_id, instrument_id);
    layout!(text, RecordHeader, "nt_record_header", ts_event);
    layout!(text, Mbo, "nt_mbo", hd, order_id, price, size, flags, channel_id, action, side);
    layout!(text, Mbo, "nt_mbo", ts_recv, ts_in_delta, sequence);
    layout!(text, Bbo, "nt_bbo", hd, price, size, action, side, flags, depth, ts_recv);
    layout!(text, Bbo, "nt_bbo", ts_in_delta, sequence, bid_px, ask_px, bid_sz, ask_sz, bid_ct);
    layout!(text, Bbo, "nt_bbo", ask_ct);
    layout!(text, Trade, "nt_trade", hd, price, size, action, side, flags, depth, ts_recv);
    layout!(text, Trade, "nt_trade", ts_in_delta, sequence);
    layout!(text, ReaderItem, "nt_item", kind, record_type, symbol, sequence, last, time_ns, bytes);
    layout!(text, ReaderItem, "nt_item", length, end);
    layout!(text, TapOptions, "nt_tap_options", symbols, records, journal, patience_ns);
    layout!(text, MapShape, "nt_shape", capacity, entries, key_words, value_words);
    layout!(text, MapEntry, "nt_entry", key, value, version);
    layout!(text, Stock, "nt_stock", sequence, bid_price, last_side, keeper, volume, doubts);
    layout!(text, Stock, "nt_stock", is_over, doubt_sequence, action, last_number, key_changes);
    let folder = Scratch::folder("layout");
    let source = folder.join("layout.c");
    fs::write(&source, text).unwrap();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    for arguments in [["cc", "-std=c11", "-x", "c"], ["g++", "-std=c++17", "-x", "c++"]] {
        let mut compiler = Command::new(arguments[0]);
        compiler.args(&arguments[1..]).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
        match compiler.args(["-fsyntax-only", "-I", header]).arg(&source).bounded_output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && text.is_empty(), "{compiler:?}\n{text}");
            }
            Err(error) if arguments[0] == "g++" => skipped(format_args!("no g++: {error}")),
            Err(error) => panic!("{error}"),
        }
    }
}
