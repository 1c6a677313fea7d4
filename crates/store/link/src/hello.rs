//! The first frame of each side: who it is, and what it can.
//!
//! Layout: `docs/formats/link.md`, Hello.

/// The version of the protocol. Two sides must have the same.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest name of a peer, in bytes.
pub const NAME_MAX_BYTES: usize = 64;

/// Bytes of the longest hello.
pub const HELLO_MAX_BYTES: usize = FIXED_BYTES + NAME_MAX_BYTES;

const MAGIC: [u8; 8] = *b"nanolink";

/// Bytes before the name.
const FIXED_BYTES: usize = 68;

/// What a side states of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// What is sent over the link, as eight letters: both sides must have the same.
    pub service: [u8; 8],
    /// Its session: the same number after each break, so that the other side knows it again.
    pub session: u64,
    /// The epoch that it believes in. Its meaning is that of the service.
    pub epoch: u64,
    /// A random number for this connection.
    pub nonce: u64,
    /// How often it sends at least something, in nanoseconds.
    pub heartbeat_ns: u64,
    /// The longest payload that it accepts, in bytes.
    pub most_payload: u32,
    /// Its name: 1 to 64 letters, digits, dots, dashes or underscores.
    pub name: String,
}

/// Why a hello is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    /// Not a hello.
    #[error("the first frame is not a hello")]
    NotAHello,
    /// Another version of the protocol.
    #[error("protocol version {found}, this side has {}", PROTOCOL_VERSION)]
    Version {
        /// The version of the other side.
        found: u32,
    },
    /// Another service.
    #[error(
        "the other side offers `{}`, this side `{}`",
        found.escape_ascii(),
        expected.escape_ascii()
    )]
    Service {
        /// What the other side offers.
        found: [u8; 8],
        /// What this side offers.
        expected: [u8; 8],
    },
    /// A name with other letters, or of another length.
    #[error(
        "invalid name of the other side: use 1 to 64 letters, digits, dots, dashes or underscores"
    )]
    Name,
    /// A number that makes no sense.
    #[error("{what} of {value} is not possible")]
    Number {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u64,
    },
}

/// The bounds of a heartbeat: a millisecond and an hour.
const HEARTBEATS_NS: std::ops::RangeInclusive<u64> = 1_000_000..=3_600_000_000_000;

/// The least that a side must accept, in bytes.
const LEAST_PAYLOAD: u32 = 64;

impl Hello {
    /// Whether a name is one that a peer can have.
    pub fn is_name(name: &str) -> bool {
        let is_good = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
        (1..=NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(is_good)
    }

    /// Writes it; returns its length.
    pub(crate) fn encode(&self, bytes: &mut [u8; HELLO_MAX_BYTES]) -> usize {
        let name = &self.name.as_bytes()[..self.name.len().min(NAME_MAX_BYTES)];
        let words = [self.session, self.epoch, self.nonce, self.heartbeat_ns];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.service);
        for (chunk, word) in bytes[16..48].as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *chunk = word.to_le_bytes();
        }
        bytes[48..52].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.most_payload.to_le_bytes());
        bytes[56..64].fill(0);
        bytes[64..68].copy_from_slice(&(name.len() as u32).to_le_bytes());
        bytes[FIXED_BYTES..][..name.len()].copy_from_slice(name);
        FIXED_BYTES + name.len()
    }

    /// Reads the hello of the other side; this side offers `service`.
    pub(crate) fn decode(bytes: &[u8], service: [u8; 8]) -> Result<Self, HelloError> {
        let Some((fixed, name)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
            return Err(HelloError::NotAHello);
        };
        let word =
            |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| fixed[at + byte]));
        let half = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| fixed[at + byte]));
        if fixed[..8] != MAGIC {
            return Err(HelloError::NotAHello);
        }
        if half(48) != PROTOCOL_VERSION {
            return Err(HelloError::Version { found: half(48) });
        }
        let found = word(8).to_le_bytes();
        if found != service {
            return Err(HelloError::Service { found, expected: service });
        }
        let name = std::str::from_utf8(name).unwrap_or_default();
        if half(64) as usize != name.len() || !Self::is_name(name) {
            return Err(HelloError::Name);
        }
        let (heartbeat_ns, most_payload) = (word(40), half(52));
        if !HEARTBEATS_NS.contains(&heartbeat_ns) {
            return Err(HelloError::Number { what: "a heartbeat", value: heartbeat_ns });
        }
        if most_payload < LEAST_PAYLOAD {
            let value = u64::from(most_payload);
            return Err(HelloError::Number { what: "a longest payload", value });
        }
        Ok(Self {
            service,
            session: word(16),
            epoch: word(24),
            nonce: word(32),
            heartbeat_ns,
            most_payload,
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            service: *b"JOURNAL1",
            session: 3,
            epoch: 4,
            nonce: 5,
            heartbeat_ns: 100_000_000,
            most_payload: 1 << 20,
            name: "replica-2.example".to_owned(),
        }
    }

    #[test]
    fn a_hello_is_read_as_it_was_written() {
        let mut bytes = [0; HELLO_MAX_BYTES];
        let length = hello().encode(&mut bytes);
        assert_eq!(Hello::decode(&bytes[..length], *b"JOURNAL1"), Ok(hello()));
        for cut in 0..length {
            assert!(Hello::decode(&bytes[..cut], *b"JOURNAL1").is_err(), "{cut}");
        }
        assert!(Hello::decode(&bytes[..length + 1], *b"JOURNAL1").is_err());
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let refused = |change: &dyn Fn(&mut [u8])| {
            let mut bytes = [0; HELLO_MAX_BYTES];
            let length = hello().encode(&mut bytes);
            change(&mut bytes);
            Hello::decode(&bytes[..length], *b"JOURNAL1").unwrap_err().to_string()
        };
        assert_eq!(refused(&|bytes| bytes[0] = 0), "the first frame is not a hello");
        assert_eq!(refused(&|bytes| bytes[48] = 9), "protocol version 9, this side has 1");
        let text = "the other side offers `JOURNALX`, this side `JOURNAL1`";
        assert_eq!(refused(&|bytes| bytes[15] = b'X'), text);
        assert!(refused(&|bytes| bytes[70] = b' ').starts_with("invalid name"));
        assert!(refused(&|bytes| bytes[40..48].fill(0)).starts_with("a heartbeat of 0"));
        assert!(refused(&|bytes| bytes[52..56].fill(0)).starts_with("a longest payload of 0"));
    }
}
