//! Memory of C: texts, and words that are read or written.
//!
//! The header requires of callers what the proofs below use. Every type here is an argument of a
//! function and nothing else, so none outlives its call.

use std::{
    ffi::{CStr, OsStr, c_char},
    os::unix::ffi::OsStrExt as _,
    ptr, slice,
};

use crate::error::Error;

/// Text: NULL, or the address of bytes that end with a 0.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The bytes without the 0; `None` for NULL.
    fn get(&self) -> Option<&CStr> {
        // SAFETY: the address is not NULL. A value comes from C code only, which
        // passes text that ends with a 0 and does not change during the call.
        (!self.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }

    /// A name or a path, which is not empty.
    pub(crate) fn name(&self, argument: &str) -> Result<&OsStr, Error> {
        let name = self.get().ok_or_else(|| Error::null(argument))?;
        match name.is_empty() {
            true => Err(Error::wrong(format!("{argument} is empty"))),
            false => Ok(OsStr::from_bytes(name.to_bytes())),
        }
    }

    /// Bytes of a text.
    pub(crate) fn bytes(&self, argument: &str) -> Result<&[u8], Error> {
        self.get().map(CStr::to_bytes).ok_or_else(|| Error::null(argument))
    }

    /// Text of letters; `None` for NULL.
    pub(crate) fn letters(&self, argument: &str) -> Result<Option<&str>, Error> {
        let Some(text) = self.get() else { return Ok(None) };
        text.to_str().map(Some).map_err(|_| Error::wrong(format!("{argument} is not UTF-8")))
    }
}

/// Words that are read: NULL, or the address of as many as the argument after it says.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Words(*const u64);

impl Words {
    /// The words, if they are as many as `expected`, which is not 0.
    pub(crate) fn get(&self, given: usize, expected: usize, what: &str) -> Result<&[u64], Error> {
        check(self.0.is_null(), given, expected.max(1), what)?;
        // SAFETY: the address is not NULL, and the caller in C has as many words there, which do
        // not change during the call.
        Ok(unsafe { slice::from_raw_parts(self.0, expected) })
    }
}

/// Room for words: NULL, or the address of as many as the argument after it says.
#[derive(Debug)]
#[repr(transparent)]
pub struct Room(*mut u64);

impl Room {
    /// Refuses room for another number of words.
    pub(crate) fn check(&self, given: usize, expected: usize, what: &str) -> Result<(), Error> {
        check(self.0.is_null(), given, expected, what)
    }

    /// Writes the words, if there is room for exactly as many.
    pub(crate) fn set(self, given: usize, words: &[u64], what: &str) -> Result<(), Error> {
        self.check(given, words.len(), what)?;
        // SAFETY: the address is not NULL unless there are no words, and the caller in C has room
        // for as many words there, which nothing else uses during the call. No reference to them is
        // made, so they may be uninitialised.
        unsafe { ptr::copy_nonoverlapping(words.as_ptr(), self.0, words.len()) };
        Ok(())
    }
}

fn check(is_null: bool, given: usize, expected: usize, what: &str) -> Result<(), Error> {
    match given == expected {
        // A map can have values of no words.
        true if is_null && expected > 0 => Err(Error::null(what)),
        true => Ok(()),
        false => Err(Error::wrong(format!("{what} has {given} words, expected {expected}"))),
    }
}
