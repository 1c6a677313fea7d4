//! The functions of the header. Each is safe: its arguments have types that C can express, and
//! `error::answer` makes its result, or its panic, a status.
//!
//! A pointer to a structure is an `Option` of a reference, which is NULL for `None`; what the
//! header says about pointers is what makes these references valid. A result is written only if
//! the function succeeds; a new handle is NULL otherwise.

use std::{ffi::c_char, mem::MaybeUninit};

use crate::{
    Bbo, Map, MapEntry, MapShape, Mbo, NT_ABI, NT_SYMBOL_BYTES, Reader, ReaderItem, Room, Status,
    Stock, TapOptions, Text, Trade, Words,
    error::{Error, answer, begin, enter, last_line, require_begun},
    reader::start_of,
    records::record_of,
};

/// A place for a result of a caller: NULL, or memory that may be uninitialised.
type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// A place that the caller has.
fn place<'a, T>(
    out: Option<&'a mut MaybeUninit<T>>,
    argument: &str,
) -> Result<&'a mut MaybeUninit<T>, Error> {
    out.ok_or_else(|| Error::null(argument))
}

/// What a handle is for.
fn handle<'a, T>(handle: Option<&'a T>, argument: &str) -> Result<&'a T, Error> {
    handle.ok_or_else(|| Error::null(argument))
}

/// Opens something, and gives the caller the handle, or NULL.
fn open<T>(out: Out<'_, Option<Box<T>>>, open: impl FnOnce() -> Result<T, Error>) -> Status {
    answer(|| {
        let out = place(out, "the place for the handle")?;
        out.write(None);
        require_begun()?;
        out.write(Some(Box::new(open()?)));
        Ok(())
    })
}

/// The version of the library, with its commit: "0.1.0 (0b1ff35 2026-11-23)".
#[unsafe(no_mangle)]
pub extern "C" fn nt_version() -> *const c_char {
    concat!(env!("NANOTAPE_VERSION"), "\0").as_ptr().cast()
}

/// The ABI of the library, which NT_ABI of the header must be.
#[unsafe(no_mangle)]
pub extern "C" fn nt_abi() -> u32 {
    NT_ABI
}

/// Compares the header with the library. Call nt_init(NT_ABI) once, before anything is opened.
/// From then on a ring, a map or a journal that is truncated while it is read does not end the
/// process: the library handles SIGBUS, and passes other ones to the handler of before. Install a
/// handler of your own before, and do not block SIGBUS. That holds for 1,024 files at a time.
#[unsafe(no_mangle)]
pub extern "C" fn nt_init(abi: u32) -> Status {
    answer(|| begin(abi))
}

/// One line about the last function that failed in this thread, or "". It stays until the next one
/// fails.
#[unsafe(no_mangle)]
pub extern "C" fn nt_last_error() -> *const c_char {
    last_line()
}

/// Opens a ring of any messages: `name` is its name, or its path if it contains a slash. A reader
/// keeps nothing from the writer, which does not wait for it.
#[unsafe(no_mangle)]
pub extern "C" fn nt_ring_open(
    name: Text,
    start: i32,
    at: u64,
    reader: Option<&mut MaybeUninit<Option<Box<Reader>>>>,
) -> Status {
    open(reader, || Reader::of_ring(name.name("name")?, start_of(start, at)?))
}

/// Opens a journal of any messages, in this folder.
#[unsafe(no_mangle)]
pub extern "C" fn nt_journal_open(
    folder: Text,
    start: i32,
    at: u64,
    reader: Option<&mut MaybeUninit<Option<Box<Reader>>>>,
) -> Status {
    open(reader, || Reader::of_journal(folder.name("folder")?, start_of(start, at)?))
}

/// Opens the ring of a plant with the symbols of its stocks, or the journal of one if `name` is a
/// folder. `options` is NULL or a selection of records. Records are valid, and have a type of
/// `nt_record`: those of later versions are left out. What a ring has overwritten before is a loss,
/// also for NT_START_OLDEST.
#[unsafe(no_mangle)]
pub extern "C" fn nt_tap_open(
    name: Text,
    options: Option<&TapOptions>,
    start: i32,
    at: u64,
    reader: Option<&mut MaybeUninit<Option<Box<Reader>>>>,
) -> Status {
    open(reader, || Reader::of_tap(name.name("name")?, options, start_of(start, at)?))
}

/// Gives the next item. If there is none it waits up to the timeout, and gives NT_KIND_NOTHING
/// then: at once for 0, never for UINT64_MAX. It polls without a sleep for some microseconds, and
/// then every millisecond. A signal does not end the wait.
///
/// After NT_STATUS_BAD_RECORD reading goes on behind that record. After another error the next call
/// tries again.
#[unsafe(no_mangle)]
pub extern "C" fn nt_reader_next(
    reader: Option<&Reader>,
    timeout_ns: u64,
    item: Option<&mut MaybeUninit<ReaderItem>>,
) -> Status {
    answer(|| {
        let item = place(item, "item")?;
        item.write(enter(&handle(reader, "reader")?.0)?.next(timeout_ns)?);
        Ok(())
    })
}

/// The number of the next record: a reader that is opened with NT_START_SEQUENCE and this number
/// goes on there.
#[unsafe(no_mangle)]
pub extern "C" fn nt_reader_next_sequence(
    reader: Option<&Reader>,
    sequence: Option<&mut MaybeUninit<u64>>,
) -> Status {
    answer(|| {
        let sequence = place(sequence, "sequence")?;
        sequence.write(enter(&handle(reader, "reader")?.0)?.next_sequence());
        Ok(())
    })
}

/// The symbol of a stock with this number, as text: `symbol` has room for NT_SYMBOL_BYTES. Of a
/// reader of nt_tap_open. A number is another stock in another run of a plant: this is the one of
/// the newest record that the reader has read. Records have their symbols with them.
#[unsafe(no_mangle)]
pub extern "C" fn nt_reader_symbol(
    reader: Option<&Reader>,
    instrument_id: u32,
    symbol: Option<&mut MaybeUninit<[c_char; NT_SYMBOL_BYTES]>>,
) -> Status {
    answer(|| {
        let symbol = place(symbol, "symbol")?;
        symbol.write(enter(&handle(reader, "reader")?.0)?.symbol(instrument_id)?);
        Ok(())
    })
}

/// Closes a reader, which no thread may be in a call with. Its handle and the bytes of its items
/// must not be used afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nt_reader_close(reader: Option<Box<Reader>>) {
    // A panic has no other way out.
    let _ = answer(|| {
        drop(reader);
        Ok(())
    });
}

/// The record of an item as an event of an order; NULL if it is another one.
#[unsafe(no_mangle)]
pub extern "C" fn nt_item_mbo(item: Option<&ReaderItem>) -> *const Mbo {
    record_of(item)
}

/// The record of an item as best prices; NULL if it is another one.
#[unsafe(no_mangle)]
pub extern "C" fn nt_item_bbo(item: Option<&ReaderItem>) -> *const Bbo {
    record_of(item)
}

/// The record of an item as a trade; NULL if it is another one.
#[unsafe(no_mangle)]
pub extern "C" fn nt_item_trade(item: Option<&ReaderItem>) -> *const Trade {
    record_of(item)
}

/// Opens a latest-value map: `name` is its name, or its path if it contains a slash.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_open(
    name: Text,
    map: Option<&mut MaybeUninit<Option<Box<Map>>>>,
) -> Status {
    open(map, || Map::open(name.name("name")?))
}

/// What a map is made for.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_shape(
    map: Option<&Map>,
    shape: Option<&mut MaybeUninit<MapShape>>,
) -> Status {
    answer(|| {
        let shape = place(shape, "shape")?;
        shape.write(enter(&handle(map, "map")?.0)?.shape());
        Ok(())
    })
}

/// Copies the value of a key: all of its words at one moment. The numbers of words are those of the
/// map. `version` is NULL, or gets how often the value was set. NT_STATUS_NOT_FOUND: the key is not
/// there.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_get(
    map: Option<&Map>,
    key: Words,
    key_words: usize,
    value: Room,
    value_words: usize,
    version: Option<&mut MaybeUninit<u32>>,
) -> Status {
    answer(|| {
        let mut map = enter(&handle(map, "map")?.0)?;
        let found = map.get((key, key_words), (value, value_words))?;
        version.map(|version| version.write(found));
        Ok(())
    })
}

/// Copies the newest state of a stock from the map of a plant (`nanotape run --latest`). `symbol`
/// is that of the stock, or "*" for the market as a whole.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_stock(
    map: Option<&Map>,
    publisher_id: u16,
    symbol: Text,
    stock: Option<&mut MaybeUninit<Stock>>,
) -> Status {
    answer(|| {
        let stock = place(stock, "stock")?;
        let mut map = enter(&handle(map, "map")?.0)?;
        stock.write(map.stock(publisher_id, symbol.bytes("symbol")?)?);
        Ok(())
    })
}

/// Gives the next entry of a map, in no order; its key is NULL after the last one. An entry that is
/// there all the time comes once; one that is inserted or removed meanwhile comes once or not.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_next(
    map: Option<&Map>,
    entry: Option<&mut MaybeUninit<MapEntry>>,
) -> Status {
    answer(|| {
        let entry = place(entry, "entry")?;
        entry.write(enter(&handle(map, "map")?.0)?.next()?);
        Ok(())
    })
}

/// Begins again with the first entry.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_rewind(map: Option<&Map>) -> Status {
    answer(|| {
        enter(&handle(map, "map")?.0)?.rewind();
        Ok(())
    })
}

/// Finds out whether the file of a map was removed, replaced or truncated (NT_STATUS_GONE), which
/// other functions do not. A program that runs for long calls it now and then.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_check(map: Option<&Map>) -> Status {
    answer(|| enter(&handle(map, "map")?.0)?.check())
}

/// Makes words of a text, as a key of a map of `nanotape latest --keys text` has it.
/// NT_STATUS_WRONG_ARGUMENT if it is too long for so many words.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_text_key(text: Text, key: Room, key_words: usize) -> Status {
    let words_for = |bytes: usize| bytes.div_ceil(8).max(1);
    key_of(text, key, key_words, words_for, nanotape_latest::pack_text)
}

/// The same for a map of `nanotape latest --keys bytes`, whose first word is the length.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_bytes_key(text: Text, key: Room, key_words: usize) -> Status {
    key_of(text, key, key_words, nanotape_latest::words_for_bytes, nanotape_latest::pack_bytes)
}

fn key_of(
    text: Text,
    key: Room,
    key_words: usize,
    words_for: impl FnOnce(usize) -> usize,
    pack: impl FnOnce(&[u8], &mut [u64]) -> bool,
) -> Status {
    answer(|| {
        let mut words = vec![0; key_words.min(nanotape_latest::MOST_WORDS)];
        key.check(key_words, words.len(), "key")?;
        let text = text.bytes("text")?;
        match !words.is_empty() && pack(text, &mut words) {
            true => key.set(key_words, &words, "key"),
            false => Err(Error::wrong(format!(
                "a text of {} bytes needs {} words, but the key has {key_words}",
                text.len(),
                words_for(text.len())
            ))),
        }
    })
}

/// Closes a map, which no thread may be in a call with. Its handle and the words of its entries
/// must not be used afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nt_latest_close(map: Option<Box<Map>>) {
    let _ = answer(|| {
        drop(map);
        Ok(())
    });
}
