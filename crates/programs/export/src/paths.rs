//! Names of outputs, and what they say.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::bail;
use nanotape_answers::{Given, Table};
use nanotape_console::output::is_file;

/// Hive's name for rows of no stock.
pub(crate) const NO_STOCK: &str = "__HIVE_DEFAULT_PARTITION__";

/// The name of a stock as a part of a path: other letters are in percent encoding, as in the paths
/// of Hive, so that each stock has a name of its own.
pub(crate) fn file_name(stock: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-+.^#$@!~".contains(&byte);
    // No symbol has as many letters.
    if stock == NO_STOCK {
        return stock.to_owned();
    }
    let mut name = String::new();
    for byte in stock.bytes() {
        match is_plain(byte) {
            true => name.push(byte.into()),
            false => name += &format!("%{byte:02X}"),
        }
    }
    name
}

/// The stock of such a name.
fn stock_of(file_name: &str) -> Option<String> {
    let (mut stock, mut rest) = (Vec::new(), file_name.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            stock.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        stock.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(stock).ok()
}

/// The stocks that have a folder in that of a day, and the folders; none if there is no such day.
pub(crate) fn stocks_in(day: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(day) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut stocks = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let stock = name.to_str().and_then(|name| stock_of(name.strip_prefix("symbol=")?));
        stocks.extend(stock.map(|stock| (stock, entry.path())));
    }
    Ok(stocks)
}

/// Whether the output is a folder, which can be a new one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses a file that is the input itself: with --force it would be replaced.
pub(crate) fn require_another(path: &Path, input: &Given) -> anyhow::Result<()> {
    let identity = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino()));
    if let (Ok(own), Ok(other)) = (identity(path), identity(input.path()))
        && own == other
        && is_file(path)
    {
        bail!("{}: is the input; choose another output", path.display());
    }
    Ok(())
}

/// Whether the suffix is that of a DBN file, which `nanotape convert` writes.
pub(crate) fn is_dbn(path: &Path) -> bool {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    name.ends_with(b".dbn") || name.ends_with(b".dbn.zst")
}

/// Whether a folder is a dataset that has days.
pub(crate) fn has_days(folder: &Path) -> bool {
    Table::ALL.iter().any(|table| dates_in(&folder.join(table.name())).next().is_some())
}

/// The folders of days in that of a table.
pub(crate) fn dates_in(table: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(table).into_iter().flatten().flatten();
    let dates = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"date="));
    dates.map(|entry| entry.path())
}

/// The folder of a table of a day in a dataset, as Hive and its readers name partitions.
pub(crate) fn partition(dataset: &Path, table: Table, date: &str) -> PathBuf {
    dataset.join(table.name()).join(format!("date={date}"))
}
