//! The macro `extended!`: messages that can grow, that have numbers as types, or that contain
//! groups, and the entries of groups.
//!
//! The first line of a table has three more words: whether the message may be longer than the table
//! (`growing`) or not (`exact`), and how its type is written: `as char` for a character, `as u8` or
//! `as u16` for a number.
//!
//! ```text
//! message! {
//!     head { [0] length: MessageLength, "Bytes of the message."; }
//!     /// `0x20` Time. ..
//!     Time / TimeFields: 6 bytes little-endian, growing, type 32 as u8 at 1, "Time";
//!     [2..6] time: u32, "Seconds since midnight.";
//!     [6..10] epoch_time: Option<SecondsSinceEpoch>, "The same, since the epoch.";
//! }
//! ```
//!
//! - `MessageLength` counts the bytes of the message, itself included, in one byte or two. It is
//!   checked, and the encoder writes it.
//! - `BlockLength<10>` counts the bytes of the fields from byte 10 on, in two bytes. It is checked
//!   against the message, and groups begin after them.
//! - A last field of type `Option<T>` is not in every message: it was appended later.
//! - `groups { .. }` after the fields has rows such as `name: Header of Entry, "Meaning.";`.
//!   The macro [`group_header!`](crate::group_header) makes a structure a header. A table of an
//!   entry begins with `entry`, and can have groups of its own.
//!
//! A view has all bytes of its message. Bytes after the known ones are kept and not read; the
//! encoder writes the known ones only.

/// The tables of messages and entries, behind [`message!`](crate::message) and
/// [`entry!`](crate::entry).
#[doc(hidden)]
#[macro_export]
macro_rules! extended {
    // @sort {table} [all fields] [fields given to the encoder] {parts of the shape} rows..
    (@sort $table:tt [$($all:tt)*] $given:tt {$($shape:tt)*}
        [$at:literal] $field:ident: MessageLength, $doc:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort $table [$($all)* { $field: u8, $at, 1, ["Byte ", $at], $doc }] $given
            {$($shape)* .with_own_length($at, 1)} $($rows)*
        }
    };
    (@sort $table:tt [$($all:tt)*] $given:tt {$($shape:tt)*}
        [$start:literal .. $end:literal] $field:ident: MessageLength, $doc:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort $table [
                $($all)*
                { $field: u16, $start, $end - $start, ["Bytes ", $start, "..", $end], $doc }
            ] $given {$($shape)* .with_own_length($start, 2)} $($rows)*
        }
    };
    (@sort $table:tt [$($all:tt)*] $given:tt {$($shape:tt)*}
        [$start:literal .. $end:literal] $field:ident: BlockLength<$from:literal>, $doc:literal;
        $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort $table [
                $($all)*
                { $field: u16, $start, $end - $start, ["Bytes ", $start, "..", $end], $doc }
            ] $given {$($shape)* .with_block($start, $from)} $($rows)*
        }
    };
    // The optional field is the last one.
    (@sort $table:tt $all:tt $given:tt {$($shape:tt)*}
        [$start:literal .. $end:literal] $field:ident: Option<$Type:ty>, $doc:literal;
        $($groups:tt)*
    ) => {
        $crate::extended! {
            @groups $table $all $given {$($shape)* .with_optional($end - $start)}
            [{ $field: $Type, $start, $end, ["Bytes ", $start, "..", $end], $doc }] $($groups)*
        }
    };
    (@sort $table:tt $all:tt $given:tt {$($shape:tt)*}
        [$at:literal] $field:ident: Option<$Type:ty>, $doc:literal; $($groups:tt)*
    ) => {
        $crate::extended! {
            @groups $table $all $given {$($shape)* .with_optional(1)}
            [{ $field: $Type, $at, $at + 1, ["Byte ", $at], $doc }] $($groups)*
        }
    };
    (@sort $table:tt [$($all:tt)*] [$($given:tt)*] $shape:tt
        [$start:literal .. $end:literal] $field:ident: $Type:ty, $doc:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort $table [
                $($all)*
                { $field: $Type, $start, $end - $start, ["Bytes ", $start, "..", $end], $doc }
            ] [$($given)* { $field: $Type, $start, $doc }] $shape $($rows)*
        }
    };
    (@sort $table:tt [$($all:tt)*] [$($given:tt)*] $shape:tt
        [$at:literal] $field:ident: $Type:ty, $doc:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort $table [$($all)* { $field: $Type, $at, 1, ["Byte ", $at], $doc }]
                [$($given)* { $field: $Type, $at, $doc }] $shape $($rows)*
        }
    };
    (@sort $table:tt $all:tt $given:tt $shape:tt $($groups:tt)*) => {
        $crate::extended! { @groups $table $all $given $shape [] $($groups)* }
    };

    (@groups {$kind:ident $($table:tt)*} $all:tt $given:tt $shape:tt $optional:tt
        $(groups { $($group:ident: $Header:ident of $Entry:ident, $doc:literal;)* })?
    ) => {
        $crate::extended! {
            @$kind {$($table)*} $all $given $shape $optional
            [$($({ $group: $Header of $Entry, $doc })*)?]
        }
    };

    (@message {
            $order:tt $about:tt $Name:ident / $Fields:ident, $length:literal,
            $growth:ident, [$tag:literal, $Tag:ident, $tag_at:literal], $title:literal
        } $all:tt [$({ $field:ident: $Type:ty, $start:literal, $doc:literal })*]
        {$($shape:tt)*}
        [$({ $last:ident: $Last:ty, $from:expr, $to:expr, [$($at:tt)*], $last_doc:literal })?]
        $groups:tt
    ) => {
        $crate::layout! {
            @view $order $about $Name (&'a [u8; $length], &'a [u8]),
            $length " bytes." "Bytes of all fields that every message of this type has.",
            {
                /// The type.
                pub const TAG: $crate::extended!(@number $Tag) = $tag;
            }
            {
                tag: $crate::extended!(@character $Tag $tag_at, $tag),
                tail: None,
                length_at: None,
                extension: $crate::codec::Extension {
                    number: $crate::extended!(@type_number $Tag $tag_at, $tag),
                    grows: $crate::extended!(@grows $growth),
                    is_little_endian: $crate::extended!(@is_little $order),
                    ..$crate::codec::Extension::NONE
                }
                $($shape)*,
            }
            { $crate::extended! { @type_of $Tag $tag } }
            $title, $all []
            $Fields { $($field: $Type, $doc;)* $($last: Option<$Last>, $last_doc;)? }
            {
                /// Checks type and lengths; every getter after it is infallible.
                #[inline]
                pub fn wrap(bytes: &'a [u8]) -> Result<Self, $crate::DecodeError> {
                    match bytes.first_chunk::<$length>() {
                        Some(fixed) if $crate::codec::extends(&Self::SHAPE, bytes) => {
                            $crate::extended! { @check_groups bytes $groups }
                            Ok(Self(fixed, bytes))
                        }
                        _ => Err($crate::codec::refuse(&Self::SHAPE, bytes)),
                    }
                }

                /// The bytes of the view, those after the known ones included.
                #[inline]
                pub const fn as_bytes(self) -> &'a [u8] {
                    self.1
                }

                $(
                    #[doc = concat!($($at)*, ", in some messages. ", $last_doc)]
                    #[inline]
                    pub fn $last(self) -> Option<$Last> {
                        let bytes = self.1.get($from..$to)?.first_chunk()?;
                        Some($crate::layout!(@from_bytes $order *bytes))
                    }
                )?

                /// The bytes of the groups.
                #[inline]
                #[allow(dead_code, reason = "most messages have no groups")]
                fn after_block(self) -> &'a [u8] {
                    $crate::codec::after_block(&Self::SHAPE, self.1)
                }

                $crate::extended! { @getters [] $groups }
            }
            |view, buffer| $crate::extended!(@encode_view view, buffer [$($last)?] $groups);
            |view, visitor| {
                $crate::extended! { @show view, visitor [$({ $last $from $to })?] $groups }
            }
        }

        impl $Fields {
            $crate::extended! {
                @encode $Name $length $order [$({ $field $start })*]
                [$({ $last $to - $length })?] $groups
            }
        }
    };

    (@entry {
            $order:tt $about:tt $Name:ident / $Fields:ident, $length:literal,
            $title:literal
        } $all:tt [$({ $field:ident: $Type:ty, $start:literal, $doc:literal })*]
        {$($shape:tt)*}
        [$({ $last:ident: $Last:ty, $from:expr, $to:expr, [$($at:tt)*], $last_doc:literal })?]
        $groups:tt
    ) => {
        $crate::layout! {
            @view $order $about $Name (&'a [u8; $length], &'a [u8], &'a [u8]),
            $length " bytes." "Bytes of all fields that every entry has.",
            {}
            {
                tag: None,
                tail: None,
                length_at: None,
                extension: $crate::codec::Extension {
                    grows: true,
                    ..$crate::codec::Extension::NONE
                }
                $($shape)*,
            }
            { fn type_byte(self) -> Option<u8> { None } }
            $title, $all []
            $Fields { $($field: $Type, $doc;)* $($last: Option<$Last>, $last_doc;)? }
            {
                /// The bytes of the fields, those after the known ones included.
                #[inline]
                pub const fn as_bytes(self) -> &'a [u8] {
                    self.1
                }

                $(
                    #[doc = concat!($($at)*, ", in some entries. ", $last_doc)]
                    #[inline]
                    pub fn $last(self) -> Option<$Last> {
                        let bytes = self.1.get($from..$to)?.first_chunk()?;
                        Some($crate::layout!(@from_bytes $order *bytes))
                    }
                )?

                /// The bytes of its groups, and those after them.
                #[inline]
                #[allow(dead_code, reason = "most entries have no groups")]
                const fn after_block(self) -> &'a [u8] {
                    self.2
                }

                $crate::extended! { @getters [] $groups }
            }
            |view, buffer| $crate::codec::write_all(Self::NAME, view, buffer);
            |view, visitor| {
                $crate::extended! { @show view, visitor [$({ $last $from $to })?] $groups }
            }
        }

        impl $Fields {
            $crate::extended! { @block $length $order [$({ $field $start })*] }
        }

        impl<'a> $crate::codec::GroupEntry<'a> for $Name<'a> {
            const HAS_GROUPS: bool = $crate::extended!(@has_groups $groups);
            const LEAST: u16 = $length;

            #[inline]
            fn split(block_length: usize, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
                let (block, rest) = bytes.split_at_checked(block_length)?;
                let entry = Self(block.first_chunk()?, block, rest);
                $crate::extended! { @split_groups rest $groups }
                Some((entry, rest))
            }
        }

        impl $crate::codec::WriteEntry for $Name<'_> {
            fn block_length(&self) -> u16 {
                $length $(+ self.$last().map_or(0, |_| $to - $length))?
            }

            fn write(self, out: &mut $crate::codec::Out<'_>) -> Result<(), $crate::EncodeError> {
                let fields = self.fields();
                out.put(&fields.block())?;
                $($crate::extended!(@put_last out, fields.$last, $order);)?
                $crate::extended!(@write_groups self, out, $groups);
                Ok(())
            }
        }

        $crate::extended! {
            @write_fields $Fields $length $order [$({ $last, $to - $length })?] $groups
        }
    };

    // Entries without groups can be written from their fields.
    (@write_fields $Fields:ident $length:literal $order:tt
        [$({ $last:ident, $bytes:expr })?] []
    ) => {
        impl $crate::codec::WriteEntry for $Fields {
            fn block_length(&self) -> u16 {
                $length $(+ self.$last.map_or(0, |_| $bytes))?
            }

            fn write(self, out: &mut $crate::codec::Out<'_>) -> Result<(), $crate::EncodeError> {
                out.put(&self.block())?;
                $($crate::extended!(@put_last out, self.$last, $order);)?
                Ok(())
            }
        }
    };
    (@write_fields $($other:tt)*) => {};

    (@put_last $out:ident, $last:expr, $order:tt) => {
        if let Some(value) = $last {
            $out.put(&$crate::layout!(@to_bytes $order value))?;
        }
    };

    // The getters of groups: each skips the ones before it.
    (@getters $before:tt []) => {};
    (@getters [$($before:tt)*] [
        { $group:ident: $Header:ident of $Entry:ident, $doc:literal } $($rest:tt)*
    ]) => {
        #[doc = concat!("Group. ", $doc)]
        #[inline]
        pub fn $group(self) -> $crate::codec::Entries<'a, $Entry<'a>> {
            let bytes = self.after_block();
            $crate::extended! { @skip bytes [$($before)*] }
            $crate::codec::entries::<$Header<'a>, $Entry<'a>>(bytes)
        }

        $crate::extended! { @getters [$($before)* { $Header of $Entry }] [$($rest)*] }
    };
    (@skip $bytes:ident [$({ $Header:ident of $Entry:ident })*]) => {
        $(
            let $bytes = $crate::codec::split_group::<$Header<'a>, $Entry<'a>>($bytes)
                .map_or(&[][..], |(_, rest)| rest);
        )*
    };

    (@check_groups $bytes:ident []) => {};
    (@check_groups $bytes:ident [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]) => {
        let rest = $crate::codec::after_block(&Self::SHAPE, $bytes);
        $(
            let Some((_, rest)) = $crate::codec::split_group::<$Header<'a>, $Entry<'a>>(rest) else {
                return Err($crate::codec::refuse_group(stringify!($group), $bytes, rest));
            };
        )*
        let _ = rest;
    };
    (@split_groups $rest:ident [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]) => {
        $(let (_, $rest) = $crate::codec::split_group::<$Header<'a>, $Entry<'a>>($rest)?;)*
    };
    (@has_groups []) => { false };
    (@has_groups $groups:tt) => { true };

    (@show $view:ident, $visitor:ident [$({ $last:ident $from:tt $to:tt })?]
        [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]
    ) => {
        $(
            let bytes = $view.1.get($from..$to).and_then(|bytes| bytes.first_chunk());
            let value = $view.$last().zip(bytes);
            let value = value.map_or($crate::render::Value::Absent, |(value, bytes)| {
                $crate::codec::FieldValue::shown(value, bytes)
            });
            $visitor.field(stringify!($last), value)?;
        )?
        $(
            $visitor.begin_group(stringify!($group))?;
            for (index, entry) in $view.$group().enumerate() {
                $visitor.begin_entry(index + 1)?;
                $crate::render::Describe::for_each_field(entry, $visitor)?;
                $visitor.end_entry()?;
            }
            $visitor.end_group()?;
        )*
        let _ = ($view, $visitor);
    };

    // The fields of a message or entry as an array, without what the shape adds.
    (@block $length:literal $order:tt [$({ $field:ident $start:literal })*]) => {
        #[inline]
        fn block(&self) -> [u8; $length] {
            let mut bytes = [0; $length];
            $(
                let value = $crate::layout!(@to_bytes $order self.$field);
                $crate::codec::put::<$start, _, _>(&mut bytes, value);
            )*
            bytes
        }
    };

    (@encode_view $view:ident, $buffer:ident [] []) => {
        $crate::codec::copy(Self::NAME, &$view.fields().encode(), $buffer)
    };
    (@encode_view $view:ident, $buffer:ident $last:tt
        [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]
    ) => {
        $view.fields().encode($buffer $(, $view.$group())*)
    };

    (@encode $Name:ident $length:literal $order:tt $fields:tt [] []) => {
        /// The encoded bytes: those of all fields, and no more.
        #[inline]
        pub fn encode(&self) -> [u8; $length] {
            let mut bytes = self.block();
            $crate::codec::seal(&$Name::SHAPE, &mut bytes, $length);
            bytes
        }

        $crate::extended! { @block $length $order $fields }
    };
    (@encode $Name:ident $length:literal $order:tt $fields:tt
        [$({ $last:ident $bytes:expr })?]
        [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]
    ) => {
        /// Encodes the fields and groups at the front of `buffer` and returns the bytes.
        pub fn encode<'b>(
            &self,
            buffer: &'b mut [u8],
            $(
                $group: impl ExactSizeIterator<Item = impl $crate::codec::WriteEntry>,
            )*
        ) -> Result<&'b [u8], $crate::EncodeError> {
            $crate::codec::write_message(&$Name::SHAPE, buffer, |out| {
                out.put(&self.block())?;
                $($crate::extended!(@put_last out, self.$last, $order);)?
                out.end_block();
                $($crate::codec::write_group::<$Header<'_>, _>($group, out)?;)*
                Ok(())
            })
        }

        $crate::extended! { @block $length $order $fields }
    };
    (@write_groups $view:ident, $out:ident,
        [$({ $group:ident: $Header:ident of $Entry:ident, $doc:literal })*]
    ) => {
        $($crate::codec::write_group::<$Header<'_>, _>($view.$group(), $out)?;)*
    };

    (@number char) => { u8 };
    (@number $Tag:ident) => { $Tag };
    (@character char $at:literal, $tag:literal) => { Some(($at, $tag)) };
    (@character $Tag:ident $at:literal, $tag:literal) => { None };
    (@type_number char $at:literal, $tag:literal) => { None };
    (@type_number $Tag:ident $at:literal, $tag:literal) => {
        Some(($at, $crate::render::TypeNumber {
            value: $tag,
            width: ::core::mem::size_of::<$Tag>(),
        }))
    };
    (@type_of char $tag:literal) => { fn type_byte(self) -> Option<u8> { Some($tag) } };
    (@type_of $Tag:ident $tag:literal) => {
        fn type_byte(self) -> Option<u8> {
            None
        }

        fn type_number(self) -> Option<$crate::render::TypeNumber> {
            Some($crate::render::TypeNumber { value: $tag, width: ::core::mem::size_of::<$Tag>() })
        }
    };
    (@grows growing) => { true };
    (@grows exact) => { false };
    (@is_little []) => { false };
    (@is_little [little]) => { true };
}
