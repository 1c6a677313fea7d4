//! Calls of the kernel for sockets that neither `socket2` nor `nix` has, each behind a safe
//! function. `docs/UNSAFE.md` has what they rely on.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _},
};

use nix::errno::Errno;

/// Lets the kernel prefer busy polling of a socket to the interrupts of the card, which it then
/// holds back for as long as `gro_flush_timeout` and `napi_defer_hard_irqs` of the card allow.
pub(super) fn prefer_busy_poll(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, &1i32.to_ne_bytes())
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
