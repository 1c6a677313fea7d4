//! `docs/formats/rows.md` has the columns of every table, as they are declared.

use std::fmt::Write as _;

use nanotape_answers::{
    ConsolidatedTable, DepthTable, InsideTable, MoreColumns, Part, RecordRow, Table, TableOptions,
    TradeRows, book_columns, change_columns, message_columns, stats_columns,
};
use nanotape_check::Validator;
use nanotape_types::rows::Column;

#[test]
fn the_page_of_rows_is_what_is_declared() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/formats/rows.md");
    let expected = page();
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var_os("NANOTAPE_WRITE_PAGES").is_some() {
        std::fs::write(path, expected).unwrap();
        return;
    }
    assert!(found == expected, "{path} differs; write it with NANOTAPE_WRITE_PAGES=1");
}

fn page() -> String {
    let mut page = TEXT[0].to_owned();
    let orders = MoreColumns { orders: true, ..MoreColumns::default() };
    let options = TableOptions { has_receipt: true, ..TableOptions::default() };
    let all = MoreColumns { message: true, orders: true, receipt: true, reason: true };
    let tables = [
        ("inspect, before the fields of the message", message_columns()),
        ("inside --with message,orders,receipt,reason", InsideTable::<()>::columns(all)),
        ("inside --consolidated", ConsolidatedTable::<()>::columns()),
        ("depth --levels 1 --with orders", DepthTable::<()>::columns(1, true, orders)),
        ("trades", TradeRows::<()>::columns(MoreColumns::default())),
        ("book", book_columns(Part::Levels, true)),
        ("book --orders", book_columns(Part::Orders, true)),
        ("diff", change_columns(Part::Levels, true)),
        ("diff --orders", change_columns(Part::Orders, true)),
        ("tap of several inputs, before the columns of tap", RecordRow::source_columns()),
        ("tap, convert", RecordRow::columns()),
        ("export --records mbo", Table::Mbo.columns(&options)),
        ("export --records bars", Table::Bars.columns(&options)),
        ("export --records status", Table::Status.columns(&options)),
        ("export --records definitions", Table::Definitions.columns(&options)),
        ("export --records imbalance", Table::Imbalance.columns(&options)),
        ("stats", stats_columns()),
        ("check", Validator::columns()),
    ];
    for (command, columns) in tables {
        table(&mut page, command, &columns);
    }
    page + TEXT[1]
}

/// The text before and after the tables, which is written by hand.
const TEXT: [&str; 2] = [include_str!("rows_head.txt"), include_str!("rows_tail.txt")];

fn table(page: &mut String, command: &str, columns: &[Column]) {
    write!(page, "\n## {command}\n\n| column | kind | unit | meaning |\n|---|---|---|---|\n")
        .unwrap();
    for Column { name, kind, unit, doc, .. } in columns {
        assert!(doc.ends_with('.'), "{command}: {name}: {doc}");
        let name = name.replace("_1", "_N");
        writeln!(page, "| `{name}` | {} | {unit} | {doc} |", kind.name()).unwrap();
    }
}
