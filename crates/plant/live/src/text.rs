//! Values of a configuration that are texts in a form of their own.

use std::{fmt, str::FromStr, time::Duration};

use nanotape_types::units;
use serde::{Deserialize, Deserializer, de};

pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    quoted(deserializer, units::bytes).map(|bytes| bytes as usize)
}

pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    quoted(deserializer, units::duration)
}

/// Parses a text, and quotes it in the error.
pub fn quoted<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, units::ParseUnitError>,
) -> Result<T, D::Error> {
    units::quoted(&String::deserialize(deserializer)?, parse).map_err(de::Error::custom)
}

pub fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}
