//! Any bytes as a DBN file, through both book structures: no panic, and equal results. The same
//! bytes from a pipe give the same entries and the same error.
//!
//! The first byte of the input chooses the bytes before its rest: bits 0 and 1 the version of the
//! metadata, 0 for none; bit 2 whether records have the time of their sending.
#![no_main]

use std::{io::Cursor, ops::ControlFlow};

use libfuzzer_sys::fuzz_target;
use nanotape_book::{DefaultBooks, PlainBooks};
use nanotape_feed::DaySource;
use nanotape_history::{DbnError, DbnStream, RecordStream, RecordedRun};
use nanotape_plant::{
    BookEngine,
    records::dbn::{Dataset, Metadata, SType, encode::DbnMetadataEncoder},
};
use nanotape_tape::Progress;
use nanotape_types::{Side, StockLocate};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let mut bytes = metadata(choice);
    bytes.extend(rest);
    let memory = || DbnStream::new(DaySource::memory("input", bytes.clone()));
    let pipe = DaySource::stream("input".to_owned(), Cursor::new(bytes.clone()), None);
    assert_eq!(entries(memory()), entries(DbnStream::new(pipe.expect("a thread"))));
    let (Ok(first), Ok(second)) = (memory(), memory()) else { return };
    let mut plant = BookEngine::new(DefaultBooks::with_capacity(1));
    let Ok(_) = plant.run(&mut RecordedRun::new(first), &mut (), |_| ());
    let mut plain = BookEngine::new(PlainBooks::with_capacity(1));
    let Ok(_) = plain.run(&mut RecordedRun::new(second), &mut (), |_| ());
    assert_eq!(plant.books().anomalies(), plain.books().anomalies());
    for locate in StockLocate::all() {
        let (book, other) = (plant.books().book(locate), plain.books().book(locate));
        for side in Side::BOTH {
            assert!(book.depth(side).eq(other.depth(side)));
        }
    }
});

/// What is visited, and the error.
fn entries(stream: Result<DbnStream, DbnError>) -> (Vec<String>, Option<String>) {
    let mut seen = Vec::new();
    let mut stream = match stream {
        Ok(stream) => stream,
        Err(error) => return (seen, Some(error.to_string())),
    };
    loop {
        let polled = stream.poll(|entry| {
            seen.push(format!("{entry:?}"));
            ControlFlow::Continue(())
        });
        match polled {
            Ok(Progress::Nothing) => return (seen, None),
            Ok(_) => {}
            Err(error) => return (seen, Some(error.to_string())),
        }
    }
}

fn metadata(choice: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let version = choice % 4;
    if version == 0 {
        return bytes;
    }
    let mut metadata = Metadata::builder()
        .version(version)
        .dataset(Dataset::XnasItch)
        .schema(None)
        .start(1_577_718_000_000_000_000)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .build();
    metadata.ts_out = choice & 4 != 0;
    DbnMetadataEncoder::new(&mut bytes).encode(&metadata).expect("metadata of a known version");
    bytes
}
