"""The programs of the comparison: a row of the table for each, and what each of them keeps."""

from dataclasses import dataclass, field

# Makes the C library allocate from huge pages, for programs that do not do it themselves. A user of the
# rival could set it too, so it counts as one of the rival's own variants.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    kind: str  # parse, books or depth
    library: str  # nanotape, itch-book, itchy, itch5 or hftbacktest
    keeps: str
    command: str = ""  # its name for the executable, if that is another
    environment: dict = field(default_factory=dict)
    slow: bool = False  # runs only if --only names it

    @property
    def word(self):
        return self.command or self.name


PROGRAMS = [
    Program("nanotape-decode", "parse", "nanotape", "fields of a book event"),
    Program("itch-book-parse", "parse", "itch-book", "fields of a book event"),
    Program("itch5", "parse", "itch5", "fields of a book event, from views"),
    Program("itchy", "parse", "itchy", "fields of a book event, from owned messages"),
    Program("nanotape-books", "books", "nanotape", "orders, levels, counts; reports insides"),
    Program(
        "nanotape-books-huge", "books", "nanotape", "the same, huge pages from outside",
        command="nanotape-books", environment=HUGE_PAGES,
    ),
    Program("itch-book", "books", "itch-book", "orders in FIFO, levels, counts (default)"),
    Program("itch-book-insides", "books", "itch-book", "the same, reports insides"),
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

# The program that the others of its kind are compared with.
OURS = {"parse": "nanotape-decode", "books": "nanotape-books", "depth": "nanotape-books"}
