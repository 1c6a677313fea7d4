//! The path of a file, the name of a ring, or -. A path need not be UTF-8; its text is for messages
//! only.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    ops::Deref,
    path::Path,
};

/// A path, the name of a ring, or -, as it was given. As a `str` it is the text for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    bytes: OsString,
    text: String,
}

impl Given {
    /// Its bytes as a path.
    pub fn path(&self) -> &Path {
        Path::new(&self.bytes)
    }

    /// Whether it is -, which is standard input.
    pub fn is_standard(&self) -> bool {
        self.bytes == "-"
    }

    /// Whether a second opening would not give its bytes again: standard input and pipes.
    pub fn is_read_once(&self) -> bool {
        self.is_standard() || !self.path().is_file()
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

impl From<&Path> for Given {
    fn from(path: &Path) -> Self {
        path.as_os_str().to_owned().into()
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
