//! The macro `interface!`: trait, writer and dispatcher from one table.
//!
//! A table begins with the names of the trait and of its writer. Each method has its number, its
//! name, the bytes of its fields, and the same of earlier versions that differ. Three lists follow:
//! constants, which readers ignore; fields, in the order of their offsets; and
//! at most one tail.
//!
//! ```text
//! constants { [0..2] reserved: u16 = number(0), "Zero."; }
//! fields {
//!     [2..4] light: u16, "The light.";
//!     [4..5] is_blinking: u8, since 2 else number(0), "1 if it blinks.";
//! }
//! tail { [8..] note max 100, offset at 6, "Any text."; }
//! ```
//!
//! A module has one interface, because the function `dispatch` has no other name.

/// Defines an interface from a table that `cargo xtask gen` writes.
#[macro_export]
macro_rules! interface {
    (
        $(#[$about:meta])*
        $Name:ident / $Writer:ident;
        $(
            $(#[$method_about:meta])*
            $number:literal $method:ident: $length:literal bytes
            $(, earlier [$($earlier:literal),*])?
            {
                constants {
                    $([$constant_start:literal .. $constant_end:literal] $constant:ident:
                        $Constant:ty = $constant_form:ident($constant_value:literal),
                        $constant_doc:literal;)*
                }
                fields {
                    $([$start:literal .. $end:literal] $field:ident: $Type:ty,
                        $(since $since:literal else $default_form:ident($default:literal),)?
                        $doc:literal;)*
                }
                tail {
                    $([$tail_start:literal ..] $tail:ident max $most:literal,
                        offset at $offset_at:literal, $tail_doc:literal;)?
                }
            }
        )*
    ) => {
        $(#[$about])*
        ///
        /// Each method is a message of its number. A handler implements this trait, and so does the
        /// writer, which appends each call.
        pub trait $Name {
            /// What a call returns: nothing, a flow, the number of a message, a result.
            type Output;

            $(
                $(#[$method_about])*
                #[doc = ""]
                #[doc = concat!("Number ", $number, ".")]
                #[doc = ""]
                $(#[doc = concat!("- `", stringify!($field), "`: ", $doc)])*
                $(#[doc = concat!("- `", stringify!($tail), "`: ", $tail_doc)])?
                #[allow(clippy::too_many_arguments, reason = "one for each field of the message")]
                fn $method(&mut self $(, $field: $Type)* $(, $tail: &[u8])?) -> Self::Output;
            )*

            /// A message with a number that this version has no method for. To hand it on byte for
            /// byte, pass it to the same method of a writer.
            fn unknown(&mut self, message: &$crate::Message<'_>) -> Self::Output;
        }

        #[doc = concat!("Appends each call of [`", stringify!($Name), "`] to a stream, in place.")]
        #[derive(Debug)]
        pub struct $Writer<'sink, S> {
            sink: &'sink mut S,
            ts: $crate::UtcNanos,
        }

        impl<'sink, S: $crate::InPlaceSink> $Writer<'sink, S> {
            /// Appends to a stream; messages have this time.
            #[inline]
            pub fn new(sink: &'sink mut S, ts: $crate::UtcNanos) -> Self {
                Self { sink, ts }
            }

            /// Messages have this time from now on.
            #[inline]
            pub fn at(&mut self, ts: $crate::UtcNanos) -> &mut Self {
                self.ts = ts;
                self
            }
        }

        impl<S: $crate::InPlaceSink> $Name for $Writer<'_, S> {
            /// The number of the message.
            type Output = Result<u64, $crate::WriteError<S::Error>>;

            $(
                #[inline]
                fn $method(&mut self $(, $field: $Type)* $(, $tail: &[u8])?) -> Self::Output {
                    #[allow(unused_mut, reason = "a method may have no fields")]
                    let mut words = [0; usize::div_ceil($length, 8)];
                    $($crate::put::<$constant_start, { $constant_end - $constant_start }, _>(
                        &mut words,
                        const { $crate::$constant_form($constant_value) },
                    );)*
                    $($crate::put::<$start, { $end - $start }, _>(
                        &mut words,
                        $crate::types::WireValue::to_le_bytes($field),
                    );)*
                    let tail: &[u8] = &[];
                    $(
                        $crate::put::<$offset_at, 2, _>(&mut words, u16::to_le_bytes($length));
                        let tail = { let _ = tail; $tail };
                    )?
                    $crate::append(self.sink, self.ts, &shapes::$method, &words, tail)
                }
            )*

            #[inline]
            fn unknown(&mut self, message: &$crate::Message<'_>) -> Self::Output {
                $crate::hand_on(self.sink, self.ts, message)
            }
        }

        /// Calls the method that a message is.
        ///
        /// A message of an earlier version has the defaults of fields that it lacks. Fields that a
        /// later version added are ignored.
        #[inline]
        pub fn dispatch<H: $Name>(
            message: &$crate::Message<'_>,
            handler: &mut H,
        ) -> Result<H::Output, $crate::DispatchError> {
            match message.type_id {
                $(
                    $number => {
                        let (fields, _tail) = $crate::split(message, &shapes::$method)?;
                        let older;
                        let _fields: &[u8; $length] = match fields.first_chunk() {
                            Some(fields) => fields,
                            None => {
                                #[allow(unused_mut, reason = "a method may have no defaults")]
                                let mut defaults = [0; $length];
                                $($(
                                    defaults[$start..$end].copy_from_slice(
                                        &$crate::$default_form::<{ $end - $start }>($default),
                                    );
                                )?)*
                                older = $crate::older(defaults, fields);
                                &older
                            }
                        };
                        Ok(handler.$method(
                            $($crate::field::<$Type, $start, { $end - $start }, $length>(_fields),)*
                            $({ let $tail = _tail; $tail },)?
                        ))
                    }
                )*
                _ => Ok(handler.unknown(message)),
            }
        }

        #[allow(non_upper_case_globals, reason = "the names are those of the methods")]
        mod shapes {
            $(
                pub(super) static $method: $crate::MethodShape = $crate::MethodShape {
                    interface: stringify!($Name),
                    name: stringify!($method),
                    number: $number,
                    length_bytes: $length,
                    earlier: &[$($($earlier),*)?],
                    tail: $crate::interface!(@tail $($offset_at, $most)?),
                };
            )*
        }
    };

    (@tail) => { None };
    (@tail $offset_at:literal, $most:literal) => {
        Some($crate::TailShape { offset_at: $offset_at, most_bytes: $most })
    };
}
