//! How the number of a figure is printed. A figure that a row does not have is a dash.

use nanotape_console::values::grouped;
use serde_json::Value;

/// Declares forms: the text of a number.
macro_rules! forms {
    ($($(#[doc = $help:literal])* $name:ident = $print:expr;)*) => {
        $($(#[doc = $help])*
        pub(crate) fn $name(value: &Value) -> String {
            let print: fn(f64) -> String = $print;
            value.as_f64().map_or("-".to_owned(), print)
        })*
    };
}

forms! {
    /// Without decimals.
    whole = |number| grouped(number.round() as u64);
    /// With two decimals.
    nanos = |number| format!("{number:.2}");
    /// In millions, with two decimals.
    millions = |number| format!("{:.2}", number / 1e6);
    /// In thousands, without decimals.
    thousands = |number| grouped((number / 1e3).round() as u64);
    /// With three decimals.
    ratio = |number| format!("{number:.3}");
    /// Without decimals and groups.
    plain = |number| format!("{number:.0}");
    /// A share in percent.
    percent = |share| format!("{:.2}%", 100.0 * share);
    /// The same without decimals.
    whole_percent = |share| format!("{:.0}%", 100.0 * share);
    /// A share that is lost, as a change.
    loss = |share| format!("{:+.2}%", -100.0 * share);
    megabytes = |bytes| format!("{:.1} MB", bytes / 1e6);
    millis = |millis| format!("{millis:.1} ms");
    /// A longest time: without times there is none.
    longest = |number| if number > 0.0 { grouped(number as u64) } else { "-".to_owned() };
}

/// The number of things: 0 if there are none.
pub(crate) fn count(value: &Value) -> String {
    grouped(value.as_u64().unwrap_or(0))
}

/// The same, as a dash if there are none.
pub(crate) fn any(value: &Value) -> String {
    value.as_u64().filter(|&count| count > 0).map_or("-".to_owned(), |count| count.to_string())
}

/// The share that readers lost.
pub(crate) fn lost(value: &Value) -> String {
    if value.as_f64() == Some(0.0) { "0%".to_owned() } else { percent(value) }
}

/// A text.
pub(crate) fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
