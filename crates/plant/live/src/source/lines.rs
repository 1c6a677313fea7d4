//! The sockets of the lines, read by the thread of the plant. A socket that cannot be read, and a
//! group that cannot be joined, are states of their line, and never the end of the plant.
//!
//! Protocol: an interface that is removed and made again has no groups, and the socket gets no
//! error. So a group without a packet is joined again every [`CHECK_NS`], which has no effect if it
//! is joined.

use std::fs;

use nanotape_clock::UtcNanos;
use nanotape_feed::{
    session::Line,
    udp::{
        Datagram, DatagramReceiver as _, UdpAddress, UdpError, UdpOptions, UdpReader, UdpSocket,
    },
};

use super::{LiveError, NewsLine, outage::Outage};
use crate::{Interface, LineAddress};

/// How long a line has no packet before its group is joined again.
const CHECK_NS: u64 = 2_000_000_000;

/// The socket of a line.
#[derive(Debug)]
pub(crate) struct LineSocket {
    pub(crate) socket: UdpSocket,
    interface: Interface,
    /// What was requested.
    options: UdpOptions,
}

/// A packet of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePacket<'p> {
    pub(crate) bytes: &'p [u8],
    /// The receive time of its records, in ns since the UNIX epoch.
    pub(crate) ts_recv_ns: u64,
    /// Its receive time for timers: that of the kernel.
    pub(crate) timer_ns: u64,
}

/// Reads the socket of a line.
#[derive(Debug)]
pub(crate) struct LineReader<'s> {
    pub(crate) line: Line,
    of: &'s LineSocket,
    reader: UdpReader<'s>,
    /// Whether the socket cannot be read.
    reading: Outage,
    /// Whether the group cannot be joined.
    joining: Outage,
    /// When the last packet came, or the group was joined.
    checked_ns: u64,
    /// Whether times of the card were requested, and every packet had one.
    has_card_times: bool,
    /// Errors of the socket.
    pub(crate) errors: u64,
    /// What an operator should read.
    pub(crate) news: Option<NewsLine>,
}

impl LineSocket {
    /// Opens the socket of a line, on the number that its interface has now.
    pub(crate) fn open(line: &LineAddress, options: &UdpOptions) -> Result<Self, LiveError> {
        let LineAddress { address, interface, sender } = line.clone();
        let failed = |source| LiveError::Interface { interface: interface.clone(), source };
        let number = interface.number().map_err(failed)?;
        let at = UdpAddress { address: address.address(), interface: number, sender };
        Ok(Self { socket: UdpSocket::open(&at, options)?, interface, options: *options })
    }
}

/// What the sockets lack of what was requested, in lines for an operator. A source that does not
/// spin sleeps in a wait.
pub(crate) fn warnings(sockets: &[LineSocket], spins: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for LineSocket { socket, options, .. } in sockets {
        let (address, given) = (socket.address(), socket.buffer_bytes());
        let wanted = options.buffer_bytes;
        if given < wanted {
            warnings.push(format!(
                "{address}: receive buffer of {given} bytes, {wanted} requested: packets of bursts \
                 may be lost; raise net.core.rmem_max"
            ));
        }
        if let Some(error) = socket.prefers_interrupts() {
            let what = "busy polling without preference over the interrupts of the card";
            warnings.push(format!("{address}: {what}: {error}"));
        }
    }
    let polls = sockets.iter().any(|line| line.options.busy_poll_us > 0);
    if polls && !spins && is_zero("/proc/sys/net/core/busy_poll") {
        warnings.push(
            "busy polling has no effect while the plant sleeps, because net.core.busy_poll is 0: set \
             it, or use --spin"
                .to_owned(),
        );
    }
    warnings
}

/// Whether a setting of the kernel is 0. In a network namespace it may be without a file.
fn is_zero(setting: &str) -> bool {
    fs::read_to_string(setting).is_ok_and(|text| text.trim() == "0")
}

/// The card's receive time, if its clock is that of the machine: a packet can wait in the card, and
/// clocks are never equal.
#[inline]
fn card_time(datagram: &Datagram<'_>, kernel_ns: u64) -> Option<u64> {
    let near = kernel_ns.saturating_sub(MOST_IN_CARD_NS)..=kernel_ns.saturating_add(MOST_AFTER_NS);
    datagram.ts_card_ns.filter(|card_ns| near.contains(card_ns))
}

/// How long a packet waits between the card and the kernel, at most, and by how much the clock of
/// the card may be ahead, in ns.
const MOST_IN_CARD_NS: u64 = 100_000_000;
const MOST_AFTER_NS: u64 = 1_000_000;

/// The receive times of a datagram: that of its records, and that for timers. If the kernel's clock
/// was set meanwhile, both are now: a time of another clock would stop the timers, or end them.
#[inline]
fn times_of(
    kernel_ns: u64,
    card_ns: Option<u64>,
    now_ns: u64,
    kernel_clock_ns: impl FnOnce() -> u64,
) -> (u64, u64) {
    let usual = now_ns.saturating_sub(MOST_LAG_NS)..=now_ns.saturating_add(MOST_APART_NS);
    // An old one has waited in the socket, unless the clocks differ.
    let is_of_now = usual.contains(&kernel_ns)
        || kernel_ns < now_ns && now_ns.abs_diff(kernel_clock_ns()) < MOST_APART_NS;
    match is_of_now {
        true => (card_ns.unwrap_or(kernel_ns), kernel_ns.min(now_ns)),
        false => (now_ns, now_ns),
    }
}

/// A datagram may wait for so long before the clocks are compared.
const MOST_LAG_NS: u64 = 10_000_000_000;

/// By how much the kernel's clock and that of the source may differ.
const MOST_APART_NS: u64 = 1_000_000_000;

impl<'s> LineReader<'s> {
    /// A reader for each line.
    pub(crate) fn of(sockets: &'s [LineSocket], now_ns: u64) -> Vec<Self> {
        let lines = sockets.iter().enumerate();
        let lines = lines.filter_map(|(index, of)| Some(Self::new(Line::new(index)?, of, now_ns)));
        lines.collect()
    }

    /// A reader of one socket of a line.
    pub(crate) fn new(line: Line, of: &'s LineSocket, now_ns: u64) -> Self {
        Self {
            line,
            of,
            reader: of.socket.reader(),
            reading: Outage::default(),
            joining: Outage::default(),
            checked_ns: now_ns,
            has_card_times: of.options.card_times,
            errors: 0,
            news: None,
        }
    }

    /// Calls `visit` with the packets that are there, and returns their number.
    #[inline]
    pub(crate) fn receive(&mut self, now_ns: u64, mut visit: impl FnMut(LinePacket<'_>)) -> usize {
        if !self.reading.is_due(now_ns) {
            return 0;
        }
        let mut lacks_card_time = false;
        let received = self.reader.receive(|datagram| {
            let kernel_ns = datagram.ts_recv_ns.unwrap_or(now_ns);
            let card_ns = card_time(&datagram, kernel_ns);
            lacks_card_time |= card_ns.is_none();
            let kernel_clock_ns = || UtcNanos::now().unix_ns();
            let (ts_recv_ns, timer_ns) = times_of(kernel_ns, card_ns, now_ns, kernel_clock_ns);
            visit(LinePacket { bytes: datagram.bytes, ts_recv_ns, timer_ns });
        });
        match received {
            Ok(count) => {
                if lacks_card_time && self.has_card_times {
                    self.lacks_card_time();
                }
                if self.reading.is_open() {
                    self.works(now_ns);
                }
                if count > 0 {
                    self.checked_ns = now_ns;
                } else if now_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
                    self.check(now_ns);
                }
                count
            }
            Err(error) => {
                self.failed(now_ns, &error);
                0
            }
        }
    }

    /// Whether the socket cannot be read, or its group cannot be joined.
    pub(crate) fn is_failing(&self) -> bool {
        self.reading.is_open() || self.joining.is_open()
    }

    #[cold]
    fn failed(&mut self, now_ns: u64, error: &UdpError) {
        self.errors += 1;
        if self.reading.begin(now_ns) {
            let text = format!("line {}: {error}; it is tried again", self.line);
            self.news = Some(NewsLine::problem(text));
        }
    }

    /// Reports once that a packet has no time of the card.
    #[cold]
    fn lacks_card_time(&mut self) {
        self.has_card_times = false;
        let text = format!(
            "line {}: packets without a receive time of the card, or with one that is more than 100 \
             ms before or 1 ms after that of the kernel: these have the kernel's",
            self.line
        );
        self.news = Some(NewsLine::problem(text));
    }

    #[cold]
    fn works(&mut self, now_ns: u64) {
        let down_ms = self.reading.end(now_ns).unwrap_or_default() / 1_000_000;
        let text = format!("line {}: can be received again after {down_ms} ms", self.line);
        self.news = Some(NewsLine::note(text));
    }

    /// Joins the group again if the line has lost it.
    #[cold]
    fn check(&mut self, now_ns: u64) {
        self.checked_ns = now_ns;
        let Self { line, of: LineSocket { socket, interface, .. }, .. } = *self;
        let joined = match interface.number() {
            Ok(number) => socket.join_again(number).map_err(|error| error.to_string()),
            Err(error) => Err(format!("interface {interface}: {error}")),
        };
        match joined {
            Ok(was_lost) => {
                if self.joining.end(now_ns).is_some() || was_lost {
                    let text = format!("line {line}: the group is joined again");
                    self.news = Some(NewsLine::note(text));
                }
            }
            Err(error) => {
                self.errors += 1;
                if self.joining.begin(now_ns) {
                    let text = format!("line {line}: {error}; it is tried again");
                    self.news = Some(NewsLine::problem(text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_card_counts_if_it_is_near_that_of_the_kernel() {
        let kernel_ns = 1_700_000_000_000_000_000;
        let card_time = |ts_card_ns| {
            let (bytes, ts_recv_ns) = (b"".as_slice(), Some(kernel_ns));
            card_time(&Datagram { bytes, ts_recv_ns, ts_card_ns, is_truncated: false }, kernel_ns)
        };
        for card_ns in [kernel_ns - 100_000_000, kernel_ns - 1, kernel_ns + 1_000_000] {
            assert_eq!(card_time(Some(card_ns)), Some(card_ns));
        }
        // Of the time scale TAI, of the start of the machine, and none.
        for card_ns in [kernel_ns + 37_000_000_000, 1_000_000, kernel_ns - 100_000_001] {
            assert_eq!(card_time(Some(card_ns)), None);
        }
        assert_eq!(card_time(None), None);
    }

    #[test]
    fn a_datagram_that_waited_for_long_has_its_time_and_one_of_another_clock_has_none() {
        let now_ns = 1_700_000_000_000_000_000;
        let times =
            |kernel_ns, card_ns, clock_ns| times_of(kernel_ns, card_ns, now_ns, || clock_ns);
        let waited_ns = now_ns - 60_000_000_000;
        assert_eq!(times(now_ns - 1, Some(now_ns - 9), 0), (now_ns - 9, now_ns - 1));
        assert_eq!(times(now_ns + 1, None, 0), (now_ns + 1, now_ns));
        assert_eq!(times(waited_ns, None, now_ns + 1_000), (waited_ns, waited_ns));
        // Set back by an hour, and forward.
        assert_eq!(times(waited_ns, None, now_ns - 3_600_000_000_000), (now_ns, now_ns));
        let ahead_ns = now_ns + 3_600_000_000_000;
        assert_eq!(times(ahead_ns, Some(ahead_ns), ahead_ns), (now_ns, now_ns));
    }
}
