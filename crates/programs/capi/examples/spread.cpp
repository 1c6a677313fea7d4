// Prints the narrowest spread of each stock of a plant that has ended, from its ring or journal.
//
//     spread RING_OR_JOURNAL
//
// The same functions in C++: a handle that closes itself, and statuses as exceptions.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "nanotape.h"

namespace {

struct Close {
    void operator()(nt_reader *reader) const { nt_reader_close(reader); }
};
using Reader = std::unique_ptr<nt_reader, Close>;

void check(nt_status status) {
    if (status != NT_STATUS_OK)
        throw std::runtime_error(nt_last_error());
}

Reader open(const char *name) {
    nt_tap_options options = {};
    options.records = "bbo";
    nt_reader *reader = nullptr;
    check(nt_tap_open(name, &options, NT_START_OLDEST, 0, &reader));
    return Reader(reader);
}

} // namespace

int main(int argc, char **argv) try {
    if (argc != 2)
        throw std::runtime_error("usage: spread RING_OR_JOURNAL");
    check(nt_init(NT_ABI));
    Reader reader = open(argv[1]);
    std::map<std::string, int64_t> narrowest;
    for (nt_item item = {}; item.kind != NT_KIND_END;) {
        check(nt_reader_next(reader.get(), UINT64_MAX, &item));
        const nt_bbo *best = nt_item_bbo(&item);
        if (best == nullptr || best->bid_px == NT_NO_PRICE || best->ask_px == NT_NO_PRICE)
            continue;
        int64_t spread = best->ask_px - best->bid_px;
        auto found = narrowest.emplace(item.symbol, spread).first;
        found->second = std::min(found->second, spread);
    }
    for (const auto &[symbol, spread] : narrowest)
        std::printf("%s %.4f\n", symbol.c_str(), static_cast<double>(spread) / 1e9);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
