//! The sockets of the lines, read by the thread of the plant. A socket that cannot be read is a
//! state of its line, and never the end of the plant.

use nanotape_feed::{
    session::Line,
    udp::{Datagram, DatagramReceiver as _, UdpError, UdpReader, UdpSocket},
};

use super::outage::Outage;

/// Reads the socket of a line.
#[derive(Debug)]
pub(super) struct LineReader<'s> {
    pub(super) line: Line,
    reader: UdpReader<'s>,
    outage: Outage,
    /// Errors of the socket.
    pub(super) errors: u64,
    /// What an operator should read.
    pub(super) news: Option<String>,
}

impl<'s> LineReader<'s> {
    /// A reader for each line.
    pub(super) fn of(sockets: &'s [UdpSocket]) -> Vec<Self> {
        let lines = sockets.iter().enumerate().filter_map(|(index, socket)| {
            let (line, reader) = (Line::new(index)?, socket.reader());
            Some(Self { line, reader, outage: Outage::default(), errors: 0, news: None })
        });
        lines.collect()
    }

    /// Calls `visit` with the datagrams that are there, and returns their number.
    #[inline]
    pub(super) fn receive(&mut self, now_ns: u64, visit: impl FnMut(Datagram<'_>)) -> usize {
        if !self.outage.is_due(now_ns) {
            return 0;
        }
        match self.reader.receive(visit) {
            Ok(count) => {
                if self.outage.is_open() {
                    self.works(now_ns);
                }
                count
            }
            Err(error) => {
                self.failed(now_ns, &error);
                0
            }
        }
    }

    /// Whether the socket cannot be read now.
    pub(super) fn is_failing(&self) -> bool {
        self.outage.is_open()
    }

    #[cold]
    fn failed(&mut self, now_ns: u64, error: &UdpError) {
        self.errors += 1;
        if self.outage.begin(now_ns) {
            self.news = Some(format!("line {}: {error}; it is tried again", self.line));
        }
    }

    #[cold]
    fn works(&mut self, now_ns: u64) {
        let down_ms = self.outage.end(now_ns).unwrap_or_default() / 1_000_000;
        self.news = Some(format!("line {}: can be received again after {down_ms} ms", self.line));
    }
}
