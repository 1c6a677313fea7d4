//! `--link`: the links behind a receiver, and their results as text.

use std::fmt::Write as _;

use nanotape_console::values::{grouped, nanos_text};
use nanotape_queue::{LinkOptions, MAX_BITS_PER_SECOND, Receiver};

use super::{service, text::time};

/// Units of rates, in bits a second; the longer ones of two that end alike come first.
const RATES: [(&str, f64); 8] = [
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("bit/s", 1.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    ("B/s", 8.0),
];

/// `recorder=200MB/s,2us,bytes=136,ring=65536`.
pub(super) fn link(text: &str) -> Result<LinkOptions, String> {
    let expected = || {
        "expected a name, and a rate, a time or both, such as disk=200MB/s,2us,bytes=136,ring=4096"
            .to_owned()
    };
    let (name, parts) = text.split_once('=').ok_or_else(expected)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !(1..=30).contains(&name.len()) || !name.bytes().all(is_plain) || name == "receiver" {
        return Err("a link has a name of 1 to 30 letters, digits, - _ ., not receiver".to_owned());
    }
    let mut link = LinkOptions {
        name: name.to_owned(),
        bits_per_second: None,
        message_ns: 0,
        bytes: None,
        ring: None,
    };
    for part in parts.split(',') {
        if let Some(bytes) = part.strip_prefix("bytes=") {
            link.bytes = Some(bytes.parse::<u32>().map_err(|_| expected())?.into());
        } else if let Some(ring) = part.strip_prefix("ring=") {
            let ring = ring.parse::<u32>().ok().filter(|ring| *ring > 0).ok_or_else(expected)?;
            link.ring = Some(ring as usize);
        } else if part.ends_with("/s") {
            link.bits_per_second = Some(rate(part).ok_or_else(expected)?);
        } else {
            link.message_ns = service(part).map_err(|_| expected())?;
        }
    }
    if link.bits_per_second.is_none() && link.message_ns == 0 {
        return Err(expected());
    }
    Ok(link)
}

fn rate(text: &str) -> Option<u64> {
    let (number, unit) =
        RATES.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let bits = number.parse::<f64>().ok()? * unit;
    let is_valid = bits >= 1.0 && bits <= MAX_BITS_PER_SECOND as f64;
    is_valid.then_some(bits.round() as u64)
}

/// The links of a receiver, and the stage at which it piles up.
pub(super) fn text(receiver: &Receiver) -> String {
    let mut text = String::new();
    for link in receiver.links() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "link {}: {} messages, {} bytes, {} dropped; largest delay {} at {}, backlog {} bytes \
             at {} and {} messages at {}; busy {}",
            link.name(),
            grouped(link.messages),
            grouped(link.bytes),
            grouped(link.dropped),
            nanos_text(link.largest_delay_ns.value),
            time(link.largest_delay_ns.at_ns),
            grouped(link.largest_bytes.value),
            time(link.largest_bytes.at_ns),
            grouped(link.largest_messages.value),
            time(link.largest_messages.at_ns),
            nanos_text(link.busy_ns()),
        );
    }
    if !text.is_empty() {
        let _ = writeln!(text, "bottleneck (largest delay): {}", receiver.bottleneck());
    }
    text
}
