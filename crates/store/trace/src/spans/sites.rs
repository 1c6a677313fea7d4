//! The sites of a thread's spans: names that are checked when the program is compiled.

use core::fmt;

/// Most sites of one thread: one switch each, in eight cache lines.
pub const MAX_SITES: usize = 64;

/// The longest name of a site, in bytes.
pub const MAX_NAME_BYTES: usize = 32;

/// The sites of a thread, in the order in which a message passes them.
#[derive(Clone, Copy, Debug)]
pub struct Sites {
    names: &'static [&'static str],
}

/// One site: the place in a program where a stage ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site(u8);

impl Sites {
    /// Sites with these names. Make them a constant, so that a wrong name does not compile:
    ///
    /// ```
    /// use nanotape_trace::spans::{Site, Sites};
    /// const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
    /// const STORE: Site = SITES.site("work.store");
    /// assert_eq!(SITES.name(STORE), "work.store");
    /// ```
    ///
    /// ```compile_fail,E0080
    /// use nanotape_trace::spans::{Site, Sites};
    /// const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
    /// const STORE: Site = SITES.site("work.sotre");
    /// # let _ = STORE;
    /// ```
    ///
    /// # Panics
    ///
    /// Without names or with more than [`MAX_SITES`], and if a name occurs twice or is not made of
    /// 1 to [`MAX_NAME_BYTES`] lower-case letters, digits, dots, dashes and underscores.
    pub const fn new(names: &'static [&'static str]) -> Self {
        assert!(!names.is_empty() && names.len() <= MAX_SITES, "1 to 64 sites");
        let mut at = 0;
        while at < names.len() {
            assert!(is_site_name(names[at].as_bytes()), "the name of a site is not valid");
            let mut other = 0;
            while other < at {
                assert!(!are_equal(names[at], names[other]), "two sites have the same name");
                other += 1;
            }
            at += 1;
        }
        Self { names }
    }

    /// The site with this name.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub const fn site(self, name: &str) -> Site {
        let mut at = 0;
        while at < self.names.len() {
            if are_equal(self.names[at], name) {
                return Site(at as u8);
            }
            at += 1;
        }
        panic!("no site has this name")
    }

    /// The name of a site.
    ///
    /// # Panics
    ///
    /// If the site is one of more sites than these.
    pub const fn name(self, site: Site) -> &'static str {
        self.names[site.index()]
    }

    /// All names, in the order in which a message passes the sites.
    pub const fn names(self) -> &'static [&'static str] {
        self.names
    }
}

impl Site {
    /// Its place among the sites of its thread, from 0 on.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The site at a place, if there can be one.
    pub const fn at(index: usize) -> Option<Self> {
        if index < MAX_SITES { Some(Self(index as u8)) } else { None }
    }
}

/// The name of a site as it is in shared memory: 32 bytes, zeros after the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteName([u8; MAX_NAME_BYTES]);

impl SiteName {
    pub(crate) fn of(name: &str) -> Self {
        let mut bytes = [0; MAX_NAME_BYTES];
        bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        Self(bytes)
    }

    /// A name like a text: letters become lower case, other characters that a name cannot have
    /// become dashes, and what is too long is cut. `None` for a text without characters.
    pub fn like(text: &str) -> Option<Self> {
        let letter = |letter: char| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9' | '.' | '-' | '_') => letter,
            _ => '-',
        };
        let name: String = text.chars().map(letter).take(MAX_NAME_BYTES).collect();
        (!name.is_empty()).then(|| Self::of(&name))
    }

    /// The name in bytes from outside; `None` if it is no name of a site.
    pub(crate) fn from_bytes(bytes: [u8; MAX_NAME_BYTES]) -> Option<Self> {
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let is_padded = bytes[length..].iter().all(|&byte| byte == 0);
        (is_padded && is_site_name(&bytes[..length])).then_some(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; MAX_NAME_BYTES] {
        &self.0
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        // Names are ASCII.
        str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

const fn is_site_name(name: &[u8]) -> bool {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if !matches!(name[at], b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_') {
            return false;
        }
        at += 1;
    }
    true
}

const fn are_equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_outside_is_a_name_or_nothing() {
        let bytes = |text: &[u8]| {
            let mut bytes = [0; MAX_NAME_BYTES];
            bytes[..text.len()].copy_from_slice(text);
            SiteName::from_bytes(bytes)
        };
        let long = "a.very-long_name.of.32.bytes.abc";
        assert_eq!(long.len(), MAX_NAME_BYTES);
        for name in ["a", "book.apply", long] {
            assert_eq!(bytes(name.as_bytes()), Some(SiteName::of(name)));
            assert_eq!(SiteName::of(name).to_string(), name);
        }
        for wrong in [&b""[..], b"A", b"a b", b"a\0b", b"\x1b[2J", b"\xff"] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_text_becomes_a_name() {
        for (text, expected) in [("Parse", "parse"), ("get /x", "get--x"), ("\u{e9}t\u{e9}", "-t-")]
        {
            assert_eq!(SiteName::like(text).unwrap().as_str(), expected);
        }
        let long = SiteName::like(&"x".repeat(50)).unwrap();
        assert_eq!(long.as_str(), "x".repeat(MAX_NAME_BYTES));
        assert_eq!(SiteName::like(""), None);
    }

    #[test]
    fn wrong_names_are_refused() {
        for names in [&[][..], &[""], &["A"], &["a", "a"], &["a-name-that-has-thirty-three-bytes"]]
        {
            assert!(std::panic::catch_unwind(|| Sites::new(names)).is_err(), "{names:?}");
        }
        let sites = Sites::new(&["a", "b"]);
        assert!(std::panic::catch_unwind(|| sites.site("c")).is_err());
        assert_eq!(sites.site("b").index(), 1);
    }
}
