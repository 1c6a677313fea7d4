//! Files as text. A file that is too long or no text is bad data.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::Context as _;
use nanotape_console::status::{BadData, Status, warn};
use nanotape_schema::{Description, MOST_BYTES, Problems, describe};

/// The text of a file, at most [`MOST_BYTES`].
pub(crate) fn text_of(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() > MOST_BYTES {
        let text = format!("{}: more than {MOST_BYTES} bytes", path.display());
        return Err(BadData(text).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        BadData(format!("{}: byte {at} is not UTF-8", path.display())).into()
    })
}

/// The description in a file.
pub(crate) fn description_of(path: &Path) -> anyhow::Result<Description> {
    let text = text_of(path)?;
    describe(&path.display().to_string(), &text).map_err(|error| BadData(error.to_string()).into())
}

/// Reports each mistake on a line.
pub(crate) fn report(problems: &Problems) -> Status {
    problems.0.iter().for_each(warn);
    Status::Bad
}
