//! Why a message is no call, and why a call is no message.

use std::{error::Error, fmt};

use crate::MethodShape;

/// A message whose bytes do not fit the method of its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DispatchError {
    /// The number of the message.
    pub sequence: u64,
    /// The method of its type.
    pub shape: &'static MethodShape,
    /// The problem.
    pub problem: Misfit,
}

/// What does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Misfit {
    /// No version of the method has fields of this length.
    Length {
        /// Bytes of fields.
        found: u32,
    },
    /// The tail begins after the end of the message, or not at a multiple of 8.
    TailOffset {
        /// Its offset.
        found: u16,
        /// Bytes of the message.
        length: u32,
    },
    /// The tail is longer than the schema permits.
    TailLength {
        /// Its bytes.
        found: u32,
        /// The most bytes.
        most: u32,
    },
}

impl Error for DispatchError {}

impl fmt::Display for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, shape, problem } = self;
        let MethodShape { interface, name, number, length_bytes, earlier, .. } = shape;
        write!(f, "message {sequence}: type {number:#06x} ({interface}.{name}), ")?;
        match problem {
            Misfit::Length { found } => {
                write!(f, "{found} bytes of fields, expected ")?;
                for earlier in *earlier {
                    write!(f, "{earlier}, ")?;
                }
                write!(f, "{length_bytes} or more")
            }
            Misfit::TailOffset { found, length } => {
                write!(f, "the tail begins at byte {found} of {length}, expected a multiple of 8")
            }
            Misfit::TailLength { found, most } => {
                write!(f, "a tail of {found} bytes, at most {most}")
            }
        }
    }
}

/// A call that was not appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The tail is longer than the schema permits.
    #[error("{}.{}: a tail of {found} bytes, at most {most}", shape.interface, shape.name)]
    Tail {
        /// The method.
        shape: &'static MethodShape,
        /// Bytes of the tail.
        found: usize,
        /// The most bytes.
        most: u32,
    },
    /// The stream refused the message.
    #[error(transparent)]
    Sink(#[from] E),
}

#[cfg(test)]
mod tests {
    use super::*;

    static SHAPE: MethodShape = MethodShape {
        interface: "Lights",
        name: "changed",
        number: 0x0101,
        length_bytes: 24,
        earlier: &[8, 16],
        tail: None,
    };

    #[test]
    fn an_error_names_the_message_its_type_and_the_lengths() {
        assert!(size_of::<DispatchError>() <= 32);
        let of = |problem| DispatchError { sequence: 7, shape: &SHAPE, problem }.to_string();
        assert_eq!(
            of(Misfit::Length { found: 12 }),
            "message 7: type 0x0101 (Lights.changed), 12 bytes of fields, expected 8, 16, 24 or \
             more"
        );
        assert_eq!(
            of(Misfit::TailOffset { found: 90, length: 30 }),
            "message 7: type 0x0101 (Lights.changed), the tail begins at byte 90 of 30, expected a multiple of 8"
        );
        assert_eq!(
            of(Misfit::TailLength { found: 90, most: 30 }),
            "message 7: type 0x0101 (Lights.changed), a tail of 90 bytes, at most 30"
        );
    }
}
