//! The crate disruptor: a ring of slots in one process, whose writer waits for the slowest reader.
//!
//! Read with its event pollers, so that the threads are ours to pin. A poller looks at the writer's
//! cursor once for everything that is there.

use ::disruptor::{
    BusySpin, EventPoller, Polling, Producer, SingleConsumerBarrier, SingleProducer,
    SingleProducerBarrier, build_single_producer,
};

use super::SLOTS;
use crate::{
    Failure,
    message::Message,
    options::{Mode, Options},
    report::Run,
    threads,
    work::{Reader, Writer},
};

type Poller = EventPoller<Message, SingleProducerBarrier>;

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    let run = match (options.mode, options.readers) {
        (Mode::PingPong, _) => threads::there_and_back(options, single(), single()),
        (_, 1) => {
            let (writer, reader) = single();
            threads::one_way(options, writer, vec![reader])
        }
        (_, readers) => {
            let (writer, pollers) = many(readers);
            threads::one_way(options, writer, pollers)
        }
    };
    run.map(Some)
}

fn single() -> (Publisher<SingleProducer<Message, SingleConsumerBarrier>>, Poller) {
    let (poller, builder) = build_single_producer(SLOTS, || [0; 73], BusySpin).new_event_poller();
    (Publisher(builder.build()), poller)
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
