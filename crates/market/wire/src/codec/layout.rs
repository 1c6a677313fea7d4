//! The macros `message!` and `structure!`: a view with getters, the struct of its fields, and the
//! encoder, from one table.
//!
//! The table begins with the names of the view and of the struct of its fields, the size, the type
//! byte and its offset if there is one, and the name in the specification. Then there is a row for
//! each field, in the order of the offsets: its bytes, name, type and meaning.
//!
//! ```
//! nanotape_wire::structure! {
//!     /// Note. A text for one stock.
//!     Note / NoteFields: 5 bytes, type b'n' at 0, "Note";
//!     [1..3] stock_locate: StockLocate, "The stock.";
//!     [3] loudness: u8, "How loud, in decibels.";
//!     [4] mood: Alpha<1>, "How it went.";
//! }
//! use nanotape_types::{Alpha, StockLocate};
//! assert_eq!(Note::wrap(b"n\x00\x0d\x07!").map(Note::stock_locate), Ok(StockLocate::new(13)));
//! ```
//!
//! Numbers are big-endian. After `bytes little-endian` in the first line they are little-endian.
//!
//! A message has three more kinds of rows. Its first row is `head { .. }`, the fields that every
//! message of its protocol begins with. A field of type `LengthAfter` counts the bytes after
//! itself: it is checked and shown, and the encoder writes it. The last field may contain the rest
//! of the bytes, shown as `Text` or as `Bytes`:
//!
//! ```text
//! [17..19] text_length: LengthAfter, "Bytes of the text.";
//! [19..] text: Text, "The text.";                  any length
//! [19.. max 12] text: Text, "The text.";           at most 12 bytes
//! ```
//!
//! Messages of some protocols grow, have numbers as types, or contain groups: their tables are
//! those of [`extended!`](crate::extended).
//!
//! Both macros call `layout!`, which sorts the rows one by one (`@sort`) into three lists: all
//! fields, those that the encoder takes, and the one that counts. It then writes the parts that
//! depend on a tail (`@fixed`, `@tailed`) and those that do not (`@view`).

/// Defines a message: a view that `messages!` lists.
#[doc(hidden)]
#[macro_export]
macro_rules! message {
    (head { $($head:tt)* } $(#[$about:meta])* $Name:ident / $Fields:ident:
        $length:literal bytes $($order:ident-endian)?, type $tag:literal at $tag_at:literal, $title:literal; $($rows:tt)*
    ) => {
        $crate::layout! {
            @sort {
                message [$($order)?] [$(#[$about])*] $Name / $Fields, $length, [$tag, $tag_at], $title
            } [] [] [] $($head)* $($rows)*
        }
    };
    (head { $($head:tt)* } $(#[$about:meta])* $Name:ident / $Fields:ident:
        $length:literal bytes $($order:ident-endian)?, $growth:ident,
        type $tag:literal as $Tag:ident at $tag_at:literal, $title:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort {
                message [$($order)?] [$(#[$about])*] $Name / $Fields, $length, $growth,
                [$tag, $Tag, $tag_at], $title
            } [] [] {} $($head)* $($rows)*
        }
    };
}

/// Defines a structure: a view whose position identifies it.
#[doc(hidden)]
#[macro_export]
macro_rules! structure {
    ($(#[$about:meta])* $Name:ident / $Fields:ident: $length:literal bytes $($order:ident-endian)?,
        $(type $tag:literal at $tag_at:literal,)? $title:literal; $($rows:tt)*
    ) => {
        $crate::layout! {
            @sort {
                structure [$($order)?] [$(#[$about])*] $Name / $Fields, $length, [$($tag, $tag_at)?], $title
            } [] [] [] $($rows)*
        }
    };
}

/// The common implementation of [`message!`] and [`structure!`].
#[doc(hidden)]
#[macro_export]
macro_rules! layout {
    // @sort {table} [all fields] [fields given to the encoder] [offset of the count] rows..
    (@sort $table:tt [$($all:tt)*] $given:tt []
        [$start:literal .. $end:literal] $field:ident: LengthAfter, $doc:literal; $($rows:tt)*
    ) => {
        $crate::layout! {
            @sort $table [
                $($all)*
                { $field: u16, $start, $end - $start, ["Bytes ", $start, "..", $end], $doc }
            ] $given [$start] $($rows)*
        }
    };
    (@sort $table:tt [$($all:tt)*] [$($given:tt)*] $count:tt
        [$start:literal .. $end:literal] $field:ident: $Type:ty, $doc:literal; $($rows:tt)*
    ) => {
        $crate::layout! {
            @sort $table [
                $($all)*
                { $field: $Type, $start, $end - $start, ["Bytes ", $start, "..", $end], $doc }
            ] [$($given)* { $field: $Type, $start, $doc }] $count $($rows)*
        }
    };
    (@sort $table:tt [$($all:tt)*] [$($given:tt)*] $count:tt
        [$at:literal] $field:ident: $Type:ty, $doc:literal; $($rows:tt)*
    ) => {
        $crate::layout! {
            @sort $table [$($all)* { $field: $Type, $at, 1, ["Byte ", $at], $doc }]
                [$($given)* { $field: $Type, $at, $doc }] $count $($rows)*
        }
    };
    // No rows are left, or the last one has the rest of the bytes.
    (@sort $table:tt $all:tt $given:tt $count:tt) => {
        $crate::layout! { @fixed $table $all $given $count }
    };
    (@sort $table:tt $all:tt $given:tt $count:tt
        [$start:literal ..] $field:ident: $Shown:ident, $doc:literal;
    ) => {
        $crate::layout! {
            @tailed $table $all $given $count [$field: $Shown, $start, $doc, usize::MAX]
        }
    };
    (@sort $table:tt $all:tt $given:tt $count:tt
        [$start:literal .. max $most:literal] $field:ident: $Shown:ident, $doc:literal;
    ) => {
        $crate::layout! { @tailed $table $all $given $count [$field: $Shown, $start, $doc, $most] }
    };

    // The length is constant: the view is an array, and the encoder returns one.
    (@fixed {
            $kind:ident $order:tt $about:tt $Name:ident / $Fields:ident, $length:literal,
            [$($tag:literal, $tag_at:literal)?], $title:literal
        } $all:tt [$({ $field:ident: $Type:ty, $start:literal, $doc:literal })*]
        [$($count:literal)?]
    ) => {
        $crate::layout! {
            @view $order $about $Name (&'a [u8; $length]), $length " bytes." "Bytes in all.",
            {
                $(
                    /// Type byte.
                    pub const TAG: u8 = $tag;
                )?
            }
            {
                tag: $crate::layout!(@optional $(($tag_at, $tag))?),
                tail: None,
                length_at: $crate::layout!(@optional $($count)?),
                extension: $crate::codec::Extension::NONE,
            }
            { fn type_byte(self) -> Option<u8> { $crate::layout!(@optional $($tag)?) } }
            $title, $all []
            $Fields { $($field: $Type, $doc;)* }
            {
                #[doc = $crate::layout!(@checks [$($tag)?] [$($count)?])]
                #[inline]
                pub fn wrap(bytes: &'a [u8]) -> Result<Self, $crate::DecodeError> {
                    match <&[u8; $length]>::try_from(bytes) {
                        Ok(whole) if true
                            $(&& whole[$tag_at] == Self::TAG)?
                            $(&& $crate::codec::counts_rest($count, whole))? => Ok(Self(whole)),
                        _ => Err($crate::codec::refuse(&Self::SHAPE, bytes)),
                    }
                }

                /// The view of bytes that the caller compared with what `wrap` checks.
                #[doc(hidden)]
                #[inline(always)]
                pub const fn of_compared(bytes: &'a [u8; $length]) -> Self {
                    Self(bytes)
                }

                $crate::layout! { @first $kind $length, [$($tag_at)?] [$($count)?] }

                /// The bytes of the view.
                #[inline]
                pub const fn as_bytes(self) -> &'a [u8; $length] {
                    self.0
                }
            }
            |view, buffer| $crate::codec::copy(Self::NAME, &view.fields().encode(), buffer);
            |_view, _visitor| {}
        }

        impl $Fields {
            /// The encoded bytes.
            #[inline]
            pub fn encode(&self) -> [u8; $length] {
                let mut bytes = [0; $length];
                $(bytes[$tag_at] = $tag;)?
                $(
                    let value = $crate::layout!(@to_bytes $order self.$field);
                    $crate::codec::put::<$start, _, _>(&mut bytes, value);
                )*
                $(
                    let after = ($length - $count - 2) as u16;
                    $crate::codec::put::<$count, _, _>(&mut bytes, after.to_be_bytes());
                )?
                bytes
            }
        }
    };

    // A tail after an array: the view has both, and the encoder needs a buffer.
    (@tailed {
            message $order:tt $about:tt $Name:ident / $Fields:ident, $length:literal,
            [$tag:literal, $tag_at:literal], $title:literal
        } $all:tt [$({ $field:ident: $Type:ty, $start:literal, $doc:literal })*]
        [$($count:literal)?]
        [$tail:ident: $Shown:ident, $tail_at:literal, $tail_doc:literal, $most:expr]
    ) => {
        $crate::layout! {
            @view $order $about $Name (&'a [u8; $length], &'a [u8]),
            $length " bytes or more." "Bytes before the variable-length last field.",
            {
                /// Type byte.
                pub const TAG: u8 = $tag;
            }
            {
                tag: Some(($tag_at, $tag)),
                tail: Some($most),
                length_at: $crate::layout!(@optional $($count)?),
                extension: $crate::codec::Extension::NONE,
            }
            { fn type_byte(self) -> Option<u8> { Some($tag) } }
            $title, $all
            [$tail: $Shown, $tail_at, $tail_doc]
            $Fields<'a> { $($field: $Type, $doc;)* $tail: &'a [u8], $tail_doc; }
            {
                #[doc = $crate::layout!(@checks [$tag] [$($count)?])]
                #[inline]
                pub fn wrap(bytes: &'a [u8]) -> Result<Self, $crate::DecodeError> {
                    match bytes.first_chunk::<$length>() {
                        Some(fixed) if fixed[$tag_at] == Self::TAG
                            && $crate::codec::fits(bytes.len() - Self::LEN, $most)
                            $(&& $crate::codec::counts_rest($count, bytes))? =>
                        {
                            Ok(Self(fixed, bytes))
                        }
                        _ => Err($crate::codec::refuse(&Self::SHAPE, bytes)),
                    }
                }

                /// The bytes of the view.
                #[inline]
                pub const fn as_bytes(self) -> &'a [u8] {
                    self.1
                }
            }
            |view, buffer| view.fields().encode(buffer);
            |_view, _visitor| {}
        }

        impl $Fields<'_> {
            /// Encodes the fields at the front of `buffer` and returns the bytes.
            pub fn encode<'b>(
                &self,
                buffer: &'b mut [u8],
            ) -> Result<&'b [u8], $crate::EncodeError> {
                let mut bytes = [0; $length];
                bytes[$tag_at] = $tag;
                $(
                    let value = $crate::layout!(@to_bytes $order self.$field);
                    $crate::codec::put::<$start, _, _>(&mut bytes, value);
                )*
                $crate::codec::join(&$Name::SHAPE, &bytes, self.$tail, buffer)
            }
        }
    };

    // The parts that are equal in all of them. The rules above, and those of `extended!`, supply
    // the rest: the content of the view, its type and shape, how bytes are wrapped, how the enum of
    // messages encodes the view, and what is shown after the fields.
    (@view $order:tt [$($about:tt)*] $Name:ident $bytes:tt,
        $length:literal $size:literal $about_length:literal,
        { $($tag:tt)* } { $($shape:tt)* } { $($type_of:tt)* } $title:literal,
        [$({ $field:ident: $Type:ty, $start:literal, $width:expr, [$($at:tt)*], $doc:literal })*]
        [$($tail:ident: $Shown:ident, $tail_at:literal, $tail_doc:literal)?]
        $Fields:ident $(<$borrowed:lifetime>)? {
            $($given:ident: $Given:ty, $given_doc:literal;)*
        }
        { $($wrap:tt)* }
        |$view:ident, $buffer:ident| $encoded:expr;
        |$shown_view:ident, $visitor:ident| $shown_after:block
    ) => {
        $($about)*
        #[doc = ""]
        #[doc = concat!($length, $size)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $Name<'a> $bytes;

        impl<'a> $Name<'a> {
            $($tag)*
            #[doc = $about_length]
            pub const LEN: usize = $length;
            /// Name in the specification.
            pub const NAME: &'static str = $title;

            const SHAPE: $crate::codec::Shape =
                $crate::codec::Shape { name: Self::NAME, length: Self::LEN, $($shape)* };

            $($wrap)*

            $(
                #[doc = concat!($($at)*, ". ", $doc)]
                #[inline]
                pub fn $field(self) -> $Type {
                    let bytes = $crate::codec::field::<$start, _, _>(self.0);
                    $crate::layout!(@from_bytes $order *bytes)
                }
            )*

            $(
                #[doc = concat!("From byte ", $tail_at, ". ", $tail_doc)]
                #[inline]
                pub fn $tail(self) -> &'a [u8] {
                    self.1.get(Self::LEN..).unwrap_or_default()
                }
            )?

            /// All fields that the encoder takes, copied.
            #[inline]
            pub fn fields(self) -> $Fields$(<$borrowed>)? {
                $Fields { $($given: self.$given()),* }
            }
        }

        impl ::core::fmt::Debug for $Name<'_> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.fields(), f)
            }
        }

        impl<'a> $crate::render::Describe<'a> for $Name<'a> {
            $($type_of)*

            fn type_name(self) -> &'static str {
                stringify!($Name)
            }

            fn for_each_field<V: $crate::render::FieldVisitor<'a>>(
                self,
                visitor: &mut V,
            ) -> Result<(), V::Error> {
                $(
                    let bytes = $crate::codec::field::<$start, _, _>(self.0);
                    let value = $crate::codec::FieldValue::shown(self.$field(), bytes);
                    visitor.field(stringify!($field), value)?;
                )*
                $(
                    let value = $crate::render::Value::$Shown(self.$tail());
                    visitor.field(stringify!($tail), value)?;
                )?
                let ($shown_view, $visitor) = (self, visitor);
                $shown_after
                Ok(())
            }
        }

        impl $crate::codec::View for $Name<'_> {
            const LAYOUT: $crate::codec::Layout = $crate::codec::Layout {
                shape: Self::SHAPE,
                fields: &[$($crate::codec::Slot::new::<$Type, _>($start, $width)),*],
            };

            #[inline]
            fn encode(self, $buffer: &mut [u8]) -> Result<&[u8], $crate::EncodeError> {
                let $view = self;
                $encoded
            }
        }

        #[doc = concat!("The fields of [`", stringify!($Name), "`], to be encoded.")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $Fields$(<$borrowed>)? {
            $(
                #[doc = $given_doc]
                pub $given: $Given,
            )*
        }
    };

    // Only a structure can precede other bytes.
    (@first message $($layout:tt)*) => {};
    (@first structure $length:literal, [$($tag_at:literal)?] [$($count:literal)?]) => {
        /// Wraps the first bytes of `bytes`; also returns what follows them.
        #[inline]
        pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), $crate::DecodeError> {
            match bytes.split_first_chunk::<$length>() {
                Some((whole, rest)) if true
                    $(&& whole[$tag_at] == Self::TAG)?
                    $(&& $crate::codec::counts_rest($count, whole))? => Ok((Self(whole), rest)),
                _ => Err($crate::codec::refuse_first(&Self::SHAPE, bytes)),
            }
        }
    };

    (@from_bytes [] $bytes:expr) => { $crate::codec::WireValue::from_be_bytes($bytes) };
    (@from_bytes [little] $bytes:expr) => { $crate::codec::WireValue::from_le_bytes($bytes) };
    (@to_bytes [] $value:expr) => { $crate::codec::WireValue::to_be_bytes($value) };
    (@to_bytes [little] $value:expr) => { $crate::codec::WireValue::to_le_bytes($value) };

    (@checks [] $count:tt) => { "Checks the length; every getter after it is infallible." };
    (@checks $tag:tt []) => {
        "Checks length and type byte; every getter after it is infallible."
    };
    (@checks $tag:tt $count:tt) => {
        "Checks lengths and type byte; every getter after it is infallible."
    };

    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
}
