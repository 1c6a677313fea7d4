/* Reads the rings, the journals and the latest-value maps of nanotape. docs/c.md is the guide.
 *
 * Written from the source of crates/programs/capi: edit that, not this.
 *
 * Results: a function gives NT_STATUS_OK or what went wrong, and nt_last_error() has a line about
 * it. A result is written only with NT_STATUS_OK; a new handle is NULL otherwise. NULL and numbers
 * out of range are NT_STATUS_WRONG_ARGUMENT, except where NULL is said to be allowed.
 *
 * Pointers: a pointer that is not NULL points to a whole value that no other thread changes during
 * the call; text ends with a 0. A handle is one that was opened and not closed.
 *
 * Threads: a handle is of one thread at a time. A call while another thread is in one with the same
 * handle is NT_STATUS_WRONG_ARGUMENT. Different handles have nothing in common. nt_last_error() is
 * of the thread. */


#ifndef NANOTAPE_H
#define NANOTAPE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

// The version of the functions and structures of this header. It changes with each change that a
// compiled program would notice.
#define NT_ABI 1

// Bytes of a symbol: at most eight letters, and at least one 0.
#define NT_SYMBOL_BYTES 10

// A price that does not exist: a side without orders.
#define NT_NO_PRICE INT64_MAX

// A time that does not exist.
#define NT_NO_TIME UINT64_MAX

// A number of shares that does not fit into 32 bits.
#define NT_NO_SIZE UINT32_MAX

// A flag: the last record of its kind for a message of the exchange.
#define NT_F_LAST 128

// A flag: the record of the best level of a side, which has no other.
#define NT_F_TOB 64

// A flag: the record is of a snapshot.
#define NT_F_SNAPSHOT 32

// A flag: the record is of a price level, and of no order.
#define NT_F_MBP 16

// A flag: the book of the stock may be wrong.
#define NT_F_MAYBE_BAD_BOOK 4

// A flag: an order that has more shares, and keeps its place.
#define NT_F_KEEPS_PLACE 2

// The result of a function. `nt_last_error` has a line about each one that is not NT_STATUS_OK.
enum nt_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The function did what it says.
    NT_STATUS_OK = 0,
    // An argument is NULL or wrong, the handle is in use by another thread, or `nt_init` was not
    // called: an error of the calling program.
    NT_STATUS_WRONG_ARGUMENT = 1,
    // There is no such ring, journal, map, record, key or name. What a plant writes may come
    // later.
    NT_STATUS_NOT_FOUND = 2,
    // The file of a ring or a map was removed, replaced or truncated: open it again.
    NT_STATUS_GONE = 3,
    // One record is not valid, and was left out: its number is in the line. The items before it
    // came before, and reading goes on after it.
    NT_STATUS_BAD_RECORD = 4,
    // The memory or the file is damaged, or of a version that this library cannot read.
    NT_STATUS_DAMAGED = 5,
    // A system call failed, such as for a missing permission.
    NT_STATUS_FAILED = 6,
    // The header and the library are of different versions.
    NT_STATUS_OTHER_ABI = 7,
    // A mistake in nanotape. Please report it with the line of `nt_last_error`.
    NT_STATUS_BUG = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nt_status nt_status;
#else
typedef int32_t nt_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an item is.
enum nt_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing came within the time.
    NT_KIND_NOTHING = 0,
    // A record: the message with the number `sequence`.
    NT_KIND_RECORD = 1,
    // The records from `sequence` to `last` are lost: they were overwritten before they could be
    // read, or the journal does not have them. Reading goes on after them. A tap that selects
    // symbols also gives it for the first record of a run whose names are gone: no record of that
    // run can be selected.
    NT_KIND_LOST = 2,
    // The records from `sequence` to `last` are other ones than the reader has had: the journal
    // lost its end with the power of the machine. Reading goes on with the first of them.
    NT_KIND_REUSED = 3,
    // The reading of `sequence` to `last` in the journal of a tap is over: they came, or were
    // lost, before this item. The next ones come from the ring.
    NT_KIND_HEALED = 4,
    // The writer has ended, and everything that it wrote was read: `end` says how. A reader that
    // goes on gets the records of the next writer.
    NT_KIND_END = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nt_kind nt_kind;
#else
typedef int32_t nt_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a writer has ended.
enum nt_end
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The item is no end.
    NT_END_NONE = 0,
    // It closed the ring or the journal, or no writer has it now.
    NT_END_CLOSED = 1,
    // It was killed, or crashed.
    NT_END_KILLED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nt_end nt_end;
#else
typedef int32_t nt_end;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Types of the records of a plant.
enum nt_record
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint16_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A trade: `nt_trade`.
    NT_RECORD_TRADE = 0,
    // The best prices of a stock after a change: `nt_bbo`.
    NT_RECORD_BBO = 1,
    // A trading state, or an event of the market.
    NT_RECORD_STATUS = 18,
    // A stock of the day.
    NT_RECORD_DEFINITION = 19,
    // An auction before it takes place.
    NT_RECORD_IMBALANCE = 20,
    // An event of an order: `nt_mbo`.
    NT_RECORD_MBO = 160,
    // A part of the input of the plant is missing or damaged.
    NT_RECORD_GAP = 65520,
    // A message did not fit the book of its stock.
    NT_RECORD_TAINT = 65521,
    // A plant has started: books are empty, and numbers of stocks have new meanings.
    NT_RECORD_START = 65522,
    // A plant has stopped.
    NT_RECORD_STOP = 65523,
    // Messages of a session are missing on every line, or what became of them.
    NT_RECORD_SESSION_GAP = 65524,
    // Any book may lack messages from now on.
    NT_RECORD_SUSPECT = 65525,
    // A book is that of the exchange again, or all of them.
    NT_RECORD_RESTORED = 65526,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nt_record nt_record;
#else
typedef uint16_t nt_record;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where a reader begins.
enum nt_start
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // At the oldest record that is there.
    NT_START_OLDEST = 0,
    // With the next record that is written.
    NT_START_NEWEST = 1,
    // With the record that has the number `at`. If it is gone, the first item is a loss.
    NT_START_SEQUENCE = 2,
    // With the first record of the time `at` or later, in nanoseconds since 1970: in a journal.
    NT_START_TIME = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nt_start nt_start;
#else
typedef int32_t nt_start;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A latest-value map. One thread at a time may use it.
typedef struct nt_latest nt_latest;

// A reader of a ring, a journal or a plant. One thread at a time may use it.
typedef struct nt_reader nt_reader;

// Options of a tap. All zeros are a tap of all records of all stocks, without a journal.
typedef struct {
    // The symbols of stocks, such as "AAPL,MSFT"; "*" stands for any letters. NULL: all stocks.
    // Records of no stock, such as the phase of the market, always come.
    const char * symbols;
    // The kinds of records, such as "bbo,trades": mbo, bbo, trades, status, definitions,
    // imbalances. NULL: all kinds. What the plant reports about itself always comes.
    const char * records;
    // The folder of the journal that records the ring: what the ring has overwritten comes from
    // there. NULL: it is lost. NT_STATUS_NOT_FOUND until there is a journal.
    const char * journal;
    // How long to wait for a recorder that is behind or dead, before its records are lost.
    uint64_t patience_ns;
} nt_tap_options;

// An item of a reader.
typedef struct {
    // What it is: one of `nt_kind`.
    int32_t kind;
    // Of a record, its type: one of `nt_record` in the records of a plant.
    uint16_t record_type;
    // Of a record of a tap, the symbol of its stock; "" if it has none, or it is not known.
    char symbol[NT_SYMBOL_BYTES];
    // The number of a record. Of other items, that of the first record that they are about.
    uint64_t sequence;
    // The number of the last record that the item is about.
    uint64_t last;
    // Of a record of `nt_journal_open`, its time: nanoseconds since 1970. Otherwise 0.
    uint64_t time_ns;
    // The bytes of a record: a copy, at an address that is a multiple of 8. They stay as they are
    // until the next call with the reader. NULL of other items, and of a record without bytes.
    const uint8_t *bytes;
    // How many bytes.
    size_t length;
    // How a writer has ended: one of `nt_end`.
    int32_t end;
} nt_item;

// The header of every record.
typedef struct {
    // Length of the record, in units of four bytes.
    uint8_t length;
    // The record type; of a notice (0xfff0 and above) its low byte.
    uint8_t rtype;
    // The feed and the venue, as DBN numbers them.
    uint16_t publisher_id;
    // The number of the stock in this run of the plant: its stock locate.
    uint32_t instrument_id;
    // The exchange's time: nanoseconds since 1970.
    uint64_t ts_event;
} nt_record_header;

// An event of an order.
typedef struct {
    // The header.
    nt_record_header hd;
    // The order reference number.
    uint64_t order_id;
    // Price in units of 1e-9, or NT_NO_PRICE.
    int64_t price;
    // Shares.
    uint32_t size;
    // NT_F_... flags.
    uint8_t flags;
    // 0.
    uint8_t channel_id;
    // 'A' add, 'C' cancel, 'M' modify, 'R' clear, 'T' trade, 'F' fill, 'N' none.
    uint8_t action;
    // 'B' to buy, 'A' to sell, 'N' neither.
    uint8_t side;
    // Time of receipt: nanoseconds since 1970.
    uint64_t ts_recv;
    // 0.
    int32_t ts_in_delta;
    // The number of the exchange's message, modulo 2^32.
    uint32_t sequence;
} nt_mbo;

// The best prices of a stock after a change, and the change.
typedef struct {
    // The header.
    nt_record_header hd;
    // Price of the order that caused the change.
    int64_t price;
    // Its shares.
    uint32_t size;
    // What it was, as in `nt_mbo`.
    uint8_t action;
    // Its side.
    uint8_t side;
    // NT_F_... flags.
    uint8_t flags;
    // 0.
    uint8_t depth;
    // Time of receipt: nanoseconds since 1970.
    uint64_t ts_recv;
    // 0.
    int32_t ts_in_delta;
    // The number of the exchange's message, modulo 2^32.
    uint32_t sequence;
    // The best bid in units of 1e-9, or NT_NO_PRICE.
    int64_t bid_px;
    // The best offer.
    int64_t ask_px;
    // Shares at the best bid.
    uint32_t bid_sz;
    // Shares at the best offer.
    uint32_t ask_sz;
    // Orders at the best bid.
    uint32_t bid_ct;
    // Orders at the best offer.
    uint32_t ask_ct;
} nt_bbo;

// A trade.
typedef struct {
    // The header.
    nt_record_header hd;
    // Price in units of 1e-9, or NT_NO_PRICE.
    int64_t price;
    // Shares.
    uint32_t size;
    // 'T'.
    uint8_t action;
    // Side of the aggressor.
    uint8_t side;
    // NT_F_... flags.
    uint8_t flags;
    // 0.
    uint8_t depth;
    // Time of receipt: nanoseconds since 1970.
    uint64_t ts_recv;
    // 0.
    int32_t ts_in_delta;
    // The number of the exchange's message, modulo 2^32.
    uint32_t sequence;
} nt_trade;

// What a map is made for.
typedef struct {
    // Keys that fit.
    uint64_t capacity;
    // Keys that are there.
    uint64_t entries;
    // Words of a key.
    size_t key_words;
    // Words of a value.
    size_t value_words;
} nt_shape;

// The newest state of a stock, or of the market as a whole. docs/formats/stock-state.md has the
// meaning of each field; the words of a map that has such states are this structure.
typedef struct {
    // The number of the last record that is included.
    uint64_t sequence;
    // When the plant of the run started: it identifies the run.
    uint64_t started_ns;
    // The exchange's time of the last record.
    uint64_t ts_event;
    // Receive time of the last record that has one: the stop of a plant has none.
    uint64_t ts_recv;
    // The best bid.
    int64_t bid_price;
    // The best offer.
    int64_t ask_price;
    // Shares at the best bid; 4,294,967,295 stands for as many or more.
    uint32_t bid_size;
    // Shares at the best offer; 4,294,967,295 stands for as many or more.
    uint32_t ask_size;
    // Orders at the best bid, when its price or its shares changed last.
    uint32_t bid_orders;
    // Orders at the best offer, when its price or its shares changed last.
    uint32_t ask_orders;
    // The exchange's time of the last change of the inside.
    uint64_t quote_ts_event;
    // Price of the last trade: the one with the greatest message number, also if its record came
    // earlier than others.
    int64_t last_price;
    // The exchange's time of the last trade.
    uint64_t last_ts_event;
    // Shares of the last trade.
    uint32_t last_size;
    // Side of the aggressor of the last trade, as DBN has it: B to buy, A to sell, N unknown;
    // blank before the first trade.
    uint8_t last_side;
    // Why the book was tainted: the anomaly of the taint notice.
    uint8_t anomaly;
    // Of the whole market: the writer of the map that keeps the entries of this publisher, or kept
    // them when it was killed.
    uint16_t keeper;
    // Price of the first trade: the one with the smallest message number.
    int64_t open_price;
    // The exchange's time of the first trade.
    uint64_t open_ts_event;
    // The highest price of a trade.
    int64_t high_price;
    // The lowest price of a trade.
    int64_t low_price;
    // Shares of all trades.
    uint64_t volume;
    // Number of trades.
    uint64_t trades;
    // Sum of price times shares of all trades, in 128 bits: the lower 64 bits.
    uint64_t notional_low;
    // The upper 64 bits of the sum.
    int64_t notional_high;
    // The stock locate in this run; 0 of the whole market.
    uint32_t instrument_id;
    // Why the state might be wrong; 0: it is reliable.
    uint16_t doubts;
    // Of the whole market: 1 after the stop of the plant.
    uint8_t is_over;
    // Not used.
    uint8_t reserved_0[1];
    // The number of the record at which the first of the doubts began; of lost records, the number
    // of the last one.
    uint64_t doubt_sequence;
    // The trading state as DBN has it: 1 pre-open, 3 quoting, 7 trading, 8 halt, 9 pause, 12
    // close, 13 post-close; 0 unknown: no message has stated it.
    uint16_t action;
    // The reason of the trading state as DBN has it; 0 none.
    uint16_t reason;
    // Y the stock trades, N it does not, ~ unknown.
    uint8_t is_trading;
    // The same for quotes.
    uint8_t is_quoting;
    // The same for the restriction of short sales.
    uint8_t is_short_sell_restricted;
    // Not used.
    uint8_t reserved_1[1];
    // The exchange's time of the trading state.
    uint64_t status_ts_event;
    // The message number of the last trade, modulo 2^32: `sequence` of its record (records.md).
    uint32_t last_number;
    // The message number of the first trade.
    uint32_t open_number;
    // The exchange's time of the restriction of short sales.
    uint64_t restriction_ts_event;
    // Of the whole market: how often stocks have got another key, modulo 2^32.
    uint32_t key_changes;
    // Not used.
    uint8_t reserved_2[4];
} nt_stock;

// An entry of a map.
typedef struct {
    // The words of the key, which stay as they are until the next call with the map. NULL after
    // the last entry.
    const uint64_t *key;
    // The words of the value.
    const uint64_t *value;
    // How often the value was set, modulo 2^32.
    uint32_t version;
} nt_entry;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, with its commit: "0.1.0 (0b1ff35 2026-11-23)".
const char *nt_version(void);

// The ABI of the library, which NT_ABI of the header must be.
uint32_t nt_abi(void);

// Compares the header with the library. Call nt_init(NT_ABI) once, before anything is opened.
// From then on a ring, a map or a journal that is truncated while it is read does not end the
// process: the library handles SIGBUS, and passes other ones to the handler of before. Install a
// handler of your own before, and do not block SIGBUS. That holds for 1,024 files at a time.
nt_status nt_init(uint32_t abi);

// One line about the last function that failed in this thread, or "". It stays until the next one
// fails.
const char *nt_last_error(void);

// Opens a ring of any messages: `name` is its name, or its path if it contains a slash. A reader
// keeps nothing from the writer, which does not wait for it.
nt_status nt_ring_open(const char * name, int32_t start, uint64_t at, nt_reader **reader);

// Opens a journal of any messages, in this folder.
nt_status nt_journal_open(const char * folder, int32_t start, uint64_t at, nt_reader **reader);

// Opens the ring of a plant with the symbols of its stocks, or the journal of one if `name` is a
// folder. `options` is NULL or a selection of records. Records are valid, and have a type of
// `nt_record`: those of later versions are left out. What a ring has overwritten before is a loss,
// also for NT_START_OLDEST.
nt_status nt_tap_open(const char * name,
                      const nt_tap_options *options,
                      int32_t start,
                      uint64_t at,
                      nt_reader **reader);

// Gives the next item. If there is none it waits up to the timeout, and gives NT_KIND_NOTHING
// then: at once for 0, never for UINT64_MAX. It polls without a sleep for some microseconds, and
// then every millisecond. A signal does not end the wait.
//
// After NT_STATUS_BAD_RECORD reading goes on behind that record. After another error the next call
// tries again.
nt_status nt_reader_next(const nt_reader *reader, uint64_t timeout_ns, nt_item *item);

// The number of the next record: a reader that is opened with NT_START_SEQUENCE and this number
// goes on there.
nt_status nt_reader_next_sequence(const nt_reader *reader, uint64_t *sequence);

// The symbol of a stock with this number, as text: `symbol` has room for NT_SYMBOL_BYTES. Of a
// reader of nt_tap_open. A number is another stock in another run of a plant: this is the one of
// the newest record that the reader has read. Records have their symbols with them.
nt_status nt_reader_symbol(const nt_reader *reader,
                           uint32_t instrument_id,
                           char (*symbol)[NT_SYMBOL_BYTES]);

// Closes a reader, which no thread may be in a call with. Its handle and the bytes of its items
// must not be used afterwards. NULL is allowed.
void nt_reader_close(nt_reader *reader);

// The record of an item as an event of an order; NULL if it is another one.
const nt_mbo *nt_item_mbo(const nt_item *item);

// The record of an item as best prices; NULL if it is another one.
const nt_bbo *nt_item_bbo(const nt_item *item);

// The record of an item as a trade; NULL if it is another one.
const nt_trade *nt_item_trade(const nt_item *item);

// Opens a latest-value map: `name` is its name, or its path if it contains a slash.
nt_status nt_latest_open(const char * name, nt_latest **map);

// What a map is made for.
nt_status nt_latest_shape(const nt_latest *map, nt_shape *shape);

// Copies the value of a key: all of its words at one moment. The numbers of words are those of the
// map. `version` is NULL, or gets how often the value was set. NT_STATUS_NOT_FOUND: the key is not
// there.
nt_status nt_latest_get(const nt_latest *map,
                        const uint64_t * key,
                        size_t key_words,
                        uint64_t * value,
                        size_t value_words,
                        uint32_t *version);

// Copies the newest state of a stock from the map of a plant (`nanotape run --latest`). `symbol`
// is that of the stock, or "*" for the market as a whole.
nt_status nt_latest_stock(const nt_latest *map,
                          uint16_t publisher_id,
                          const char * symbol,
                          nt_stock *stock);

// Gives the next entry of a map, in no order; its key is NULL after the last one. An entry that is
// there all the time comes once; one that is inserted or removed meanwhile comes once or not.
nt_status nt_latest_next(const nt_latest *map, nt_entry *entry);

// Begins again with the first entry.
nt_status nt_latest_rewind(const nt_latest *map);

// Finds out whether the file of a map was removed, replaced or truncated (NT_STATUS_GONE), which
// other functions do not. A program that runs for long calls it now and then.
nt_status nt_latest_check(const nt_latest *map);

// Makes words of a text, as a key of a map of `nanotape latest --keys text` has it.
// NT_STATUS_WRONG_ARGUMENT if it is too long for so many words.
nt_status nt_latest_text_key(const char * text, uint64_t * key, size_t key_words);

// The same for a map of `nanotape latest --keys bytes`, whose first word is the length.
nt_status nt_latest_bytes_key(const char * text, uint64_t * key, size_t key_words);

// Closes a map, which no thread may be in a call with. Its handle and the words of its entries
// must not be used afterwards. NULL is allowed.
void nt_latest_close(nt_latest *map);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NANOTAPE_H */

// The layouts of records are those of DBN, and those of this library.
static_assert(sizeof(nt_record_header) == 16 && offsetof(nt_record_header, ts_event) == 8, "");
static_assert(sizeof(nt_mbo) == 56 && offsetof(nt_mbo, sequence) == 52, "");
static_assert(sizeof(nt_bbo) == 80 && offsetof(nt_bbo, bid_px) == 48, "");
static_assert(sizeof(nt_trade) == 48 && offsetof(nt_trade, sequence) == 44, "");
static_assert(sizeof(nt_stock) == 216 && offsetof(nt_stock, key_changes) == 208, "");
