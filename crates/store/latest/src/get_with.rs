//! A value as an argument of a closure, without a buffer of the caller.
//!
//! Cost: values of up to [`MANY`] words are copied to the stack; a longer one needs an allocation
//! for each call.

use crate::{error::LatestError, group::View, reader::LatestReader, spec::LatestSpec};

/// Words of a short value: what is not used of the space for a value costs time too.
const FEW: usize = 4;

/// Words of the longest value that is copied to the stack.
const MANY: usize = 32;

impl LatestReader {
    /// Calls `take` with the value and the version of a key, and returns its result, or `None` if
    /// the key is not there. The words are a copy of one moment, which is made before the call.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    #[inline]
    pub fn get_with<R>(
        &self,
        key: &[u64],
        take: impl FnOnce(&[u64], u32) -> R,
    ) -> Result<Option<R>, LatestError> {
        let LatestSpec { key_words, value_words, .. } = self.spec();
        assert!(key.len() == key_words, "lengths of another map");
        let view = self.view();
        if value_words <= FEW {
            return copied(view, key, &mut [0; FEW][..value_words], take);
        }
        if value_words <= MANY {
            return copied(view, key, &mut [0; MANY][..value_words], take);
        }
        copied(view, key, &mut vec![0; value_words], take)
    }
}

#[inline(always)]
fn copied<R>(
    view: View<'_>,
    key: &[u64],
    value: &mut [u64],
    take: impl FnOnce(&[u64], u32) -> R,
) -> Result<Option<R>, LatestError> {
    let version = view.get(key, value)?;
    Ok(version.map(|version| take(value, version)))
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;
    use crate::LatestWriter;

    #[test]
    fn a_closure_gets_the_whole_value_of_any_length() {
        for value_words in [0, 1, FEW, FEW + 1, MANY, MANY + 1, 200] {
            let spec =
                LatestSpec { entries: 3, key_words: 1, value_words, writers: 1, value_layout: 0 };
            let mut writer = LatestWriter::on_heap(spec, 3).unwrap();
            let value: Vec<u64> = (5..).take(value_words).collect();
            let _ = writer.insert(&[7], &value).unwrap();
            let _ = writer.insert(&[7], &value).unwrap();
            let reader = writer.reader();
            let got = reader.get_with(&[7], |value, version| (value.to_vec(), version)).unwrap();
            assert_eq!(got, Some((value, 2)));
            assert_eq!(reader.get_with(&[8], |_, _| panic!("it is not there")).unwrap(), None);
        }
    }
}
