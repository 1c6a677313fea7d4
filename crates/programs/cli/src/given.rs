//! Paths and names of the command line. A path need not be UTF-8; its text is for messages only.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    ops::Deref,
    path::Path,
};

/// A path, the name of a ring, or -, as it was given. As a `str` it is the text for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Given {
    bytes: OsString,
    text: String,
}

impl Given {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.bytes)
    }

    /// Whether it is -, which is standard input.
    pub(crate) fn is_standard(&self) -> bool {
        self.bytes == "-"
    }
}

impl From<OsString> for Given {
    fn from(bytes: OsString) -> Self {
        let text = bytes.to_string_lossy().into_owned();
        Self { bytes, text }
    }
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        OsString::from(text).into()
    }
}

impl AsRef<OsStr> for Given {
    fn as_ref(&self) -> &OsStr {
        &self.bytes
    }
}

impl Deref for Given {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
