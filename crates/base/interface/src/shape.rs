//! The lengths that the messages of a method have, in this version of its schema and before.

/// A method of an interface, as its dispatcher checks messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodShape {
    /// The name of the interface.
    pub interface: &'static str,
    /// The name of the method.
    pub name: &'static str,
    /// The type of its messages.
    pub number: u16,
    /// Bytes of its fields, without the tail.
    pub length_bytes: u16,
    /// The same in each earlier version that differs, the shortest first.
    pub earlier: &'static [u16],
    /// The tail, if there is one.
    pub tail: Option<TailShape>,
}

/// The bytes of any number at the end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TailShape {
    /// The position of the two bytes with the offset of the tail.
    pub offset_at: u16,
    /// The most bytes.
    pub most_bytes: u32,
}

impl MethodShape {
    /// Whether fields of this length are those of this version, of a later or of an earlier one.
    #[inline]
    pub fn is_length(&self, length_bytes: usize) -> bool {
        length_bytes >= usize::from(self.length_bytes)
            || self.earlier.iter().any(|&earlier| usize::from(earlier) == length_bytes)
    }
}
