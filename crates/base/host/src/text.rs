//! The forms in which the kernel writes values.

/// The value of the first line `key: value`, without space around it.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// The bytes of the first line `key: N kB`: the kernel writes units of 1024 bytes.
pub fn bytes(text: &str, key: &str) -> Option<u64> {
    let kilobytes: u64 = value(text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The word in brackets of `always [madvise] never`; `None` without one.
pub fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (!word.is_empty()).then_some(word)
}

/// A word or line without surrounding space; `None` if it is empty or `(none)`.
pub(crate) fn known(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text != "(none)").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nVmHWM:\t    2048 kB\nRssAnon:\t     100 kB\nVmX: many kB\n";

    #[test]
    fn values_are_those_of_the_whole_key() {
        assert_eq!(value(STATUS, "Name"), Some("x"));
        assert_eq!(value(STATUS, "Nam"), None);
        assert_eq!(bytes(STATUS, "VmHWM"), Some(2048 * 1024));
        assert_eq!(bytes(STATUS, "RssAnon"), Some(100 * 1024));
    }

    #[test]
    fn rubbish_has_no_value() {
        let huge = format!("VmX: {} kB", u64::MAX);
        for text in ["", "VmX", "VmX:", "VmX: kB", "VmX: 7", STATUS, &huge, "\u{fffd}\0:::\n"] {
            assert_eq!(bytes(text, "VmX"), None, "{text:?}");
        }
        for text in ["", "always madvise never", "a [] b", "a [b"] {
            assert_eq!(chosen(text), None, "{text:?}");
        }
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(known(" tsc\n"), Some("tsc".to_owned()));
        assert_eq!((known(" \n"), known("(none)")), (None, None));
    }
}
