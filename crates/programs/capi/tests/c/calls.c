// Wrong calls, as only a program in C can make them. The test that compiles it has made the folder:
// a ring of 10 messages whose writer is alive, a map of keys of 2 words and values of 27, a map of
// other values, and a plant that has ended.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanotape.h"

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, nt_last_error());          \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

// A status, and a part of its line.
#define FAILS(call, expected, part)                                                               \
    do {                                                                                          \
        nt_status status_ = (call);                                                               \
        if (status_ != (expected) || strstr(nt_last_error(), part) == NULL) {                     \
            fprintf(stderr, "line %d: %s: %d %s\n", __LINE__, #call, (int)status_,                \
                    nt_last_error());                                                             \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define WRONG NT_STATUS_WRONG_ARGUMENT

static char paths[5][4096];

static const char *path_of(int number, const char *folder, const char *name) {
    snprintf(paths[number], sizeof paths[number], "%s/%s", folder, name);
    return paths[number];
}

static void begin(const char *ring) {
    nt_reader *reader = (nt_reader *)&ring;
    FAILS(nt_ring_open(ring, NT_START_OLDEST, 0, &reader), WRONG, "call nt_init(NT_ABI) first");
    CHECK(reader == NULL);
    FAILS(nt_init(NT_ABI + 1), NT_STATUS_OTHER_ABI, "compile the program with the header");
    FAILS(nt_ring_open(ring, NT_START_OLDEST, 0, &reader), WRONG, "nt_init");
    CHECK(nt_abi() == NT_ABI && strncmp(nt_version(), "0.", 2) == 0);
    CHECK(nt_init(NT_ABI) == NT_STATUS_OK && nt_init(NT_ABI) == NT_STATUS_OK);
}

static void open_wrongly(const char *ring, const char *folder, const char *plant) {
    nt_reader *reader = NULL;
    nt_latest *map = NULL;
    nt_tap_options options;
    memset(&options, 0, sizeof options);
    FAILS(nt_ring_open(NULL, 0, 0, &reader), WRONG, "name is NULL");
    FAILS(nt_ring_open("", 0, 0, &reader), WRONG, "name is empty");
    FAILS(nt_ring_open(ring, 0, 0, NULL), WRONG, "the place for the handle is NULL");
    FAILS(nt_ring_open(ring, 4, 0, &reader), WRONG, "start 4 is none of nt_start");
    FAILS(nt_ring_open(ring, -1, 0, &reader), WRONG, "start -1");
    FAILS(nt_ring_open(ring, NT_START_SEQUENCE, 0, &reader), WRONG, "no record 0");
    FAILS(nt_ring_open(ring, NT_START_SEQUENCE, 99, &reader), NT_STATUS_NOT_FOUND, "not published");
    FAILS(nt_ring_open(ring, NT_START_TIME, 5, &reader), WRONG, "a ring keeps no times");
    FAILS(nt_ring_open(folder, 0, 0, &reader), NT_STATUS_FAILED, "expected a regular file");
    FAILS(nt_ring_open("./no/ring", 0, 0, &reader), NT_STATUS_NOT_FOUND, "does not exist");
    FAILS(nt_journal_open(NULL, 0, 0, &reader), WRONG, "folder is NULL");
    FAILS(nt_journal_open("./none", 0, 0, &reader), NT_STATUS_NOT_FOUND, "./none");
    FAILS(nt_journal_open(ring, 0, 0, &reader), NT_STATUS_FAILED, "not a folder");
    FAILS(nt_tap_open(NULL, NULL, 0, 0, &reader), WRONG, "name is NULL");
    FAILS(nt_tap_open("./none", NULL, 0, 0, &reader), NT_STATUS_NOT_FOUND, "none: does not");
    FAILS(nt_tap_open(ring, NULL, 0, 0, &reader), NT_STATUS_NOT_FOUND, "without a plant");
    options.symbols = "AAPL,,MSFT";
    FAILS(nt_tap_open(plant, &options, 0, 0, &reader), WRONG, "symbols: \"\"");
    options.symbols = "A\xff";
    FAILS(nt_tap_open(plant, &options, 0, 0, &reader), WRONG, "symbols is not UTF-8");
    options.symbols = NULL;
    options.records = "quotes";
    FAILS(nt_tap_open(plant, &options, 0, 0, &reader), WRONG, "\"quotes\" is not a record kind");
    options.records = NULL;
    options.journal = "";
    FAILS(nt_tap_open(plant, &options, 0, 0, &reader), WRONG, "journal is empty");
    options.journal = "./no/journal";
    FAILS(nt_tap_open(plant, &options, 0, 0, &reader), NT_STATUS_NOT_FOUND, "journal: no journal there");
    options.journal = NULL;
    FAILS(nt_tap_open(plant, &options, NT_START_SEQUENCE, 1 << 30, &reader), NT_STATUS_NOT_FOUND, "not published");
    CHECK(strstr(nt_last_error(), "nt_ring_open") == NULL);
    options.journal = folder;
    FAILS(nt_tap_open(folder, &options, 0, 0, &reader), WRONG, "is a journal itself");
    FAILS(nt_latest_open(NULL, &map), WRONG, "name is NULL");
    FAILS(nt_latest_open("./none", &map), NT_STATUS_NOT_FOUND, "none: does not exist");
    FAILS(nt_latest_open("a\n\x1b%s%n", &map), NT_STATUS_FAILED, "a??%s%n: invalid region name");
    FAILS(nt_journal_open("a\n\x1b%s%n", 0, 0, &reader), NT_STATUS_NOT_FOUND, "a??%s%n: no journal");
    CHECK(strchr(nt_last_error(), '\n') == NULL);
    FAILS(nt_latest_open(ring, &map), NT_STATUS_FAILED, "LATEST");
    FAILS(nt_latest_open(ring, NULL), WRONG, "the place for the handle is NULL");
    CHECK(reader == NULL && map == NULL);
    nt_reader_close(NULL);
    nt_latest_close(NULL);
}

static void read_wrongly(const char *ring) {
    nt_reader *reader;
    nt_item item;
    uint64_t sequence;
    char symbol[NT_SYMBOL_BYTES];
    CHECK(nt_ring_open(ring, NT_START_SEQUENCE, 4, &reader) == NT_STATUS_OK);
    FAILS(nt_reader_next(NULL, 0, &item), WRONG, "reader is NULL");
    FAILS(nt_reader_next(reader, 0, NULL), WRONG, "item is NULL");
    FAILS(nt_reader_next_sequence(NULL, &sequence), WRONG, "reader is NULL");
    FAILS(nt_reader_next_sequence(reader, NULL), WRONG, "sequence is NULL");
    FAILS(nt_reader_symbol(NULL, 1, &symbol), WRONG, "reader is NULL");
    FAILS(nt_reader_symbol(reader, 1, NULL), WRONG, "symbol is NULL");
    FAILS(nt_reader_symbol(reader, 1, &symbol), WRONG, "only a reader of nt_tap_open");
    for (uint64_t expected = 4; expected <= 10; expected++) {
        CHECK(nt_reader_next_sequence(reader, &sequence) == NT_STATUS_OK && sequence == expected);
        CHECK(nt_reader_next(reader, 0, &item) == NT_STATUS_OK);
        CHECK(item.kind == NT_KIND_RECORD && item.sequence == expected && item.symbol[0] == 0);
        CHECK(nt_item_mbo(&item) == NULL && nt_item_bbo(&item) == NULL);
        CHECK((uintptr_t)item.bytes % 8 == 0 && item.length == expected);
    }
    CHECK(nt_reader_next(reader, 0, &item) == NT_STATUS_OK && item.kind == NT_KIND_NOTHING);
    CHECK(nt_reader_next(reader, 3000000, &item) == NT_STATUS_OK && item.bytes == NULL);
    memset(&item, 0xff, sizeof item);
    CHECK(nt_item_mbo(&item) == NULL && nt_item_bbo(&item) == NULL);
    CHECK(nt_item_trade(&item) == NULL && nt_item_mbo(NULL) == NULL);
    nt_reader_close(reader);
}

static void read_plant(const char *plant) {
    nt_reader *reader;
    nt_item item;
    char symbol[NT_SYMBOL_BYTES];
    uint32_t instrument = 0;
    CHECK(nt_tap_open(plant, NULL, NT_START_OLDEST, 0, &reader) == NT_STATUS_OK);
    FAILS(nt_reader_symbol(reader, 0, &symbol), WRONG, "1 to 65535");
    FAILS(nt_reader_symbol(reader, 65536, &symbol), WRONG, "instrument 65536");
    FAILS(nt_reader_symbol(reader, 65535, &symbol), NT_STATUS_NOT_FOUND, "stock 65535");
    do {
        CHECK(nt_reader_next(reader, UINT64_MAX, &item) == NT_STATUS_OK);
        const nt_mbo *order = nt_item_mbo(&item);
        if (order != NULL) {
            instrument = order->hd.instrument_id;
            CHECK(nt_reader_symbol(reader, instrument, &symbol) == NT_STATUS_OK);
            CHECK(strcmp(symbol, item.symbol) == 0 && symbol[0] != 0);
            CHECK(order->hd.length * 4 == sizeof *order && order->hd.rtype == NT_RECORD_MBO);
        }
    } while (item.kind != NT_KIND_END);
    CHECK(instrument != 0 && item.end == NT_END_CLOSED);
    CHECK(nt_reader_next(reader, 0, &item) == NT_STATUS_OK && item.kind == NT_KIND_NOTHING);
    nt_reader_close(reader);
}

static void read_map(const char *name, const char *other) {
    nt_latest *map;
    nt_stock stock;
    nt_shape shape;
    nt_entry entry;
    uint64_t key[2] = {7, 7}, value[27], text[3];
    uint32_t version = 9;
    CHECK(nt_latest_open(name, &map) == NT_STATUS_OK);
    FAILS(nt_latest_shape(NULL, &shape), WRONG, "map is NULL");
    FAILS(nt_latest_shape(map, NULL), WRONG, "shape is NULL");
    CHECK(nt_latest_shape(map, &shape) == NT_STATUS_OK);
    CHECK(shape.entries == 1 && shape.key_words == 2 && shape.value_words == 27);
    FAILS(nt_latest_get(NULL, key, 2, value, 27, NULL), WRONG, "map is NULL");
    FAILS(nt_latest_get(map, NULL, 2, value, 27, NULL), WRONG, "key is NULL");
    FAILS(nt_latest_get(map, key, 2, NULL, 27, NULL), WRONG, "value is NULL");
    FAILS(nt_latest_get(map, key, 1, value, 27, NULL), WRONG, "key has 1 words, expected 2");
    FAILS(nt_latest_get(map, key, 2, value, 26, NULL), WRONG, "value has 26 words, expected 27");
    FAILS(nt_latest_get(map, key, 2, value, SIZE_MAX, NULL), WRONG, "expected 27");
    FAILS(nt_latest_get(map, key, 2, value, 27, &version), NT_STATUS_NOT_FOUND, "have the key");
    CHECK(version == 9);
    FAILS(nt_latest_stock(map, 2, NULL, &stock), WRONG, "symbol is NULL");
    FAILS(nt_latest_stock(map, 2, "TOOLONGNAME", &stock), WRONG, "1 to 8 letters");
    FAILS(nt_latest_stock(map, 2, "AAPL", NULL), WRONG, "stock is NULL");
    FAILS(nt_latest_stock(map, 2, "AAPL", &stock), NT_STATUS_NOT_FOUND, "no state of AAPL");
    FAILS(nt_latest_stock(map, 3, "KWCK", &stock), NT_STATUS_NOT_FOUND, "publisher 3");
    FAILS(nt_latest_next(NULL, &entry), WRONG, "map is NULL");
    FAILS(nt_latest_next(map, NULL), WRONG, "entry is NULL");
    FAILS(nt_latest_rewind(NULL), WRONG, "map is NULL");
    FAILS(nt_latest_check(NULL), WRONG, "map is NULL");
    FAILS(nt_latest_text_key(NULL, text, 3), WRONG, "text is NULL");
    FAILS(nt_latest_text_key("abc", NULL, 3), WRONG, "key is NULL");
    FAILS(nt_latest_text_key("abcdefghijklmnopqrstuvwxy", text, 3), WRONG, "needs 4 words");
    FAILS(nt_latest_text_key("", text, 0), WRONG, "needs 1 words");
    CHECK(nt_latest_text_key("abcdefgh!", text, 3) == NT_STATUS_OK);
    CHECK(memcmp(text, "abcdefgh!\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24) == 0);
    FAILS(nt_latest_bytes_key(NULL, text, 3), WRONG, "text is NULL");
    FAILS(nt_latest_bytes_key("abc", NULL, 3), WRONG, "key is NULL");
    FAILS(nt_latest_bytes_key("abcdefghijklmnopq", text, 3), WRONG, "needs 4 words");
    FAILS(nt_latest_bytes_key("", text, 0), WRONG, "needs 1 words");
    CHECK(nt_latest_bytes_key("abcdefgh!", text, 3) == NT_STATUS_OK);
    CHECK(text[0] == 9 && memcmp(&text[1], "abcdefgh!\0\0\0\0\0\0", 16) == 0);
    for (int round = 0; round < 2; round++) {
        CHECK(nt_latest_next(map, &entry) == NT_STATUS_OK && entry.key[0] == 2);
        CHECK(entry.version == 2);
        CHECK(nt_latest_get(map, entry.key, 2, value, 27, &version) == NT_STATUS_OK);
        CHECK(version == 2 && memcmp(value, entry.value, sizeof value) == 0);
        CHECK(nt_latest_next(map, &entry) == NT_STATUS_OK && entry.key == NULL);
        CHECK(nt_latest_next(map, &entry) == NT_STATUS_OK && entry.key == NULL);
        CHECK(nt_latest_rewind(map) == NT_STATUS_OK);
    }
    CHECK(nt_latest_stock(map, 2, "KWCK", &stock) == NT_STATUS_OK);
    CHECK(memcmp(value, &stock, sizeof stock) == 0);
    CHECK(nt_latest_check(map) == NT_STATUS_OK);
    remove(name);
    FAILS(nt_latest_check(map), NT_STATUS_GONE, "removed");
    // What is mapped stays.
    CHECK(nt_latest_get(map, key, 2, value, 27, NULL) == NT_STATUS_NOT_FOUND);
    nt_latest_close(map);

    CHECK(nt_latest_open(other, &map) == NT_STATUS_OK);
    FAILS(nt_latest_stock(map, 2, "KWCK", &stock), WRONG, "words without a schema");
    nt_latest_close(map);
}

static void *wait_in_thread(void *reader) {
    nt_item item;
    nt_status status;
    CHECK(nt_last_error()[0] == 0); // that of this thread
    do { // refused while the other thread is in a call
        status = nt_reader_next((nt_reader *)reader, UINT64_C(400000000), &item);
    } while (status == WRONG);
    CHECK(status == NT_STATUS_OK && item.kind == NT_KIND_NOTHING);
    return NULL;
}

static void share_between_threads(const char *ring) {
    nt_reader *reader;
    nt_item item;
    pthread_t other;
    nt_status status = NT_STATUS_OK;
    CHECK(nt_ring_open(ring, NT_START_NEWEST, 0, &reader) == NT_STATUS_OK);
    CHECK(pthread_create(&other, NULL, wait_in_thread, reader) == 0);
    for (long attempts = 0; status == NT_STATUS_OK && attempts < 100000000; attempts++)
        status = nt_reader_next(reader, 0, &item);
    FAILS(status, WRONG, "the handle is in use by another thread");
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(nt_reader_next(reader, 0, &item) == NT_STATUS_OK);
    nt_reader_close(reader);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(nt_last_error()[0] == 0);
    const char *ring = path_of(0, argv[1], "own");
    const char *plant = path_of(1, argv[1], "ring");
    begin(ring);
    open_wrongly(ring, argv[1], plant);
    read_wrongly(ring);
    read_plant(plant);
    read_map(path_of(2, argv[1], "stocks"), path_of(3, argv[1], "other"));
    share_between_threads(ring);
    return 0;
}
