// itch-book with the same answers as the other programs: reads a day file as its README shows (a mapped
// file, parsed into a handler) and prints one JSON line.
//
// `itch_book_driver PROGRAM FILE`. The headers are itch-book's own and not in this repository;
// `bench/rivals/run books` fetches them. The digests are those of `src/digest.rs`.

#include <itch/book_manager.hpp>
#include <itch/mapped_file.hpp>
#include <itch/parser.hpp>

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

namespace {

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// From before the file is opened to after the last message, as in every program.
struct Stopwatch {
    double wall = seconds_of(CLOCK_MONOTONIC);
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
};

struct Elapsed {
    double cpu;
    double wall;

    explicit Elapsed(const Stopwatch& from)
        : cpu(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - from.cpu),
          wall(seconds_of(CLOCK_MONOTONIC) - from.wall) {}
};

// A field of /proc/self/status in bytes, or 0.
std::uint64_t status_bytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0) return std::stoull(line.substr(field.size())) * 1024;
    return 0;
}

// One call inside the timed part brings in the pages, as nanotape does with its windows. It costs less
// than a fault for each group of pages. If the kernel refuses, the faults come later.
void populate(const itch::MappedFile& file) {
#ifdef MADV_POPULATE_READ
    const auto bytes = file.bytes();
    if (!bytes.empty())
        (void)madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_POPULATE_READ);
#else
    (void)file;
#endif
}

std::uint64_t mix(std::uint64_t number) {
    number = (number ^ number >> 32) * 0x9e3779b97f4a7c15u;
    number = (number ^ number >> 29) * 0xd6e8feb86659fd93u;
    return number ^ number >> 32;
}

std::uint64_t records(const itch::ParseResult& result) {
    return result.messages + result.unknown + result.malformed;
}

void print(const char* name, const char* kind, const itch::ParseResult& result,
           const Elapsed& elapsed, const std::string& answers, const std::string& notes) {
    // The whole file is resident from the start, so the rest is the peak of everything else.
    const std::uint64_t peak = status_bytes("VmHWM:");
    const std::uint64_t anonymous = peak - std::min(peak, status_bytes("RssFile:"));
    std::printf(
        "{\"name\":\"%s\",\"kind\":\"%s\",\"messages\":%llu,\"cpu_seconds\":%.9f,"
        "\"wall_seconds\":%.9f,\"peak_memory_bytes\":%llu,\"anonymous_bytes\":%llu,"
        "\"answer\":{%s},\"notes\":{%s}}\n",
        name, kind, static_cast<unsigned long long>(records(result)), elapsed.cpu, elapsed.wall,
        static_cast<unsigned long long>(peak), static_cast<unsigned long long>(anonymous),
        answers.c_str(), notes.c_str());
}

std::string field(const char* name, std::uint64_t value) {
    std::string text = "\"";
    text.append(name).append("\":").append(std::to_string(value));
    return text;
}

// The fields that a book needs, added up.
struct FieldSum {
    std::uint64_t sum = 0;

    void on_add(const itch::AddOrder& m) {
        sum += m.hdr.locate + m.ref + m.shares + static_cast<std::uint64_t>(m.price.raw());
    }
    void on_execute(const itch::OrderExecuted& m) { sum += m.hdr.locate + m.ref + m.shares; }
    void on_execute_price(const itch::OrderExecutedPrice& m) {
        sum += m.hdr.locate + m.ref + m.shares;
    }
    void on_cancel(const itch::OrderCancel& m) { sum += m.hdr.locate + m.ref + m.shares; }
    void on_delete(const itch::OrderDelete& m) { sum += m.hdr.locate + m.ref; }
    void on_replace(const itch::OrderReplace& m) {
        sum += m.hdr.locate + m.old_ref + m.new_ref + m.shares +
               static_cast<std::uint64_t>(m.price.raw());
    }
};

void parse_only(const char* name, const char* path) {
    const Stopwatch watch;
    itch::MappedFile file(path);
    populate(file);
    FieldSum fields;
    const auto result = itch::parse(file.bytes(), fields);
    const Elapsed elapsed(watch);
    print(name, "parse", result, elapsed, field("field_sum", fields.sum),
          field("damaged", result.malformed));
}

template <typename Manager>
std::string book_answers(Manager& manager) {
    std::uint64_t levels = 0, state_sum = 0, count_sum = 0;
    for (std::size_t locate = 0; locate < manager.book_count(); ++locate) {
        const auto* book = manager.book(static_cast<std::uint16_t>(locate));
        for (const bool buy : {true, false}) {
            const std::uint64_t place = mix(locate << 1 | (buy ? 0u : 1u));
            for (const auto& entry : book->side(buy)) {
                const auto& level = book->level(entry.level);
                const auto price = static_cast<std::uint64_t>(buy ? level.key : -level.key);
                const std::uint64_t state = mix(mix(place ^ price) ^ level.shares);
                ++levels;
                state_sum += state;
                count_sum += mix(state ^ level.orders);
            }
        }
    }
    return field("levels", levels) + "," + field("prices_and_shares", state_sum) + "," +
           field("order_counts", count_sum) + "," +
           field("live_orders", manager.orders().live_orders());
}

std::string book_notes(const itch::Stats& stats, const itch::ParseResult& result) {
    const std::uint64_t odd = stats.missing_ref + stats.dup_ref + stats.rejected + stats.clamped;
    return field("damaged", result.malformed) + "," + field("refused", odd);
}

// All books, without reports of changes.
template <typename Store>
void books(const char* name, const char* path) {
    const Stopwatch watch;
    itch::MappedFile file(path);
    populate(file);
    itch::BookManager<std::nullptr_t, itch::Book<Store>> manager;
    const auto result = itch::parse(file.bytes(), manager);
    const Elapsed elapsed(watch);
    print(name, "books", result, elapsed, book_answers(manager),
          book_notes(manager.stats(), result));
}

// All books, with a report of every change of a best bid or offer, as nanotape's observer gets.
template <typename Store>
void books_and_insides(const char* name, const char* path) {
    const Stopwatch watch;
    itch::MappedFile file(path);
    populate(file);
    std::uint64_t changes = 0;
    const auto sink = [&changes](std::uint16_t, const itch::Bbo&) { ++changes; };
    itch::BookManager<decltype(sink), itch::Book<Store>> manager(sink);
    const auto result = itch::parse(file.bytes(), manager);
    const Elapsed elapsed(watch);
    print(name, "books", result, elapsed,
          book_answers(manager) + "," + field("inside_changes", changes),
          book_notes(manager.stats(), result));
}

struct Program {
    const char* name;
    void (*run)(const char* name, const char* path);
};

constexpr Program kPrograms[] = {
    {"itch-book-parse", parse_only},
    {"itch-book", books<itch::PooledOrderStore>},
    {"itch-book-insides", books_and_insides<itch::PooledOrderStore>},
    {"itch-book-inline", books<itch::OrderStore>},
    {"itch-book-flathash", books<itch::FlatHashOrderStore>},
};

}  // namespace

int main(int count, char** words) {
    const char* name = count == 3 ? words[1] : "";
    for (const Program& program : kPrograms) {
        if (std::strcmp(name, program.name) != 0) continue;
        try {
            program.run(program.name, words[2]);
            return 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", name, error.what());
            return 1;
        }
    }
    std::fprintf(stderr, "usage: itch_book_driver PROGRAM FILE, where PROGRAM is one of");
    for (const Program& program : kPrograms) std::fprintf(stderr, " %s", program.name);
    std::fprintf(stderr, "\n");
    return 2;
}
