//! The macro `value!`: the fields of a value, in its words.
//!
//! Where: above the map, which knows words only. `cargo xtask gen` writes tables from schemas of
//! the kind value (`docs/interfaces.md`), and [`value!`](crate::value!) expands them.
//! Layout: a field is inside one word, at a multiple of its own size; byte 0 of a word is its
//! lowest one. The layout of the values is in the header of the map.
//! Cost: a getter loads a word and shifts; nothing is copied or allocated.
//!
//! ```
//! use nanotape_latest::{LatestError, LatestSpec, LatestWriter};
//!
//! nanotape_latest::value! {
//!     /// State of a stock. What a plant knows of it.
//!     StockState: 3 words, layouts [0x0001_2b41_0c6b_92f7];
//!     fields {
//!         [0..8] bid, set_bid: i64, "Best bid. In units of 1e-9.";
//!         [8..12] orders, set_orders: u32, "Orders of the best bid.";
//!     }
//!     arrays {
//!         [16..24] sizes_at, set_sizes_at, SIZES_COUNT: [u16; 4], "Sizes of levels.";
//!     }
//! }
//!
//! let spec = LatestSpec::of_values::<StockState<()>>(1_000, 1, 8);
//! let mut writer = LatestWriter::on_heap(spec, 1)?;
//! let mut state = StockState::of([0; StockState::WORDS]);
//! state.set_bid(189_950_000_000);
//! state.set_sizes_at(3, 500);
//! let _ = writer.insert(&[7], state.words())?;
//! writer.update(&[7], |words| StockState::of(words).set_orders(2))?;
//!
//! let reader = writer.reader();
//! reader.expect::<StockState<()>>()?;
//! let mut words = [0; StockState::WORDS];
//! assert_eq!(reader.get(&[7], &mut words)?, Some(2));
//! let state = StockState::of(&words);
//! assert_eq!((state.bid(), state.orders(), state.sizes_at(3)), (189_950_000_000, 2, 500));
//! # Ok::<(), LatestError>(())
//! ```

use nanotape_types::WireValue;

use crate::{
    error::LatestError,
    spec::{LatestSpec, ValueLayout},
};

/// What the words of a value mean: implemented by [`value!`](crate::value!).
pub trait MapValue {
    /// The name in the schema.
    const NAME: &'static str;
    /// Words of a value.
    const WORDS: usize;
    /// The layouts of all versions, the newest last: [`LatestSpec::value_layout`].
    ///
    /// [`LatestSpec::value_layout`]: crate::LatestSpec::value_layout
    const LAYOUTS: &'static [u64];

    /// The layout of this version.
    fn layout() -> u64 {
        Self::LAYOUTS.last().copied().unwrap_or(0)
    }
}

impl LatestSpec {
    /// A map of values of a schema.
    pub fn of_values<V: MapValue>(entries: u64, key_words: usize, writers: u32) -> Self {
        let (value_words, value_layout) = (V::WORDS, V::layout());
        Self { entries, key_words, value_words, writers, value_layout }
    }

    /// Checks that the values are those of a schema, of the same version.
    pub fn expect<V: MapValue>(&self) -> Result<(), LatestError> {
        let (found, expected) = (self.value_layout, V::layout());
        if found == expected && self.value_words == V::WORDS {
            return Ok(());
        }
        let is_earlier = found != expected && V::LAYOUTS.contains(&found);
        let (found, expected) = (ValueLayout(found), ValueLayout(expected));
        Err(LatestError::Values { found, expected, is_earlier })
    }
}

/// The field of `N` bytes that begins at a byte.
#[inline]
pub fn load<T: WireValue<N>, const N: usize>(words: &[u64], at: usize) -> T {
    let bytes = words[at / 8].to_le_bytes();
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at % 8..][..N]);
    T::from_le_bytes(field)
}

/// Stores the field of `N` bytes that begins at a byte.
#[inline]
pub fn store<T: WireValue<N>, const N: usize>(words: &mut [u64], at: usize, value: T) {
    let word = &mut words[at / 8];
    let mut bytes = word.to_le_bytes();
    bytes[at % 8..][..N].copy_from_slice(&value.to_le_bytes());
    *word = u64::from_le_bytes(bytes);
}

/// Defines a value from a table that `cargo xtask gen` writes.
///
/// A table begins with the name, the words, and the layouts of all versions, the newest last. Two
/// lists follow: fields, and arrays; each with its bytes, the names of its functions, its type and
/// its meaning.
///
/// For a table of `StockState`, `StockState::of(words)` is a view of words in place: of a slice to
/// read, of a mutable one to write, or of an array of its own.
#[macro_export]
macro_rules! value {
    (
        $(#[$about:meta])*
        $Name:ident: $words:literal words, layouts [$($layout:literal),+ $(,)?];
        fields {
            $([$start:literal .. $end:literal] $field:ident, $set:ident: $Type:ty, $doc:literal;)*
        }
        arrays {
            $([$array_start:literal .. $array_end:literal] $at:ident, $set_at:ident,
                $Count:ident: [$Element:ty; $count:literal], $array_doc:literal;)*
        }
    ) => {
        $(#[$about])*
        ///
        /// A view of the words of a value, in place.
        #[derive(Clone, Copy, Debug)]
        pub struct $Name<W>(W);

        impl<W> $crate::MapValue for $Name<W> {
            const NAME: &'static str = stringify!($Name);
            const WORDS: usize = $words;
            const LAYOUTS: &'static [u64] = &[$($layout),+];
        }

        #[allow(dead_code, reason = "a program need not use all of it")]
        impl $Name<()> {
            /// Words of a value.
            pub const WORDS: usize = $words;
            /// The layouts of all versions, the newest last.
            pub const LAYOUTS: &'static [u64] = &[$($layout),+];
            $(
                #[doc = concat!("Elements of `", stringify!($at), "`.")]
                pub const $Count: usize = $count;
            )*
        }

        #[allow(dead_code, reason = "a program need not use all of it")]
        impl<W: ::core::convert::AsRef<[u64]>> $Name<W> {
            /// The value in these words.
            ///
            /// # Panics
            ///
            /// If they are not as many as a value has.
            #[inline]
            pub fn of(words: W) -> Self {
                assert!(words.as_ref().len() == $words, "words of another value");
                Self(words)
            }

            /// Its words.
            #[inline]
            pub fn words(&self) -> &[u64] {
                self.0.as_ref()
            }

            $(
                #[doc = $doc]
                #[inline]
                pub fn $field(&self) -> $Type {
                    $crate::load::<$Type, { $end - $start }>(self.0.as_ref(), $start)
                }
            )*
            $(
                #[doc = $array_doc]
                ///
                /// # Panics
                ///
                /// If there is no element of this number, from 0 on.
                #[inline]
                pub fn $at(&self, number: usize) -> $Element {
                    const WIDTH: usize = ($array_end - $array_start) / $count;
                    assert!(number < $count, "no such element");
                    $crate::load::<$Element, WIDTH>(self.0.as_ref(), $array_start + number * WIDTH)
                }
            )*
        }

        #[allow(dead_code, reason = "a program need not use all of it")]
        impl<W: ::core::convert::AsMut<[u64]>> $Name<W> {
            $(
                #[doc = concat!("Stores `", stringify!($field), "`.")]
                #[inline]
                pub fn $set(&mut self, value: $Type) {
                    $crate::store::<$Type, { $end - $start }>(self.0.as_mut(), $start, value);
                }
            )*
            $(
                #[doc = concat!("Stores an element of `", stringify!($at), "`.")]
                ///
                /// # Panics
                ///
                /// If there is no element of this number, from 0 on.
                #[inline]
                pub fn $set_at(&mut self, number: usize, value: $Element) {
                    const WIDTH: usize = ($array_end - $array_start) / $count;
                    assert!(number < $count, "no such element");
                    let at = $array_start + number * WIDTH;
                    $crate::store::<$Element, WIDTH>(self.0.as_mut(), at, value);
                }
            )*
        }
    };
}
