//! Both sides over Aeron itself: a media driver in a thread, and messages of every length.

use std::{thread, time::Duration};

use nanotape_aeron::{
    AeronAddress, AeronSource, DriverChoice, DriverPace, FanOut, FanOutEvent, FanOutOptions,
    MediaClient, MediaDriver, Publication, Subscription,
};
use nanotape_harness::{Patience, Scratch, bytes_of};
use nanotape_ring::{Publish as _, RingSource, Start, stream};
use nanotape_tape::{Item, Progress, ShutdownFlag, Source as _};

/// Lengths around those of a packet, of 1,376 bytes, and of several.
const LENGTHS: [usize; 9] = [0, 1, 1_327, 1_328, 1_329, 2_800, 9_000, 60_000, 200_000];

fn payload(number: u64) -> Vec<u8> {
    bytes_of(number, LENGTHS[number as usize % LENGTHS.len()])
}

#[test]
fn messages_of_every_length_arrive_whole() {
    let folder = Scratch::in_memory("media").unwrap_or_else(|| Scratch::new("media"));
    let driver = MediaDriver::start(Some(folder.path()), DriverPace::Sleep).unwrap();
    let choice = DriverChoice::Running(Some(driver.dir().to_owned()));
    let address: AeronAddress = "aeron:ipc?term-length=4m|stream=7".parse().unwrap();
    let count = 20 * LENGTHS.len() as u64;
    let mut writer = stream::Writer::on_heap(1 << 24).unwrap();
    let source = RingSource::new(writer.reader(Start::Oldest).unwrap());
    for number in 1..=count {
        writer.publish(number as u16, &payload(number)).unwrap();
    }
    drop(writer);
    let publishing = choice.clone();
    let at = address.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let client = MediaClient::connect(&publishing).unwrap();
            let options = FanOutOptions {
                created_ns: 42,
                through_restarts: true,
                linger: Duration::from_secs(60),
                strategy: None,
                shutdown: ShutdownFlag::new(),
            };
            let shutdown = options.shutdown.clone();
            let publication = Publication::add(client, &at).unwrap();
            let mut fan_out = FanOut::new(source, publication, options);
            // It waits for the next writer of the ring; all messages are sent by then.
            fan_out
                .run(|event| {
                    if let FanOutEvent::WriterGone(_) = event {
                        shutdown.request();
                    }
                })
                .unwrap();
            assert_eq!(fan_out.summary().published, count);
        });
        let client = MediaClient::connect(&choice).unwrap();
        let mut source = AeronSource::new(Subscription::add(client, &address).unwrap());
        let mut next = 1;
        let patience = Patience::new("all messages");
        while next <= count {
            patience.check();
            let polled = source.poll(|item| {
                let Item::Message(message) = item else { panic!("{item:?}") };
                assert_eq!((message.sequence, message.type_id), (next, next as u16));
                assert!(message.payload == payload(next), "message {next}");
                next += 1;
                std::ops::ControlFlow::Continue(())
            });
            if polled.unwrap() == Progress::Nothing {
                thread::yield_now();
            }
        }
    });
}
