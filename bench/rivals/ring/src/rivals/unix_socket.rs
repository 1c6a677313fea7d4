//! A Unix socket between two processes, which every system has.
//!
//! It is a stream of 73-byte frames. The writer makes a system call for each message, so that each
//! message leaves at once. The reader sleeps in the kernel until bytes arrive and takes up to 64
//! KiB of frames at a time. It is the only rival whose reader does not spin.

use std::{
    os::fd::{AsFd, OwnedFd},
    process::Stdio,
};

use rivals_measure::Failure;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair, sockopt,
};

use crate::{
    options::{Mode, Options},
    processes::{self, Second},
    report::Run,
    work::{Message, Reader, Writer},
};

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    let goes_back = options.mode == Mode::PingPong;
    if let Some(number) = options.second {
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        let back = goes_back.then(|| socket.try_clone()).transpose()?.map(Sending);
        processes::second(options, number, Receiving::new(socket), back)?;
        return Ok(None);
    }
    let (near, far) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    for end in [&near, &far] {
        // The kernel grants what net.core.wmem_max allows, usually 208 KiB.
        sockopt::set_socket_send_buffer_size(end, 8 << 20)?;
    }
    let second = Second::start(0, "stdin", Stdio::from(far))?;
    let back = goes_back.then(|| near.try_clone()).transpose()?.map(Receiving::new);
    processes::first(options, vec![second], Sending(near), || Ok(back)).map(Some)
}

struct Sending(OwnedFd);

impl Writer for Sending {
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        let mut rest = message.as_slice();
        while !rest.is_empty() {
            let count = send(&self.0, rest, SendFlags::NOSIGNAL)?;
            rest = &rest[count..];
        }
        Ok(())
    }
}

struct Receiving {
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// Bytes of a message whose rest has not arrived yet.
    begun: usize,
}

impl Receiving {
    fn new(socket: OwnedFd) -> Self {
        Self { socket, buffer: vec![0; 64 << 10], begun: 0 }
    }
}

impl Reader for Receiving {
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let room = &mut self.buffer[self.begun..];
        let (count, _) = recv(&self.socket, room, RecvFlags::empty())?;
        if count == 0 {
            return Err("the other process closed the socket".into());
        }
        let end = self.begun + count;
        let (messages, rest) = self.buffer[..end].as_chunks::<73>();
        messages.iter().for_each(see);
        let (messages, rest) = (messages.len(), rest.len());
        self.buffer.copy_within(end - rest..end, 0);
        self.begun = rest;
        Ok(messages)
    }
}
