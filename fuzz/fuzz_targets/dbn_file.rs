//! Any bytes as a DBN file: no panic, the entries of a run are the same when the runs before it are
//! skipped, and the numbers of events do not decrease.
//!
//! The first byte of the input chooses the bytes before its rest: bits 0 and 1 the version of the
//! metadata, 0 for none; bit 2 whether records have the time of their sending.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use nanotape_feed::DaySource;
use nanotape_history::{DbnStream, RecordStream, RecordedRun};
use nanotape_market::{Damage, EventHandler, EventSource, MarketEvent, Origin, Position};
use nanotape_plant::records::dbn::{Dataset, Metadata, SType, encode::DbnMetadataEncoder};
use nanotape_tape::Progress;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let mut bytes = metadata(choice);
    bytes.extend(rest);
    let open = || DbnStream::new(DaySource::memory("input", bytes.clone()));
    let Ok(stream) = open() else { return };
    let (all, error) = entries(stream);
    let starts: Vec<_> =
        (0..all.len()).filter(|&entry| all[entry].contains("notice: Start(")).collect();
    for (place, &start) in starts.iter().enumerate().take(8) {
        let mut stream = open().expect("it was opened before");
        let run = place as u64 + 1;
        assert_eq!(stream.skip_to_run(run).ok(), Some(run));
        assert_eq!(entries(stream), (all[start..].to_vec(), error.clone()));
    }
    let mut numbers = Numbers(0);
    let mut run = RecordedRun::new(open().expect("it was opened before"));
    let Ok((summary, fault)) = run.read(&mut numbers, |_| ());
    assert!(error.is_none() || fault.is_some() || summary.next_run.is_some());
});

/// What is visited, and the error.
fn entries(mut stream: DbnStream) -> (Vec<String>, Option<String>) {
    let mut seen = Vec::new();
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

/// The number of the last event.
struct Numbers(u64);

impl EventHandler for Numbers {
    type Hint = ();

    fn event(&mut self, at: Position, _: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        assert!(at.number >= self.0);
        self.0 = at.number;
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        panic!("{damage}");
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
