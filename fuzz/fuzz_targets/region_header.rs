//! Any bytes as the header of a region: no panic, an accepted header is consistent, and a rejected
//! one gives a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_shm::{BYTE_ORDER_MARK, FIELDS, FORMAT_VERSION, HEADER_BYTES, Header, MAGIC};

fuzz_target!(|bytes: &[u8]| {
    parse(bytes);
    // Again as a file of this version and of full length, which random bytes rarely are.
    let mut header = vec![0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&BYTE_ORDER_MARK.to_ne_bytes());
    header[16..24].copy_from_slice(&FORMAT_VERSION.to_ne_bytes());
    let length = bytes.len().min(HEADER_BYTES - 24);
    header[24..24 + length].copy_from_slice(&bytes[..length]);
    parse(&header);
});

fn parse(bytes: &[u8]) {
    match Header::parse(bytes) {
        Ok(header) => {
            let stated = |name| {
                let at = FIELDS.iter().find(|field| field.2 == name).expect("a field").0;
                u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
            };
            let region_bytes = stated("region_bytes");
            assert!(region_bytes <= isize::MAX as u64);
            assert_eq!(region_bytes, HEADER_BYTES as u64 + 8 * header.spec.words as u64);
            assert_eq!(header.spec.words as u64, stated("payload_words"));
            assert_eq!(header.is_closed, stated("state") == 2);
            assert!(!header.owner_started.to_string().is_empty());
        }
        Err(refusal) => assert!(!refusal.to_string().contains('\n')),
    }
}
