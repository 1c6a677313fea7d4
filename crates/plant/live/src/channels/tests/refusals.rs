//! What follows a refusal of the Gap Request Proxy, by its reason.

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    Feed,
    channels::Pitch,
    pitch_tcp::RefusedFor,
    session::{Line, PacketOrigin, RequestSettings, SessionSettings},
};

use super::{
    super::{
        delivery::Wish,
        set::{ChannelSet, Refusal, SetSettings},
    },
    day::{MIDNIGHT_NS, Watcher, unit},
};

const MS: u64 = 1_000_000;
const TIMEOUT_NS: u64 = 200 * MS;

/// Message 2 of unit 1 is on no line. Its first request is refused at once, and so is each later
/// one. Returns how often it is requested before it is given up, and when, in ms.
fn given_up(lasts: RefusedFor) -> (u64, u64) {
    let requests = RequestSettings {
        timeout_ns: TIMEOUT_NS,
        retries: 2,
        budget_ns: 5_000 * MS,
        ..RequestSettings::default()
    };
    let session = SessionSettings { requests: Some(requests), ..SessionSettings::default() };
    let settings = SetSettings { session, has_images: [false; 256] };
    let mut set = ChannelSet::<Pitch>::new(Feed::Pitch, settings, MIDNIGHT_NS);
    let (mut engine, mut watcher) =
        (BookEngine::new(DefaultBooks::with_capacity(16)), Watcher::default());
    let mut handler = engine.live(&mut watcher);
    let (begin, mut requested) = (MIDNIGHT_NS, 0);
    for line in [Line::A, Line::B] {
        for first in [1, 3] {
            // A message of no known type changes no book.
            let packet = unit(1, first, &[vec![2, 0x99]]);
            set.packet(PacketOrigin::Line(line), (begin, begin), &packet, &mut handler);
        }
    }
    for ms in 0.. {
        let now_ns = begin + ms * MS;
        set.tick(now_ns, &mut handler);
        for wish in core::mem::take(&mut set.common.wishes) {
            let Wish::Request { key, first, .. } = wish else { panic!("{wish:?}") };
            requested += 1;
            set.refused(Refusal { key, first, lasts }, now_ns, &mut handler);
        }
        if set.progress(1).is_some_and(|(next, _)| next == 4) {
            return (requested, ms);
        }
    }
    unreachable!("the loop ends with the loss")
}

#[test]
fn what_may_not_be_there_yet_is_requested_once_more_after_a_timeout() {
    let (requested, ms) = given_up(RefusedFor::Perhaps);
    assert_eq!(requested, 2);
    assert!((200..210).contains(&ms), "{ms} ms");
}

#[test]
fn what_is_refused_for_good_is_given_up_at_once_and_other_requests_are_repeated() {
    let (requested, ms) = given_up(RefusedFor::Good);
    assert!(requested == 1 && ms < 10, "{requested} requests, {ms} ms");
    let (requested, ms) = given_up(RefusedFor::Now);
    assert!(requested > 5 && (5_000..7_000).contains(&ms), "{requested} requests, {ms} ms");
}
