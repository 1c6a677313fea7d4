//! Calls of the kernel for sockets that neither `socket2` nor `nix` has, each behind a safe
//! function. `docs/UNSAFE.md` has what they rely on.

use std::{
    io,
    mem::{offset_of, size_of},
    net::IpAddr,
    os::fd::{AsFd, AsRawFd as _},
};

use nix::errno::Errno;

/// Lets the kernel prefer busy polling of a socket to the interrupts of the card, which it then
/// holds back for as long as `gro_flush_timeout` and `napi_defer_hard_irqs` of the card allow.
pub(super) fn prefer_busy_poll(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, &1i32.to_ne_bytes())
}

/// Joins a group on the interface with this number, for the packets of one sender. Both are
/// addresses of one kind.
pub(super) fn join_source(
    socket: &impl AsFd,
    interface: u32,
    group: IpAddr,
    sender: IpAddr,
) -> io::Result<()> {
    let level = if group.is_ipv4() { libc::IPPROTO_IP } else { libc::IPPROTO_IPV6 };
    let mut request = [0; size_of::<libc::group_source_req>()];
    request[..size_of::<u32>()].copy_from_slice(&interface.to_ne_bytes());
    put_address(&mut request[offset_of!(libc::group_source_req, gsr_group)..], group);
    put_address(&mut request[offset_of!(libc::group_source_req, gsr_source)..], sender);
    set_option(socket, level, libc::MCAST_JOIN_SOURCE_GROUP, &request)
}

/// Writes an address as a structure of the kernel, whose other bytes are zeros.
fn put_address(bytes: &mut [u8], address: IpAddr) {
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    put(0, &(family as libc::sa_family_t).to_ne_bytes());
    match address {
        IpAddr::V4(ip) => put(offset_of!(libc::sockaddr_in, sin_addr), &ip.octets()),
        IpAddr::V6(ip) => put(offset_of!(libc::sockaddr_in6, sin6_addr), &ip.octets()),
    }
}

/// Sets an option of a socket whose value is in `value` itself, without a pointer.
fn set_option(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: pointer and length are those of a slice, which the kernel copies. `as_fd` keeps the
    // descriptor open.
    let result = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}
