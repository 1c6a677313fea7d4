//! crossbeam-channel: a bounded channel between threads, the one most programs in Rust have.

use std::hint::spin_loop;

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};

use super::SLOTS;
use crate::{
    Failure,
    message::Message,
    options::{Mode, Options},
    report::Run,
    threads,
    work::{Reader, Writer},
};

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    let queue = || bounded::<Message>(SLOTS);
    let run = match options.mode {
        Mode::PingPong => threads::there_and_back(options, queue(), queue()),
        _ => {
            let (writer, reader) = queue();
            threads::one_way(options, writer, vec![reader])
        }
    };
    run.map(Some)
}

impl Writer for Sender<Message> {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        loop {
            match self.try_send(*message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(_)) => spin_loop(),
                Err(TrySendError::Disconnected(_)) => return Err("the reader is gone".into()),
            }
        }
    }
}

impl Reader for Receiver<Message> {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        match self.try_recv() {
            Ok(message) => {
                see(&message);
                Ok(1)
            }
            Err(TryRecvError::Empty) => Ok(0),
            Err(TryRecvError::Disconnected) => Err("the writer is gone".into()),
        }
    }
}
