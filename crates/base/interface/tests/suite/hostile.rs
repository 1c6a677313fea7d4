//! Any bytes under any type: a call or an error, and no panic.

use nanotape_interface::{Encoded, Misfit, UtcNanos, WriteError};
use proptest::{collection::vec, prelude::*};

use crate::{
    calls::{Recorded, message},
    generated::{greetings_1, greetings_2},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// A message that is dispatched to a writer is a message of this version, which does not change
    /// if it is dispatched again.
    #[test]
    fn any_bytes_are_a_call_or_an_error(
        type_id in 0xFF_u16..0x107,
        payload in vec(prop_oneof![0_u8..50, any::<u8>()], 0..200),
    ) {
        let again = |type_id: u16, payload: &[u8]| {
            let mut buffer = [[0; 8]; 64];
            let mut encoded = Encoded::new(&mut buffer);
            let mut writer = greetings_2::GreetingsWriter::new(&mut encoded, UtcNanos::new(0));
            let call = greetings_2::dispatch(&message(type_id, payload), &mut writer);
            call.map(|written| {
                assert_eq!(written, Ok(0));
                (encoded.type_id(), encoded.payload().to_vec())
            })
        };
        match again(type_id, &payload) {
            Ok((of, bytes)) => {
                prop_assert_eq!(of, type_id);
                prop_assert_eq!(again(of, &bytes), Ok((of, bytes)));
            }
            Err(error) => {
                prop_assert_eq!((error.sequence, error.shape.number), (9, type_id));
                prop_assert!(error.to_string().starts_with("message 9: type 0x01"), "{error}");
            }
        }
    }
}

fn refused(type_id: u16, payload: &[u8]) -> String {
    greetings_2::dispatch(&message(type_id, payload), &mut Recorded).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_message_the_method_and_the_lengths() {
    assert_eq!(
        refused(0x101, &[0; 13]),
        "message 9: type 0x0101 (Greetings.met), 13 bytes of fields, expected 14, 31, 36 or more"
    );
    assert_eq!(
        refused(0x102, b"sender"),
        "message 9: type 0x0102 (Greetings.said), 6 bytes of fields, expected 16, 24 or more"
    );
    let mut said = [0; 80];
    for (offset, problem) in [
        (15, "15 bytes of fields, expected 16, 24 or more"),
        (17, "17 bytes of fields, expected 16, 24 or more"),
        (24, "a tail of 56 bytes, at most 40"),
        (31, "the tail begins at byte 31 of 80, expected a multiple of 8"),
        (81, "the tail begins at byte 81 of 80, expected a multiple of 8"),
        (0xFF, "the tail begins at byte 255 of 80, expected a multiple of 8"),
    ] {
        said[6] = offset;
        assert_eq!(
            refused(0x102, &said),
            format!("message 9: type 0x0102 (Greetings.said), {problem}")
        );
    }
}

/// The limits of a writer are those of readers.
#[test]
fn a_tail_that_readers_refuse_is_not_written() {
    let mut buffer = [[0; 8]; 8];
    let mut encoded = Encoded::new(&mut buffer);
    let mut writer = greetings_1::GreetingsWriter::new(&mut encoded, UtcNanos::new(0));
    let who = nanotape_interface::types::Alpha::new(*b"sender");
    use greetings_1::Greetings as _;
    assert_eq!(writer.said(who, 1, &[7; 40]), Ok(0));
    let refused = writer.said(who, 1, &[7; 41]).unwrap_err();
    assert!(matches!(refused, WriteError::Tail { found: 41, most: 40, .. }));
    assert_eq!(refused.to_string(), "Greetings.said: a tail of 41 bytes, at most 40");
    assert_eq!(encoded.payload().len(), 56, "the message before is still there");

    let mut small = [[0; 8]; 2];
    let mut encoded = Encoded::new(&mut small);
    let mut writer = greetings_1::GreetingsWriter::new(&mut encoded, UtcNanos::new(0));
    let refused = writer.said(who, 1, b"x").unwrap_err();
    assert_eq!(refused.to_string(), "a message of 17 bytes in a buffer of 16");
}

#[test]
fn a_problem_is_a_value_that_programs_can_match() {
    let error = greetings_2::dispatch(&message(0x101, &[]), &mut Recorded).unwrap_err();
    assert_eq!(error.problem, Misfit::Length { found: 0 });
    assert_eq!((error.shape.length_bytes, error.shape.earlier), (36, &[14, 31][..]));
}
