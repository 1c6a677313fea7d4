// Prints the best prices of a plant while it runs, what was lost, and its end.
//
//     best_prices RING [SYMBOLS [JOURNAL]]
//
// RING is the name of the ring of a plant (nanotape run --ring), or its path; SYMBOLS are such as
// AAPL,MSFT or *. With the JOURNAL that records the ring nothing is lost. Waits ten seconds for a
// plant. Ends with status 0 if the plant has closed its ring, and with 1 otherwise.

#define _POSIX_C_SOURCE 200809L // nanosleep

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "nanotape.h"

#define SECOND UINT64_C(1000000000)

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, nt_last_error());
    return 1;
}

static void print_price(int64_t price) {
    if (price == NT_NO_PRICE)
        printf("-");
    else
        printf("%" PRId64 ".%04" PRId64, price / 1000000000, price % 1000000000 / 100000);
}

// Opens the ring, when the plant has created it.
static nt_status open_plant(const char *ring, const nt_tap_options *options, nt_reader **reader) {
    const struct timespec pause = {0, 10000000};
    nt_status status = NT_STATUS_NOT_FOUND;
    for (int attempt = 0; status == NT_STATUS_NOT_FOUND && attempt < 1000; attempt++) {
        status = nt_tap_open(ring, options, NT_START_OLDEST, 0, reader);
        if (status == NT_STATUS_NOT_FOUND)
            nanosleep(&pause, NULL);
    }
    return status;
}

static void print_record(const nt_item *item) {
    const nt_bbo *best = nt_item_bbo(item);
    if (best != NULL) {
        printf("%" PRIu64 " %s %" PRIu32 " x ", item->sequence, item->symbol, best->bid_sz);
        print_price(best->bid_px);
        printf("  ");
        print_price(best->ask_px);
        printf(" x %" PRIu32 "\n", best->ask_sz);
    } else if (item->record_type == NT_RECORD_STOP) {
        printf("%" PRIu64 " the plant stopped\n", item->sequence);
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s RING [SYMBOLS [JOURNAL]]\n", argv[0]);
        return 2;
    }
    if (nt_init(NT_ABI) != NT_STATUS_OK)
        return fail("nanotape");
    nt_tap_options options = {NULL, "bbo", NULL, 10 * SECOND};
    options.symbols = argc > 2 ? argv[2] : NULL;
    options.journal = argc > 3 ? argv[3] : NULL;
    nt_reader *reader;
    if (open_plant(argv[1], &options, &reader) != NT_STATUS_OK)
        return fail(argv[1]);

    // Lines are seen at once, also by a program behind a pipe.
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    int result = -1;
    while (result < 0) {
        nt_item item;
        nt_status status = nt_reader_next(reader, SECOND, &item);
        if (status == NT_STATUS_BAD_RECORD) {
            fail("left out");
            continue;
        }
        if (status != NT_STATUS_OK) {
            result = fail(argv[1]);
            break;
        }
        switch (item.kind) {
        case NT_KIND_RECORD:
            print_record(&item);
            break;
        case NT_KIND_LOST:
            printf("lost %" PRIu64 " records, %" PRIu64 " to %" PRIu64 "\n",
                   item.last - item.sequence + 1, item.sequence, item.last);
            break;
        case NT_KIND_END:
            printf("end: %s\n", item.end == NT_END_CLOSED ? "closed" : "killed");
            result = item.end != NT_END_CLOSED;
            break;
        default: // nothing within a second, or what came from the journal
            break;
        }
    }
    nt_reader_close(reader);
    return result;
}
