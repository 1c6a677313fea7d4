//! Any words in place of a journal, before or after a reboot: an appender continues after the valid
//! part or reports why not, and its excerpts can be read.
#![no_main]

mod journal;

use journal::{BOOT, Memory, options, read_everything};
use libfuzzer_sys::fuzz_target;
use nanotape_journal::{Appender, Start, Tail, Tailer};

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    BOOT.with(|boot| boot.set(1));
    let disk = Memory::journal();
    disk.lay(input);
    BOOT.with(|boot| boot.set(1 + u64::from(which % 2)));
    let appended = Appender::open_on(disk.clone(), &options()).and_then(|mut appender| {
        let sequence = appender.append(9, 5_000, b"behind it")?;
        appender.roll()?;
        appender.append(9, 6_000, b"and behind that")?;
        Ok(sequence)
    });
    if let Ok(sequence) = appended {
        let mut tailer = Tailer::open_on(disk.clone(), Start::Sequence(sequence)).expect("there");
        for expected in [&b"behind it"[..], b"and behind that"] {
            match tailer.next().expect("just written") {
                Tail::Excerpt(excerpt) => assert_eq!(excerpt.to_vec(), expected),
                other => panic!("{other:?}"),
            }
        }
    }
    read_everything(&disk, input);
});
