//! Any words in place of a journal, or any bytes in place of a compressed segment: tailers from all
//! positions, in both directions, return a result or an error.
#![no_main]

mod journal;

use journal::{Memory, read_everything};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    let disk = Memory::journal();
    if which % 8 == 0 {
        disk.put("0000000009.segment.zst", input);
    } else {
        disk.lay(input);
    }
    read_everything(&disk, input);
});
