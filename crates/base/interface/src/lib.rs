//! Calls as messages: a trait whose methods are messages of a stream, a writer that appends each
//! call in place, and a dispatcher that makes the calls again.
//!
//! Where: above TAPE and below every program that gives its messages a meaning. `cargo xtask gen`
//! writes tables from schemas of the kind interface (`docs/interfaces.md`), and [`interface!`]
//! expands them. Rings and journals know nothing of it.
//!
//! ```text
//! caller --> NameWriter: Name --> InPlaceSink   a ring, a journal
//!                                     |
//! handler: Name <-- dispatch <--- Message
//! ```
//!
//! Layout: little-endian fields at the offsets of the schema; the type of the message is the number
//! of the method.
//! Failure: bytes from elsewhere are hostile. A length that no version of the schema writes is a
//! [`DispatchError`] with the number of the message; a method of a later version is `unknown`, with
//! its bytes.
//! Cost: a writer stores each word of the message once, into the memory of the stream. A dispatcher
//! reads fields where they are. Neither allocates. A message of an earlier version is copied to the
//! stack, to give it the defaults of its missing fields.
//!
//! ```
//! nanotape_interface::interface! {
//!     /// Lights. What the lights of a crossing do.
//!     Lights / LightsWriter;
//!
//!     /// A light has another colour.
//!     1 changed: 6 bytes, earlier [5] {
//!         constants { [0..2] reserved: u16 = number(0), "Zero."; }
//!         fields {
//!             [2..4] light: u16, "The light.";
//!             [4..5] colour: u8, "The colour.";
//!             [5..6] is_blinking: u8, since 2 else number(0), "1 if it blinks.";
//!         }
//!         tail {}
//!     }
//! }
//!
//! /// Counts the changes of one light.
//! struct Count(u16, u64);
//!
//! impl Lights for Count {
//!     type Output = ();
//!
//!     fn changed(&mut self, light: u16, _colour: u8, _is_blinking: u8) {
//!         self.1 += u64::from(light == self.0);
//!     }
//!
//!     fn unknown(&mut self, _: &nanotape_interface::Message<'_>) {}
//! }
//!
//! let payload = &[0, 0, 7, 0, 2];
//! let message = nanotape_interface::Message { sequence: 1, type_id: 1, ts: None, payload };
//! let mut count = Count(7, 0);
//! dispatch(&message, &mut count)?;
//! assert_eq!(count.1, 1);
//! # Ok::<(), nanotape_interface::DispatchError>(())
//! ```
#![forbid(unsafe_code)]

mod encode;
mod error;
mod interface;
mod read;
mod shape;

pub use encode::{BufferTooShort, Encoded, EncodedRoom};
#[doc(hidden)]
pub use encode::{append, hand_on, number, put, text};
pub use error::{DispatchError, Misfit, WriteError};
pub use nanotape_clock::UtcNanos;
pub use nanotape_tape::{InPlaceSink, Message};
pub use nanotape_types as types;
#[doc(hidden)]
pub use read::{field, older, split};
pub use shape::{MethodShape, TailShape};
