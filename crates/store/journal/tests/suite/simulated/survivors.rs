//! Calls whose omission no test notices, each with the reason.

use crate::simulated::sites::What;

const ROOM: &str = "gives room back; readers stop at the end mark";
const PART: &str = "a part that stays is removed by the next try under its name, or by recovery";
const LESS_READ: &str = "a later recovery or sync does more than it needs to, and finds the same";

/// End of the file's path, the action, the line, and the reason why nothing fails without it.
pub(crate) const SURVIVORS: &[(&str, What, &str, &str)] = &[
    (
        "appender/exchange.rs",
        What::Shrink,
        "let _ = disk.shrink(&names::segment(number), bytes);",
        ROOM,
    ),
    (
        "appender.rs",
        What::Remove,
        "let _ = self.disk.remove(&names::segment(spare.header.number));",
        "the next appender uses a prepared segment that stays, or removes it",
    ),
    ("appender/prepare.rs", What::Remove, "let _ = disk.remove(&part);", PART),
    (
        "recovery.rs",
        What::Remove,
        "disk.remove(&part).map_err(JournalError::system(disk.path(&part), \"remove\"))?;",
        PART,
    ),
    (
        "recovery.rs",
        What::Remove,
        "let removed = self.disk.remove(&name);",
        "prepared only: the next segment with its number takes its name",
    ),
    ("appender/sync.rs", What::StoreInFile, "Ok(disk.store(name, at::SEALED, 1)?)", LESS_READ),
    ("recovery/write.rs", What::Store(0), "hints::store_synced(words, at);", LESS_READ),
    ("recovery/write.rs", What::Store(0), "hints::store_sync_pending(words, 0);", LESS_READ),
    ("recovery/write.rs", What::Store(0), "hints::store_boot(words, self.boot);", LESS_READ),
    ("segment/writer.rs", What::Store(0), "hints::store_boot(file.words(), boot);", LESS_READ),
    (
        "scan.rs",
        What::Store(0),
        "None => words[*at..][..ENTRY_WORDS].iter().rev().for_each(|word| word.store(0)),",
        "an index entry is a hint; `verify` reports it, and `repair.rs` of the tests repairs such indexes in files",
    ),
    ("repair.rs", What::Shrink, "let cut = self.disk.shrink(&name, position_bytes(end));", ROOM),
    (
        "segment/index.rs",
        What::Store(0),
        "entry[3].store(0);",
        "an index entry of which a part is seen does not check",
    ),
];
