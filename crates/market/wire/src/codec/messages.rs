//! The macro `messages!`: the enum of all messages of a protocol.
//!
//! A table has the head of the protocol, the offset of the type byte, and a row for each message:
//! the name of its view, and the comment of its variant. After them, each shared field has its type
//! and the messages that contain it.
//!
//! ```text
//! messages! {
//!     head { [1..3] stock_locate: StockLocate, "The stock."; }
//!     type at 0;
//!     messages { AddOrder, "`A` Add Order."; OrderDelete, "`D` Order Delete."; }
//!     shared { stock: Symbol { AddOrder } }
//! }
//! ```
//!
//! If a type is a number, or messages can grow, the offset of the type is written with the kind of
//! the type and the byte order, as in `type as u16 little-endian at 4;`, and there is no list of
//! lengths.
//!
//! `message!` defines the views, in the same module. The enum also has a getter for each field of
//! the head (`@heads`) and for each shared field.

/// Defines the enum `Message`, its getters, and the lists over all messages.
#[doc(hidden)]
#[macro_export]
macro_rules! messages {
    (head { $($head:tt)* } type at $tag_at:literal;
        messages { $($Name:ident, $doc:literal;)* } $($rest:tt)*
    ) => {
        $crate::messages! {
            @enum {char big} head { $($head)* } type at $tag_at;
            messages { $($Name, $doc;)* } $($rest)*
        }

        static LENGTHS: [u16; 256] = $crate::codec::lengths(LAYOUTS);

        /// The only length of messages of type `tag`, or `None` if the type is unknown or its
        /// length varies.
        #[inline]
        pub const fn length_of(tag: u8) -> Option<usize> {
            match LENGTHS[tag as usize] {
                0 => None,
                length => Some(length as usize),
            }
        }
    };
    (head { $($head:tt)* } type as $Tag:ident $order:ident-endian at $tag_at:literal; $($rest:tt)*) => {
        $crate::messages! {
            @enum {$Tag $order} head { $($head)* } type at $tag_at; $($rest)*
        }
    };

    (@enum {$Tag:ident $order:ident}
        head { $($head:tt)* } type at $tag_at:literal;
        messages { $($Name:ident, $doc:literal;)* }
        shared { $($shared:ident: $Shared:ty { $($Having:ident),* $(,)? })* }
    ) => {
        /// Offset of the type of a message.
        pub const TAG_OFFSET: usize = $tag_at;

        /// The types of all messages, in the order of the schema.
        pub const TAGS: &[$crate::extended!(@number $Tag)] = &[$($Name::TAG),*];

        /// The layouts of all messages, in the order of the schema.
        #[doc(hidden)]
        pub const LAYOUTS: &[$crate::codec::Layout] =
            &[$(<$Name<'_> as $crate::codec::View>::LAYOUT),*];

        /// Bytes of the longest message of fixed length.
        pub const LONGEST: usize = $crate::codec::longest(LAYOUTS);

        /// Any message. Unlisted types are preserved, not rejected.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Message<'a> {
            $(
                #[doc = $doc]
                $Name($Name<'a>),
            )*
            /// A message of another type.
            Unknown(Unknown<'a>),
        }

        impl<'a> Message<'a> {
            /// Reads the type, and checks what `wrap` of that type checks.
            #[inline(always)]
            pub fn decode(bytes: &'a [u8]) -> Result<Self, $crate::DecodeError> {
                let Some(tag) = $crate::messages!(@read $Tag $order bytes) else {
                    return Err($crate::messages!(@no_tag $Tag bytes));
                };
                match tag {
                    $($Name::TAG => $Name::wrap(bytes).map(Self::$Name),)*
                    _ => Ok(Self::Unknown(Unknown(bytes))),
                }
            }

            /// Encodes the message at the front of `buffer` and returns the bytes. They are made
            /// from the fields; those of an unknown message are copied.
            pub fn encode(self, buffer: &mut [u8]) -> Result<&[u8], $crate::EncodeError> {
                match self {
                    $(Self::$Name(message) => $crate::codec::View::encode(message, buffer),)*
                    Self::Unknown(message) => $crate::codec::copy("Unknown", message.0, buffer),
                }
            }

            /// The type.
            #[inline]
            pub fn tag(self) -> $crate::extended!(@number $Tag) {
                match self {
                    $(Self::$Name(_) => $Name::TAG,)*
                    Self::Unknown(message) => message.tag(),
                }
            }

            /// Name in the specification.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Name(_) => $Name::NAME,)*
                    Self::Unknown(_) => "Unknown",
                }
            }

            /// The bytes of the message.
            #[inline]
            pub fn as_bytes(self) -> &'a [u8] {
                match self {
                    $(Self::$Name(message) => message.as_bytes(),)*
                    Self::Unknown(message) => message.0,
                }
            }

            $crate::messages! { @heads [$($Name)*] $($head)* }

            $(
                #[doc = concat!(
                    "The field `", stringify!($shared), "`, of a message that has one."
                )]
                #[inline]
                pub fn $shared(self) -> Option<$Shared> {
                    match self {
                        $(Self::$Having(message) => Some(message.$shared()),)*
                        _ => None,
                    }
                }
            )*

            /// Writes one line of text, without an end of line.
            pub fn write_text(self, out: &mut impl ::core::fmt::Write) -> ::core::fmt::Result {
                $crate::render::Describe::write_text(self, out)
            }

            /// Writes one JSON object.
            pub fn write_json(self, out: &mut impl ::core::fmt::Write) -> ::core::fmt::Result {
                $crate::render::Describe::write_json(self, out)
            }
        }

        impl<'a> $crate::render::Describe<'a> for Message<'a> {
            $crate::messages! { @type_of $Tag }

            fn type_name(self) -> &'static str {
                match self {
                    $(Self::$Name(_) => stringify!($Name),)*
                    Self::Unknown(_) => "Unknown",
                }
            }

            fn for_each_field<V: $crate::render::FieldVisitor<'a>>(
                self,
                visitor: &mut V,
            ) -> Result<(), V::Error> {
                match self {
                    $(Self::$Name(message) => {
                        $crate::render::Describe::for_each_field(message, visitor)
                    })*
                    Self::Unknown(message) => {
                        visitor.field("bytes", $crate::render::Value::Bytes(message.0))
                    }
                }
            }
        }

        /// A message whose type is not listed, with all its bytes.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Unknown<'a>(&'a [u8]);

        impl<'a> Unknown<'a> {
            /// The type.
            #[inline]
            pub fn tag(self) -> $crate::extended!(@number $Tag) {
                let bytes = self.0;
                $crate::messages!(@read $Tag $order bytes).unwrap_or_default()
            }

            /// The bytes of the message.
            #[inline]
            pub const fn as_bytes(self) -> &'a [u8] {
                self.0
            }
        }
    };

    (@read u16 little $bytes:ident) => {
        $bytes.get(TAG_OFFSET..).and_then(<[u8]>::first_chunk).map(|tag| u16::from_le_bytes(*tag))
    };
    (@read u16 big $bytes:ident) => {
        $bytes.get(TAG_OFFSET..).and_then(<[u8]>::first_chunk).map(|tag| u16::from_be_bytes(*tag))
    };
    (@read $Tag:ident $order:ident $bytes:ident) => { $bytes.get(TAG_OFFSET).copied() };
    (@no_tag u16 $bytes:ident) => { $crate::codec::no_tag(TAG_OFFSET + 1, $bytes) };
    (@no_tag $Tag:ident $bytes:ident) => { $crate::codec::no_tag(TAG_OFFSET, $bytes) };
    (@type_of char) => {
        fn type_byte(self) -> Option<u8> {
            Some(self.tag())
        }
    };
    (@type_of $Tag:ident) => {
        fn type_byte(self) -> Option<u8> {
            None
        }

        fn type_number(self) -> Option<$crate::render::TypeNumber> {
            let (value, width) = (self.tag().into(), ::core::mem::size_of::<$Tag>());
            Some($crate::render::TypeNumber { value, width })
        }
    };

    (@heads $names:tt) => {};
    (@heads $names:tt $at:tt $field:ident: LengthAfter, $($rest:tt)*) => {
        $crate::messages! { @heads $names $at $field: u16, $($rest)* }
    };
    (@heads $names:tt $at:tt $field:ident: BlockLength<$from:literal>, $($rest:tt)*) => {
        $crate::messages! { @heads $names $at $field: u16, $($rest)* }
    };
    (@heads $names:tt [$at:literal] $field:ident: MessageLength, $($rest:tt)*) => {
        $crate::messages! { @heads $names [$at] $field: u8, $($rest)* }
    };
    (@heads $names:tt $at:tt $field:ident: MessageLength, $($rest:tt)*) => {
        $crate::messages! { @heads $names $at $field: u16, $($rest)* }
    };
    (@heads [$($Name:ident)*] $at:tt $field:ident: $Type:ty, $doc:literal; $($rest:tt)*) => {
        #[doc = concat!($doc, " `None` for an unknown message.")]
        #[inline]
        pub fn $field(self) -> Option<$Type> {
            match self {
                $(Self::$Name(message) => Some(message.$field()),)*
                Self::Unknown(_) => None,
            }
        }

        $crate::messages! { @heads [$($Name)*] $($rest)* }
    };
}
