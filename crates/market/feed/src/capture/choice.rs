//! What of a capture is read: its destinations, and one of its sessions.

use std::{fmt, net::SocketAddrV4, path::PathBuf, str::FromStr};

use nanotape_types::Alpha;

use super::{
    groups::{Group, is_chosen},
    packet::carried_by,
};
use crate::carried::Carried;

/// What of a capture is read, and in which files it is. The default is the first session with
/// messages, on all of its destinations, in one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaptureChoice {
    /// The destinations; empty: all.
    pub groups: Vec<Group>,
    /// The session; `None`: the first one in the file that has messages.
    pub session: Option<SessionName>,
    /// Further files of the capture, in any order.
    pub pieces: Vec<PathBuf>,
}

/// The name of a session, as it is typed. For one of MoldUDP64, padding with spaces or zeros makes
/// no difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionName(Alpha<NAME_BYTES>);

/// More than the longest name, which is of IEX-TP.
const NAME_BYTES: usize = 32;

impl CaptureChoice {
    /// Whether a datagram to `destination` is chosen.
    pub fn has(&self, destination: SocketAddrV4, payload: &[u8]) -> bool {
        let is_of =
            |name: SessionName| carried_by(payload).is_some_and(|carried| name.is_of(&carried));
        is_chosen(&self.groups, destination) && self.session.is_none_or(is_of)
    }

    /// Whether everything is the default.
    pub fn is_default(&self) -> bool {
        self.groups.is_empty() && self.session.is_none() && self.pieces.is_empty()
    }
}

impl SessionName {
    /// Whether it is the name of this session.
    pub fn is_of(&self, carried: &Carried) -> bool {
        let Carried::MoldUdp64(session) = carried else {
            return carried.to_string().as_bytes() == self.0.trimmed();
        };
        let mut name = session.as_bytes().trim_ascii();
        while let [before @ .., 0] = name {
            name = before.trim_ascii_end();
        }
        self.0.trimmed() == name
    }
}

impl FromStr for SessionName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim_ascii().as_bytes();
        let is_name = !name.is_empty() && name.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let mut bytes = [b' '; NAME_BYTES];
        match bytes.get_mut(..name.len()).filter(|_| is_name) {
            Some(place) => {
                place.copy_from_slice(name);
                Ok(Self(Alpha::new(bytes)))
            }
            None => Err("expected the name of a session, 1 to 32 printable characters"),
        }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_wire::framing::pitch::PitchUnit;

    use super::*;

    #[test]
    fn a_name_is_that_of_a_session_however_it_is_padded() {
        let name: SessionName = " DAY 1 ".parse().unwrap();
        assert_eq!(name.to_string(), "DAY 1");
        for (session, is_of) in [
            (b"DAY 1     ", true),
            (b"     DAY 1", true),
            (b"DAY 1\0\0\0\0\0", true),
            (b"DAY 12    ", false),
        ] {
            let carried = Carried::MoldUdp64(Alpha::new(*session));
            assert_eq!(name.is_of(&carried), is_of, "{session:?}");
        }
        let name: SessionName = "unit 3".parse().unwrap();
        assert!(name.is_of(&Carried::Pitch(PitchUnit(3))));
        assert!(!name.is_of(&Carried::Pitch(PitchUnit(4))));
        let long = "a".repeat(33);
        for text in ["", "   ", &long, "tab\there", "Z\u{fc}rich"] {
            assert!(text.parse::<SessionName>().is_err(), "{text:?}");
        }
    }
}
