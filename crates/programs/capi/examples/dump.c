// Prints what a ring, a journal or a latest-value map has, whatever its messages mean.
//
//     dump ring NAME [START]
//     dump journal FOLDER [START]
//     dump latest NAME
//     dump stock NAME PUBLISHER SYMBOL
//
// START is oldest, newest, the number of a message, or @ and nanoseconds since 1970. A ring or a
// journal is read until its writer ends; the status is 1 if that was killed.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanotape.h"

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, nt_last_error());
    return 1;
}

static nt_start start_of(const char *text, uint64_t *at) {
    *at = 0;
    if (text == NULL || strcmp(text, "oldest") == 0)
        return NT_START_OLDEST;
    if (strcmp(text, "newest") == 0)
        return NT_START_NEWEST;
    *at = strtoull(text + (text[0] == '@'), NULL, 10);
    return text[0] == '@' ? NT_START_TIME : NT_START_SEQUENCE;
}

static void print_record(const nt_item *item) {
    printf("%" PRIu64 " type %u at %" PRIu64 ": ", item->sequence, item->record_type,
           item->time_ns);
    for (size_t i = 0; i < item->length; i++)
        printf("%02x", item->bytes[i]);
    printf("\n");
}

// Reads to the end of the writer.
static int dump_stream(const char *name, nt_reader *reader) {
    for (;;) {
        nt_item item;
        if (nt_reader_next(reader, UINT64_MAX, &item) != NT_STATUS_OK)
            return fail(name);
        switch (item.kind) {
        case NT_KIND_RECORD:
            print_record(&item);
            break;
        case NT_KIND_LOST:
            printf("lost %" PRIu64 " to %" PRIu64 "\n", item.sequence, item.last);
            break;
        case NT_KIND_REUSED:
            printf("again %" PRIu64 " to %" PRIu64 "\n", item.sequence, item.last);
            break;
        case NT_KIND_END:
            printf("end before %" PRIu64 ": %s\n", item.sequence,
                   item.end == NT_END_CLOSED ? "closed" : "killed");
            return item.end != NT_END_CLOSED;
        default:
            break;
        }
    }
}

static void print_words(const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        printf(" %" PRIu64, words[i]);
}

static int dump_latest(const char *name, nt_latest *map) {
    nt_shape shape;
    if (nt_latest_shape(map, &shape) != NT_STATUS_OK)
        return fail(name);
    printf("%" PRIu64 " of %" PRIu64 "\n", shape.entries, shape.capacity);
    for (;;) {
        nt_entry entry;
        if (nt_latest_next(map, &entry) != NT_STATUS_OK)
            return fail(name);
        if (entry.key == NULL)
            return 0;
        printf("key");
        print_words(entry.key, shape.key_words);
        printf(" value");
        print_words(entry.value, shape.value_words);
        printf(" version %" PRIu32 "\n", entry.version);
    }
}

static int dump_stock(const char *name, nt_latest *map, const char *publisher, const char *symbol) {
    nt_stock stock;
    if (nt_latest_stock(map, (uint16_t)atoi(publisher), symbol, &stock) != NT_STATUS_OK)
        return fail(name);
    printf("%s: bid %" PRId64 ", ask %" PRId64 ", last %" PRId64 ", volume %" PRIu64
           ", trades %" PRIu64 ", doubts %u\n",
           symbol, stock.bid_price, stock.ask_price, stock.last_price, stock.volume, stock.trades,
           stock.doubts);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    const char *name = argc > 2 ? argv[2] : "";
    if (nt_init(NT_ABI) != NT_STATUS_OK)
        return fail("nanotape");
    // Lines are seen at once, also by a program behind a pipe.
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    int result = 2;
    if (strcmp(what, "ring") == 0 || strcmp(what, "journal") == 0) {
        uint64_t at;
        nt_start start = start_of(argc > 3 ? argv[3] : NULL, &at);
        nt_reader *reader;
        nt_status status = what[0] == 'r' ? nt_ring_open(name, start, at, &reader)
                                          : nt_journal_open(name, start, at, &reader);
        result = status == NT_STATUS_OK ? dump_stream(name, reader) : fail(name);
        nt_reader_close(reader);
    } else if (strcmp(what, "latest") == 0 || (strcmp(what, "stock") == 0 && argc == 5)) {
        nt_latest *map;
        if (nt_latest_open(name, &map) != NT_STATUS_OK)
            result = fail(name);
        else if (what[0] == 'l')
            result = dump_latest(name, map);
        else
            result = dump_stock(name, map, argv[3], argv[4]);
        nt_latest_close(map);
    } else {
        fprintf(stderr, "usage: %s ring|journal|latest|stock NAME ...\n", argv[0]);
    }
    return result;
}
