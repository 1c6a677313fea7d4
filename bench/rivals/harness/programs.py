"""What is compared: a row of the table for each program, and what each of them keeps."""

from dataclasses import dataclass, field

# Asks the C library to put what is allocated on huge pages, for programs that do not ask the kernel
# themselves. A user of the rival could set it too, so that its fastest run includes it.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    kind: str  # parse, books or depth
    library: str  # whose it is: nanotape, itch-book, itchy, itch5 or hftbacktest
    keeps: str
    command: str = ""  # the name the executable knows it by, where that is another
    environment: dict = field(default_factory=dict)
    slow: bool = False  # run only if it is asked for by name

    @property
    def word(self):
        return self.command or self.name


PROGRAMS = [
    Program("nanotape-decode", "parse", "nanotape", "fields of a book event"),
    Program("itch-book-parse", "parse", "itch-book", "fields of a book event"),
    Program("itch5", "parse", "itch5", "fields of a book event, from views"),
    Program("itchy", "parse", "itchy", "fields of a book event, from owned messages"),
    Program("nanotape-books", "books", "nanotape", "orders, levels, counts; tells insides"),
    Program(
        "nanotape-books-huge", "books", "nanotape", "the same, huge pages from outside",
        command="nanotape-books", environment=HUGE_PAGES,
    ),
    Program("itch-book", "books", "itch-book", "orders in FIFO, levels, counts (default)"),
    Program("itch-book-insides", "books", "itch-book", "the same, tells insides"),
    Program("itch-book-inline", "books", "itch-book", "as the default, orders in the pages"),
    Program("itch-book-flathash", "books", "itch-book", "as the default, orders in a hash"),
    Program(
        "itch-book-huge", "books", "itch-book", "the default, huge pages from outside",
        command="itch-book", environment=HUGE_PAGES,
    ),
    Program(
        "itch-book-inline-huge", "books", "itch-book", "inline, huge pages from outside",
        command="itch-book-inline", environment=HUGE_PAGES,
    ),
    Program("hftbacktest-btree", "depth", "hftbacktest", "orders, levels; our decoder in front"),
    Program(
        "hftbacktest-hash", "depth", "hftbacktest", "orders, levels; our decoder in front",
        slow=True,
    ),
]

# What the others of a kind are held against.
OURS = {"parse": "nanotape-decode", "books": "nanotape-books", "depth": "nanotape-books"}


def choose(names):
    """The programs to run: those named, or all that are not slow."""
    if names is None:
        return [program for program in PROGRAMS if not program.slow]
    known = {program.name: program for program in PROGRAMS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no program is called {unknown[0]}; there are {', '.join(known)}")
    return [program for program in PROGRAMS if program.name in names]
