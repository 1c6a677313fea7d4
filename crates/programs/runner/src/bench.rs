//! The rows of a benchmark, as its JSON has them.

use serde_json::Value;

use crate::Ran;

/// The rows of a run that succeeded without a word on standard error.
pub fn list(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    match serde_json::from_str(&ran.stdout).unwrap() {
        Value::Array(list) => list,
        other => panic!("{other} is no list"),
    }
}

/// Whether a row has a number above zero at this place.
pub fn positive(record: &Value, place: &str) -> bool {
    record.pointer(place).and_then(Value::as_f64).is_some_and(|number| number > 0.0)
}
