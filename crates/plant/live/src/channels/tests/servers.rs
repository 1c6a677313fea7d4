//! The clients of the servers of PITCH, against each answer and against bytes of any kind.

use nanotape_feed::pitch_tcp::{
    GapLogin, PitchClosed, ProxyEvent, ProxySession, SILENCE_NS, SpinEnd, SpinExchange,
};
use nanotape_harness::Random;
use nanotape_wire::pitch_tcp::{GapStatus, LoginStatus, SpinStatus};

use super::{
    day::unit,
    exchange::{
        FromClient, available, gap_response, heartbeat, login_response, spin, take_messages,
    },
};

fn logged_in() -> ProxySession {
    let mut proxy = ProxySession::new(GapLogin::default());
    proxy.connected(1);
    assert_eq!(take_messages(&mut proxy.output().to_vec()), [FromClient::Login]);
    proxy.sent(proxy.output().len(), 1);
    proxy.receive(&login_response(LoginStatus::Accepted), 2, |event| {
        assert_eq!(event, ProxyEvent::LoggedIn);
    });
    proxy
}

#[test]
fn a_proxy_refuses_with_each_status_and_sends_messages_on_its_connection() {
    for status in [
        GapStatus::OutOfRange,
        GapStatus::DayLimit,
        GapStatus::MinuteLimit,
        GapStatus::SecondLimit,
        GapStatus::CountLimit,
        GapStatus::InvalidUnit,
        GapStatus::Unavailable,
    ] {
        let mut proxy = logged_in();
        let first = u64::from(u32::MAX) + 5;
        assert!(proxy.request(2, first, 9));
        let sent = take_messages(&mut proxy.output().to_vec());
        assert_eq!(sent, [FromClient::Gap { unit: 2, first: 5, count: 9 }]);
        let mut refused = Vec::new();
        // Of a request that was not sent, and then of this one, twice.
        for response in [(2, 6, 9), (1, 5, 9), (2, 5, 9), (2, 5, 9)] {
            proxy.receive(&gap_response(response, status), 3, |event| {
                refused.push(match event {
                    ProxyEvent::Refused { key, first, status } => (key, first, status),
                    other => panic!("{other:?}"),
                });
            });
        }
        assert_eq!(refused, [(2, first, status)]);
    }
    let (mut proxy, answer) = (logged_in(), unit(1, 7, &[vec![2, 0x99]]));
    let mut found = Vec::new();
    for byte in &answer {
        proxy.receive(&[*byte], 3, |event| match event {
            ProxyEvent::Packet(unit) => found.push(unit.to_vec()),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(found, [answer]);
}

#[test]
fn a_proxy_is_left_when_it_refuses_the_login_or_is_silent() {
    for status in [LoginStatus::NotAuthorised, LoginStatus::InUse, LoginStatus::InvalidSession] {
        let mut proxy = ProxySession::new(GapLogin::default());
        proxy.connected(1);
        proxy.receive(&login_response(status), 2, |event| panic!("{event:?}"));
        assert_eq!(proxy.closed(), Some(PitchClosed::Login(status)));
        assert!(!proxy.request(1, 1, 1));
    }
    let mut proxy = logged_in();
    proxy.poll(1_000_000_001);
    assert_eq!(take_messages(&mut proxy.output().to_vec()), [FromClient::Heartbeat]);
    proxy.receive(&heartbeat(0, 0), 4_000_000_000, |event| panic!("{event:?}"));
    proxy.poll(8_000_000_000);
    assert_eq!(proxy.closed(), None);
    proxy.poll(4_000_000_000 + SILENCE_NS);
    assert_eq!(proxy.closed(), Some(PitchClosed::Silence(SILENCE_NS)));
}

#[test]
fn an_image_is_requested_that_has_what_is_missing_and_refused_if_it_is_another() {
    let (time, add) = ([6, 0x20, 7, 0, 0, 0].to_vec(), {
        b"\x1a\x22\0\0\0\0\x09\0\0\0\0\0\0\0B\x64\0AAPL  \x5f\0\x01".to_vec()
    });
    let image = [time, add];
    let exchange = || {
        let mut exchange = SpinExchange::new(100, None);
        exchange.connected(1);
        assert!(matches!(exchange.receive(&available(98), 2), Ok(None)));
        assert!(exchange.output().is_empty(), "it lacks message 99");
        assert!(matches!(exchange.receive(&available(99), 2), Ok(None)));
        assert_eq!(take_messages(&mut exchange.output().to_vec()), [FromClient::Spin(99)]);
        exchange.sent(exchange.output().len(), 2);
        exchange
    };
    let found = exchange().receive(&spin(99, SpinStatus::Accepted, &image), 3).unwrap();
    let (found, next) = found.unwrap();
    assert_eq!((found.orders().len(), next), (1, 100));
    // After a refusal the next image is requested.
    for status in [SpinStatus::OutOfRange, SpinStatus::InProgress] {
        let mut exchange = exchange();
        assert!(matches!(exchange.receive(&spin(99, status, &[]), 3), Ok(None)));
        assert!(matches!(exchange.receive(&available(120), 3), Ok(None)));
        assert_eq!(take_messages(&mut exchange.output().to_vec()), [FromClient::Spin(120)]);
    }
    let mut short = spin(99, SpinStatus::Accepted, &image);
    short[8 + 6] += 1;
    let orders = SpinEnd::Orders { found: 1, expected: 2 };
    assert_eq!(exchange().receive(&short, 3), Err(orders));
    let clear = [image[0].clone(), vec![6, 0x97, 0, 0, 0, 0]];
    let ended = exchange().receive(&spin(99, SpinStatus::Accepted, &clear), 3);
    assert!(matches!(ended, Ok(None) | Err(_)), "{ended:?}");
}

#[test]
fn servers_that_send_bytes_of_any_kind_end_their_connection() {
    let mut random = Random::new(3);
    let parts = [
        available(u32::MAX),
        available(0),
        spin(u32::MAX, SpinStatus::Accepted, &[vec![6, 0x20, 0xff, 0xff, 0xff, 0xff]]),
        gap_response((0, 0, 0), GapStatus::DayLimit),
        gap_response((255, u32::MAX, u16::MAX), GapStatus::OutOfRange),
        login_response(LoginStatus::Accepted),
        heartbeat(0, 0),
        unit(9, u64::from(u32::MAX), &[vec![2, 9], vec![2, 9]]),
    ];
    for _ in 0..20_000 {
        let mut proxy = logged_in();
        assert!(proxy.request(1, u64::MAX, u16::MAX) && !proxy.request(1, 0, 1));
        let mut exchange = SpinExchange::new(1 + random.below(u64::MAX), None);
        exchange.connected(1);
        for _ in 0..6 {
            let mut bytes = parts[random.below(parts.len() as u64) as usize].clone();
            if random.below(2) == 0 {
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] = random.below(256) as u8;
            }
            bytes.truncate(1 + random.below(bytes.len() as u64) as usize);
            proxy.receive(&bytes, 3, |_| {});
            if exchange.receive(&bytes, 3).is_err() {
                break;
            }
        }
    }
}
