//! What the messages of one type took.

use serde_json::Value;

/// The times of the messages of one type, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeTime {
    /// The type byte.
    pub tag: u8,
    /// Messages of it.
    pub count: u64,
    /// The median of their times.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// All of them together.
    pub total_ns: u64,
}

impl TypeTime {
    /// The type as it is written: a letter, or what there is in its place.
    pub fn name(&self) -> String {
        self.tag.escape_ascii().to_string()
    }

    pub(super) fn of_json(types: &Value) -> Option<Vec<Self>> {
        let one = |value: &Value| {
            Some(Self {
                tag: u8::try_from(value["tag"].as_u64()?).ok()?,
                count: value["count"].as_u64()?,
                p50_ns: value["p50_ns"].as_u64()?,
                p99_ns: value["p99_ns"].as_u64()?,
                total_ns: value["total_ns"].as_u64()?,
            })
        };
        types.as_array()?.iter().map(one).collect()
    }
}
