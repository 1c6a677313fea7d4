//! A second line of the same messages: each record of a day file, later.

use nanotape_types::{NanosSinceMidnight, WireValue as _};

use super::SecondFeed;

/// Bytes of type, stock locate, tracking number and time, with which every message begins.
const HEADER: usize = 11;

impl SecondFeed {
    /// Delays the records of a day file in place: whole messages after their lengths, in order.
    /// Calls `each` with the locate, the time and the delay of each message, both in nanoseconds.
    /// Returns false if the bytes end within a record, or if one is too short for a message.
    pub fn delay_records(
        &mut self,
        records: &mut [u8],
        mut each: impl FnMut(u16, u64, i64),
    ) -> bool {
        let mut start = 0;
        while let Some((length, message)) =
            records.get_mut(start..).and_then(|rest| rest.split_first_chunk_mut())
        {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some(message) = message.get_mut(..length) else { return false };
            let Some((header, _)) = message.split_first_chunk_mut::<HEADER>() else { return false };
            let [_, high, low, _, _, time @ ..] = header;
            let time_ns = NanosSinceMidnight::from_be_bytes(*time).get();
            let delay_ns = self.delay_at(time_ns);
            let at_ns = self.in_order(time_ns, delay_ns).min(NanosSinceMidnight::MAX.get());
            *time = NanosSinceMidnight::new(at_ns).unwrap_or_default().to_be_bytes();
            each(u16::from_be_bytes([*high, *low]), time_ns, at_ns.wrapping_sub(time_ns) as i64);
            start += 2 + length;
        }
        start == records.len()
    }
}
