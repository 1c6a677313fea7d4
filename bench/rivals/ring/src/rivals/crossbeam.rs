//! crossbeam-channel: a bounded channel between threads, the one that most Rust programs use.

use std::hint::spin_loop;

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use rivals_measure::Failure;

use super::SLOTS;
use crate::{
    options::Options,
    report::Run,
    threads,
    work::{Message, Reader, Writer},
};

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    threads::run(options, |_| {
        let (writer, reader) = bounded::<Message>(SLOTS);
        (writer, vec![reader])
    })
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
