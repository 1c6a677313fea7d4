//! The crate disruptor: a ring of slots in one process, whose writer waits for the slowest reader.
//!
//! Event pollers read it, so that this program can pin the threads. A poller loads the writer's
//! cursor once for all available messages.

use ::disruptor::{
    BusySpin, EventPoller, Polling, Producer, SingleConsumerBarrier, SingleProducer,
    SingleProducerBarrier, build_single_producer,
};
use rivals_measure::Failure;

use super::SLOTS;
use crate::{
    options::Options,
    report::Run,
    threads,
    work::{Message, Reader, Writer},
};

type Poller = EventPoller<Message, SingleProducerBarrier>;

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    match options.readers {
        1 => threads::run(options, |_| single()),
        _ => threads::run(options, many),
    }
}

fn single() -> (Publisher<SingleProducer<Message, SingleConsumerBarrier>>, Vec<Poller>) {
    let (poller, builder) = build_single_producer(SLOTS, || [0; 73], BusySpin).new_event_poller();
    (Publisher(builder.build()), vec![poller])
}

fn many(readers: usize) -> (Publisher<impl Producer<Message>>, Vec<Poller>) {
    let builder = build_single_producer(SLOTS, || [0; 73], BusySpin);
    let (first, builder) = builder.new_event_poller();
    let (second, mut builder) = builder.new_event_poller();
    let mut pollers = vec![first, second];
    while pollers.len() < readers {
        let (poller, next) = builder.new_event_poller();
        builder = next;
        pollers.push(poller);
    }
    (Publisher(builder.build()), pollers)
}

struct Publisher<P>(P);

impl<P: Producer<Message>> Writer for Publisher<P> {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        self.0.publish(|slot| *slot = *message);
        Ok(())
    }
}

impl Reader for Poller {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        match EventPoller::poll(self) {
            Ok(mut events) => {
                let batch = &mut events;
                let count = batch.len();
                for event in batch {
                    see(event);
                }
                Ok(count)
            }
            Err(Polling::NoEvents) => Ok(0),
            Err(Polling::Shutdown) => Err("the writer is gone".into()),
        }
    }
}
