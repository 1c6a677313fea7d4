//! The address of an Aeron stream: a channel and the number of a stream.
//!
//! As one word it is the channel with one more parameter: `aeron:ipc?stream=7`,
//! `aeron:udp?endpoint=239.1.1.1:4000|stream=7`. Aeron gets the channel without it.

use std::{fmt, str::FromStr};

const SCHEME: &str = "aeron:";
const PARAMETER: &str = "stream=";

/// The longest channel that Aeron takes.
const MOST_BYTES: usize = 4095;

/// A channel and the number of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AeronAddress {
    channel: String,
    stream: i32,
}

/// Why text is not the address of an Aeron stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not a channel.
    #[error("invalid Aeron channel: use aeron:udp?endpoint=HOST:PORT or aeron:ipc")]
    Channel,
    /// It has no number of a stream, or an invalid one.
    #[error(
        "no stream: add it as a parameter, as in aeron:ipc?stream=7 or \
         aeron:udp?endpoint=239.1.1.1:4000|stream=7"
    )]
    Stream,
    /// The channel has a stream of its own.
    #[error("the channel has a parameter stream: give the number with --stream only")]
    Twice,
}

impl AeronAddress {
    /// Whether text is meant to be an address.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// A channel without a stream, and the stream.
    pub fn new(channel: &str, stream: i32) -> Result<Self, AddressError> {
        let rest = channel.strip_prefix(SCHEME).ok_or(AddressError::Channel)?;
        let (media, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let is_good = |character: char| character.is_ascii_graphic();
        if !["udp", "ipc"].contains(&media)
            || media == "udp" && parameters.is_empty()
            || channel.len() > MOST_BYTES
            || !channel.chars().all(is_good)
        {
            return Err(AddressError::Channel);
        }
        if parameters.split('|').any(|parameter| parameter.starts_with(PARAMETER)) {
            return Err(AddressError::Twice);
        }
        Ok(Self { channel: channel.to_owned(), stream })
    }

    /// The channel, as Aeron takes it.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// The number of the stream.
    pub fn stream(&self) -> i32 {
        self.stream
    }
}

impl FromStr for AeronAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (start, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (streams, others): (Vec<_>, Vec<_>) =
            parameters.split('|').partition(|parameter| parameter.starts_with(PARAMETER));
        let others: Vec<&str> = others.into_iter().filter(|other| !other.is_empty()).collect();
        let channel = match others.is_empty() {
            true => start.to_owned(),
            false => format!("{start}?{}", others.join("|")),
        };
        // A wrong channel is reported even if the stream is missing too.
        Self::new(&channel, 0)?;
        let [stream] = streams[..] else { return Err(AddressError::Stream) };
        let stream = stream[PARAMETER.len()..].parse().map_err(|_| AddressError::Stream)?;
        Self::new(&channel, stream)
    }
}

impl fmt::Display for AeronAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.channel.contains('?') { '|' } else { '?' };
        write!(f, "{}{separator}{PARAMETER}{}", self.channel, self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_channel_with_a_stream() {
        for (text, channel, stream) in [
            ("aeron:ipc?stream=7", "aeron:ipc", 7),
            (
                "aeron:udp?endpoint=localhost:4000|stream=-3",
                "aeron:udp?endpoint=localhost:4000",
                -3,
            ),
            ("aeron:ipc?term-length=64k|stream=1", "aeron:ipc?term-length=64k", 1),
        ] {
            let address: AeronAddress = text.parse().unwrap();
            assert_eq!((address.channel(), address.stream()), (channel, stream));
            assert_eq!(address.to_string(), text);
            assert_eq!(AeronAddress::new(channel, stream), Ok(address));
        }
        let moved: AeronAddress = "aeron:udp?stream=2|endpoint=a:1|ttl=4".parse().unwrap();
        assert_eq!(moved.channel(), "aeron:udp?endpoint=a:1|ttl=4");
    }

    #[test]
    fn text_that_is_no_address_is_refused() {
        let of = |text: &str| text.parse::<AeronAddress>().unwrap_err();
        for text in [
            "equities",
            "aeron:",
            "aeron:tcp?stream=1",
            "aeron:udp?stream=1",
            "aeron:ipc x?stream=1",
        ] {
            assert_eq!(of(text), AddressError::Channel, "{text}");
        }
        for text in [
            "aeron:ipc",
            "aeron:ipc?stream=",
            "aeron:ipc?stream=1|stream=2",
            "aeron:ipc?stream=9999999999",
        ] {
            assert_eq!(of(text), AddressError::Stream, "{text}");
        }
        let long = format!("aeron:ipc?alias={}|stream=1", "x".repeat(5_000));
        assert_eq!(of(&long), AddressError::Channel);
        assert_eq!(AeronAddress::new("aeron:ipc?stream=1", 1), Err(AddressError::Twice));
    }
}
