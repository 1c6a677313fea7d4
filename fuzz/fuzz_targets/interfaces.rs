//! Any bytes under any type, dispatched: a call or an error. A call that is written again is a
//! message of this version, which does not change from then on.
//!
//! The first two bytes of the input are the type.
#![no_main]

#[rustfmt::skip]
#[path = "../../crates/base/interface/tests/suite/generated/greetings_1.rs"]
mod greetings_1;
#[rustfmt::skip]
#[path = "../../crates/base/interface/tests/suite/generated/greetings_2.rs"]
mod greetings_2;

use libfuzzer_sys::fuzz_target;
use nanotape_interface::{DispatchError, Encoded, Message, UtcNanos};
use nanotape_records::Notice;

fuzz_target!(|input: &[u8]| {
    let [low, high, payload @ ..] = input else { return };
    // The types of the interface for tests, and any other.
    let type_id = match *high {
        0 => 0x100 + u16::from(low % 8),
        _ => u16::from_le_bytes([*low, *high]),
    };
    let mut buffer = vec![[0; 8]; payload.len().div_ceil(8) + 32];
    if let Some(bytes) = checked(type_id, first(type_id, payload, &mut buffer)) {
        assert_eq!(first(type_id, &bytes, &mut buffer), Ok(bytes));
    }
    if let Some(bytes) = checked(type_id, second(type_id, payload, &mut buffer)) {
        assert_eq!(second(type_id, &bytes, &mut buffer), Ok(bytes));
    }
    if let Some(notice) = Notice::decode(type_id, payload) {
        let mut buffer = Notice::buffer();
        let bytes = notice.encode(7, &mut buffer);
        assert_eq!(Notice::decode(type_id, bytes), Some(notice));
    }
});

fn checked(type_id: u16, call: Result<Vec<u8>, DispatchError>) -> Option<Vec<u8>> {
    if let Err(error) = &call {
        assert_eq!(error.shape.number, type_id);
        assert!(error.to_string().starts_with("message 7: type 0x01"), "{error}");
    }
    call.ok()
}

macro_rules! again {
    ($name:ident, $version:ident) => {
        fn $name(
            type_id: u16,
            payload: &[u8],
            buffer: &mut [[u8; 8]],
        ) -> Result<Vec<u8>, DispatchError> {
            let message = Message { sequence: 7, type_id, ts: None, payload };
            let mut encoded = Encoded::new(buffer);
            let mut writer = $version::GreetingsWriter::new(&mut encoded, UtcNanos::new(0));
            $version::dispatch(&message, &mut writer)?.expect("the buffer has room");
            assert_eq!(encoded.type_id(), type_id);
            Ok(encoded.payload().to_vec())
        }
    };
}

again!(first, greetings_1);
again!(second, greetings_2);
