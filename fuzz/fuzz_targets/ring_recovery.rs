//! Any words in place of a dead writer's ring: the next writer rejects them or continues, and then
//! everything that it publishes is read, whole.
#![no_main]

mod ring;

use libfuzzer_sys::fuzz_target;
use nanotape_ring::{
    Batched as _, Claimed as _, Publish, Read, Start, Subscribe as _, slots, stream,
};
use nanotape_shm::OwnedRegion;
use ring::{lay, read_everything, slot_ring, stream_ring};

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    if which % 2 == 0 {
        goes_on(stream_ring(), input, |region| stream::Writer::resume(region).ok());
    } else {
        goes_on(slot_ring(), input, |region| slots::Writer::resume(region).ok());
    }
});

fn goes_on<W: Publish<Reader: Clone>>(
    (region, next): (OwnedRegion, u64),
    input: &[u8],
    resume: impl FnOnce(OwnedRegion) -> Option<W>,
) {
    lay(&region, input);
    let Some(mut writer) = resume(region) else {
        assert!(input.len() >= 11, "a sound ring is taken over");
        return;
    };
    let first = writer.next_sequence();
    assert!(input.len() >= 11 || first == next);
    let mut reader = writer.reader(Start::Newest).expect("there is an end");
    let old = writer.reader(Start::Oldest);
    assert_eq!(reader.next_sequence(), first);
    let mut expected = first;
    let mut buffer = [0; 6000];
    for (round, length) in (0..150).zip([0, 8, 100, 3, 60, 17].into_iter().cycle()) {
        let payload = &[round as u8; 100][..length];
        let count = match round % 4 {
            0 => {
                let mut batch = writer.batch();
                batch.push(round, payload).expect("it fits");
                batch.push(round, payload).expect("it fits");
                assert_eq!(batch.publish(), expected);
                2
            }
            1 => {
                let mut claim = writer.claim(round, length).expect("it fits");
                claim.write(0, payload);
                assert_eq!(claim.publish(), expected);
                1
            }
            2 => {
                writer.claim(round, 100).expect("it fits").abandon();
                assert_eq!(writer.publish(round, payload), Ok(expected));
                1
            }
            _ => {
                assert_eq!(writer.publish(round, payload), Ok(expected));
                1
            }
        };
        for _ in 0..count {
            let read = reader.try_read(&mut buffer).expect("what this writer wrote is sound");
            let Read::Message(received) = read else { panic!("{read:?}") };
            assert_eq!((received.sequence, received.type_id), (expected, round));
            assert_eq!(&buffer[..received.length as usize], payload);
            expected += 1;
        }
    }
    if let Ok(old) = old {
        read_everything(&old);
    }
    // The ring has wrapped: nothing of the old content is left.
    let mut whole = writer.reader(Start::Oldest).expect("there is a beginning");
    while let Read::Message(_) = whole.try_read(&mut buffer).expect("all of it is sound") {}
    assert_eq!(whole.next_sequence(), expected);
}
