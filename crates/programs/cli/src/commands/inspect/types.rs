//! `--type`: the selected types of messages, by the letters or numbers of the feed.

use std::str::FromStr;

use anyhow::bail;
use nanotape_feed::Feed;

use crate::status::{BadData, warn};

/// A type as it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GivenType {
    Letter(u8),
    Number(u8),
}

impl FromStr for GivenType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let given = match (text.strip_prefix("0x"), text.as_bytes()) {
            (Some(digits), _) => u8::from_str_radix(digits, 16).ok().map(Self::Number),
            (None, &[letter]) if letter.is_ascii_graphic() => Some(Self::Letter(letter)),
            _ => None,
        };
        given.ok_or_else(|| {
            "not a message type; use one letter, or a number such as 0x21".to_owned()
        })
    }
}

/// The selected types of a feed.
#[derive(Debug)]
pub(super) struct SelectedTypes {
    feed: Feed,
    given: Vec<u8>,
    /// Whether a message of the selected time has this type.
    seen: [bool; 256],
}

impl SelectedTypes {
    pub(super) fn new(feed: Feed, given: &[GivenType]) -> anyhow::Result<Self> {
        let mut tags = Vec::with_capacity(given.len());
        for &given in given {
            tags.push(match given {
                GivenType::Letter(letter) if feed.has_numbered_types() => bail!(
                    "--type {}: types of {} are numbers: {}",
                    char::from(letter),
                    feed.protocol(),
                    list(feed, feed.types())
                ),
                GivenType::Letter(tag) | GivenType::Number(tag) => tag,
            });
        }
        Ok(Self { feed, given: tags, seen: [false; 256] })
    }

    /// Whether a type is selected; each one is if none was given.
    #[inline]
    pub(super) fn selects(&self, tag: u8) -> bool {
        self.given.is_empty() || self.given.contains(&tag)
    }

    /// The selected types that the feed has, in the order of its specification.
    pub(super) fn known(&self) -> impl Iterator<Item = u8> {
        self.feed.types().iter().copied().filter(|&tag| self.selects(tag))
    }

    /// Whether messages of types that the feed does not have are selected.
    pub(super) fn has_unknown(&self) -> bool {
        let is_unknown = |tag| !self.feed.types().contains(tag);
        self.given.is_empty() || self.given.iter().any(is_unknown)
    }

    /// A message of the selected time has this type.
    #[inline]
    pub(super) fn see(&mut self, tag: u8) {
        self.seen[usize::from(tag)] = true;
    }

    /// Whether each type that was given has a message.
    pub(super) fn are_all_seen(&self) -> bool {
        self.given.iter().all(|&tag| self.seen[usize::from(tag)])
    }

    /// Reports the types that no message of the span has; an error if the feed does not have one.
    pub(super) fn require(&self, name: &str) -> anyhow::Result<()> {
        let missing = self.given.iter().copied().filter(|&tag| !self.seen[usize::from(tag)]);
        let missing: Vec<_> = missing.collect();
        let is_unknown = |tag: &u8| !self.feed.types().contains(tag);
        let unknown: Vec<_> = missing.iter().copied().filter(is_unknown).collect();
        if !unknown.is_empty() {
            let (unknown, known) = (list(self.feed, &unknown), list(self.feed, self.feed.types()));
            let protocol = self.feed.protocol();
            let line = format!(
                "{name}: no message of type {unknown}, which {protocol} does not have: its types \
                 are {known}"
            );
            return Err(BadData(line).into());
        }
        if !missing.is_empty() {
            let missing = list(self.feed, &missing);
            warn(format_args!("{name}: no message of type {missing} in the selected time"));
        }
        Ok(())
    }
}

fn list(feed: Feed, tags: &[u8]) -> String {
    let types: Vec<_> = tags.iter().map(|&tag| feed.type_text(tag).to_string()).collect();
    types.join(", ")
}
