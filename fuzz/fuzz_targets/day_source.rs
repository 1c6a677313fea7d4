//! Every source on any bytes: uncompressed bytes give the same result through a pipe as from
//! memory; compressed ones may only fail.
#![no_main]

mod seen;

use libfuzzer_sys::fuzz_target;
use nanotape_feed::{Compression, DaySource, DaySummary, read_day};
use seen::Seen;

fuzz_target!(|bytes: &[u8]| {
    let input = std::io::Cursor::new(bytes.to_vec());
    let (seen, summary) = read(DaySource::stream("input".into(), input, None).unwrap());
    if Compression::of(bytes) == Compression::None {
        assert!(summary.fault.is_none());
        let (expected, whole) = read(DaySource::memory("input", bytes.to_vec()));
        assert_eq!(seen, expected);
        assert_eq!((summary.end, summary.bytes), (whole.end, whole.bytes));
    }
});

fn read(mut source: DaySource) -> (Seen, DaySummary) {
    let mut seen = Seen::default();
    let summary = read_day(&mut source, &mut seen, |_| ()).unwrap();
    (seen, summary)
}
