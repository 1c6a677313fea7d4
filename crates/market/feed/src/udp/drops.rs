//! Datagrams that the kernel dropped because the buffer of a socket was full.

use std::{fs, io, os::fd::RawFd};

/// The kernel's tables of sockets of IPv4 and IPv6, with a column for drops.
const TABLES: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// Counts the drops of one socket. Reading the table takes some microseconds, so the thread that
/// receives leaves it to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelDrops {
    table: &'static str,
    inode: u64,
}

impl KernelDrops {
    /// The drops of a socket of IPv4 or IPv6.
    pub(super) fn of(socket: RawFd, is_ipv6: bool) -> io::Result<Self> {
        let link = fs::read_link(format!("/proc/self/fd/{socket}"))?;
        let link = link.to_string_lossy();
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        let inode = inode.and_then(|inode| inode.parse().ok());
        let found = || io::Error::other(format!("expected socket:[NUMBER], found {link}"));
        let table = TABLES[usize::from(is_ipv6)];
        Ok(Self { table, inode: inode.ok_or_else(found)? })
    }

    /// Datagrams dropped since the socket was opened.
    pub fn count(&self) -> io::Result<u64> {
        let Self { table, inode } = *self;
        let count = drops_of(&fs::read_to_string(table)?, inode);
        count.ok_or_else(|| io::Error::other(format!("{table} has no socket {inode}")))
    }
}

/// The last column of the line of a socket.
fn drops_of(table: &str, inode: u64) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let is_wanted = columns.nth(9)?.parse() == Ok(inode);
        is_wanted.then(|| columns.last()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_are_in_the_last_column_of_the_line_of_the_socket() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode ref pointer drops\n\
                     \x20 512: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 \
                     00000000     0        0 4711 2 0000000000000000 12\n\
                     \x20 513: 0100007F:1F91 00000000:0000 07 00000000:00000000 00:00000000 \
                     00000000     0        0 4712 2 0000000000000000 0\n";
        assert_eq!(drops_of(table, 4711), Some(12));
        assert_eq!(drops_of(table, 4712), Some(0));
        assert_eq!(drops_of(table, 512), None);
    }
}
