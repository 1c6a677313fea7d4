//! The names of the sides of a link: machines, nodes, leaders and followers.

use std::fs;

use anyhow::Context as _;

/// Parses the name of a side.
pub(crate) fn side_name(text: &str) -> Result<String, String> {
    match nanotape_link::Hello::is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("expected 1 to 64 letters, digits, dots, dashes or underscores".to_owned()),
    }
}

/// The name of this host, without its domain.
pub(crate) fn host_name() -> anyhow::Result<String> {
    let path = "/proc/sys/kernel/hostname";
    let name = fs::read_to_string(path).with_context(|| format!("{path}; use --as"))?;
    Ok(name.trim().split('.').next().unwrap_or_default().to_owned())
}
