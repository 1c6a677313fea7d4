//! `--cost FILE`: measured service times by type of message, as quantiles.

use std::{collections::BTreeMap, fs::File, io::Read as _, path::Path};

use anyhow::{Context as _, bail};
use nanotape_queue::Steps;

/// The first line of a file.
const HEADER: &str = "type,quantile,ns";

/// The largest file.
const MAX_BYTES: u64 = 1 << 20;

/// The distribution of each type in a file; None: of all other types.
pub(super) fn read(path: &Path) -> anyhow::Result<BTreeMap<Option<u8>, Steps>> {
    let name = path.display();
    let cannot = || format!("cannot read {name}");
    let mut text = String::new();
    let file = File::open(path).with_context(cannot)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).with_context(cannot)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{name}: more than {MAX_BYTES} bytes; expected a line for each type and quantile");
    }
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEADER) {
        bail!("{name}: line 1: expected the header {HEADER}");
    }
    let mut quantiles: BTreeMap<Option<u8>, Vec<(f64, u64)>> = BTreeMap::new();
    for (index, line) in lines.enumerate() {
        let Some((letter, quantile)) = row(line.trim_end()) else {
            bail!("{name}: line {}: expected {HEADER}, such as A,0.99,480", index + 2);
        };
        quantiles.entry(letter).or_default().push(quantile);
    }
    let steps = quantiles.into_iter().map(|(letter, quantiles)| {
        let of = letter.map_or_else(|| "other".to_owned(), |letter| char::from(letter).to_string());
        let steps = Steps::new(quantiles).with_context(|| format!("{name}: type {of}"))?;
        Ok((letter, steps))
    });
    steps.collect()
}

fn row(line: &str) -> Option<(Option<u8>, (f64, u64))> {
    let [name, quantile, ns] = <[&str; 3]>::try_from(line.split(',').collect::<Vec<_>>()).ok()?;
    Some((super::receiver::letter(name)?, (quantile.parse().ok()?, ns.parse().ok()?)))
}
