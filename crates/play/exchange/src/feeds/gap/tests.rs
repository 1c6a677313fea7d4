//! Each status of a response, without sockets.

use nanotape_types::Alpha;

use super::*;

/// A proxy of one unit with 1,000 messages, of which 900 are published, and one without any.
fn proxy(limits: GapLimits, unavailable: Chance) -> GapProxy {
    let mut day = Vec::new();
    for number in 1..=1_000u64 {
        day.extend([0, 9, 9]);
        day.extend(number.to_be_bytes());
    }
    let session = Alpha::new(*b"UNIT      ");
    let (mut writer, history) = History::of_memory(session, day);
    for index in 0..1_000 {
        if index == 900 {
            writer.publish(writer.next()).unwrap();
        }
        writer.push(index * 11, &[0; 9]).unwrap();
    }
    let (_, empty) = History::of_memory(session, Vec::new());
    GapProxy::new(vec![history, empty], limits, (unavailable, Rng::new(1, 1)), 1)
}

fn status(proxy: &mut GapProxy, unit: u8, first: u32, count: u16) -> GapStatus {
    proxy.request((unit, first, count), (&mut RequestUsage::default(), None), 0)
}

#[test]
fn a_request_is_checked_for_its_unit_its_count_and_its_range() {
    use GapStatus::{Accepted, CountLimit, InvalidUnit, OutOfRange};
    let mut proxy = proxy(GapLimits { range: 500, ..GapLimits::default() }, Chance::NEVER);
    for ((unit, first, count), expected) in [
        ((1, 401, 1), Accepted),
        ((1, 400, 1), OutOfRange),
        ((1, 801, 100), Accepted),
        ((1, 801, 101), CountLimit),
        ((1, 802, 100), OutOfRange),
        ((1, 900, 1), Accepted),
        ((1, 901, 1), OutOfRange),
        ((1, u32::MAX, 100), OutOfRange),
        ((1, 0, 1), OutOfRange),
        ((1, 500, 0), OutOfRange),
        ((2, 1, 1), OutOfRange),
        ((0, 1, 1), InvalidUnit),
        ((3, 1, 1), InvalidUnit),
        ((255, 1, u16::MAX), InvalidUnit),
    ] {
        let found = status(&mut proxy, unit, first, count);
        assert_eq!(found, expected, "unit {unit}, {count} from {first}");
    }
    let GapCounts { requests, accepted, messages, out_of_range, invalid_unit, .. } = proxy.counts();
    assert_eq!((requests, accepted, messages, out_of_range, invalid_unit), (14, 3, 102, 7, 3));
    let ranges: Vec<_> = std::iter::from_fn(|| proxy.next()).collect();
    let range = |first, count| GapRange { stream: 0, first, count };
    assert_eq!(ranges, [range(401, 1), range(801, 100), range(900, 1)]);
    assert_eq!(
        proxy.read(0, 401).map(|message| message[1..].to_vec()),
        Some(vec![0, 0, 0, 0, 0, 0, 1, 145])
    );
}

#[test]
fn a_unit_is_unavailable_by_a_fault_and_while_too_much_waits() {
    let mut dead = proxy(GapLimits::default(), Chance::ALWAYS);
    assert_eq!(status(&mut dead, 1, 1, 1), GapStatus::Unavailable);
    assert_eq!(status(&mut dead, 9, 1, 1), GapStatus::InvalidUnit);
    let mut full = proxy(GapLimits::default(), Chance::NEVER);
    for _ in 0..MOST_QUEUED {
        assert_eq!(status(&mut full, 1, 1, 1), GapStatus::Accepted);
    }
    assert_eq!(status(&mut full, 1, 1, 1), GapStatus::Unavailable);
    assert!(full.next().is_some());
    assert_eq!(status(&mut full, 1, 1, 1), GapStatus::Accepted);
}

#[test]
fn the_limits_of_a_session_outlast_its_connections() {
    let requests = RequestLimits { second: 2, minute: 100, day: 100 };
    let mut proxy = proxy(GapLimits { requests, ..GapLimits::default() }, Chance::NEVER);
    let mut of = |session| {
        let mut own = RequestUsage::default();
        [(); 3].map(|()| proxy.request((1, 1, 1), (&mut own, session), 0))
    };
    use GapStatus::{Accepted, SecondLimit};
    assert_eq!(of(Some(0)), [Accepted, Accepted, SecondLimit]);
    assert_eq!(of(Some(0)), [SecondLimit; 3]);
    assert_eq!(of(None), [Accepted, Accepted, SecondLimit]);
    assert_eq!(of(None), [Accepted, Accepted, SecondLimit]);
}
