"""Records as they are stored, and that trades and fills of them change no book."""

import gzip
import os
import shutil

import numpy
import pytest

import nanotape
from conftest import program


@pytest.fixture(scope="module")
def plain(inputs):
    """A DBN file of order records only, which is not compressed."""
    path = inputs.folder / "mbo.dbn"
    program("convert", inputs.day, "--records", "mbo", "-o", path)
    return path


def test_records_of_a_journal_and_of_dbn_files_are_those_of_the_tables(inputs, plain, day):
    rows = day.mbo().numpy()
    for path in [inputs.journal, inputs.dbn, plain]:
        records = nanotape.open(path).records("mbo")
        assert records.dtype.itemsize == 56
        for field, column in [("price", "price"), ("size", "size"), ("order_id", "order_reference_number"),
                              ("action", "action"), ("side", "side"), ("flags", "flags")]:
            assert (records[field] == rows[column]).all(), (path, field)
        assert (records["ts_event"] == rows["ts_event"].astype("u8")).all()
    for path in [inputs.journal, inputs.dbn]:
        opened = nanotape.open(path)
        trades, best = opened.records("trades"), opened.records("bbo")
        expected = day.trades().numpy()
        expected = expected[expected["size"] > 0]
        assert (trades["price"] == expected["price"]).all()
        changes = day.bbo().numpy()
        assert len(best) >= len(changes) > 1_000
        assert set(best["bid_px_00"]) >= set(changes["bid_price"])


def test_a_file_of_one_kind_is_mapped_and_not_copied(inputs, plain):
    mapped = nanotape.open(plain).records()
    assert isinstance(mapped, numpy.memmap) and not mapped.flags.writeable
    assert not isinstance(nanotape.open(inputs.dbn).records(), numpy.memmap)
    # Only books need order records.
    for kind in ["bbo", "trades"]:
        path = inputs.folder / f"{kind}.dbn"
        program("convert", inputs.day, "--records", kind, "-o", path)
        records = nanotape.open(path).records(kind)
        assert isinstance(records, numpy.memmap)
        assert (records == nanotape.open(inputs.dbn).records(kind)).all()
        with pytest.raises(nanotape.InputError, match="books need mbo records"):
            nanotape.open(path).bbo().numpy()
    # A file with other kinds as well is copied.
    several = inputs.folder / "several.dbn"
    program("convert", inputs.day, "--records", "mbo,trades", "-o", several)
    copied = nanotape.open(several).records()
    assert not isinstance(copied, numpy.memmap)
    assert (copied == mapped).all()


def test_a_dbn_file_gives_the_records_of_all_days_unless_a_run_is_chosen(plain, tmp_path):
    one = nanotape.open(plain).records()
    later = numpy.array(one)
    later["ts_event"] += 86_400 * 10**9
    header = plain.read_bytes()[:-one.nbytes]
    two = tmp_path / "two.dbn"
    two.write_bytes(header + one.tobytes() + later.tobytes())
    packed = tmp_path / "two.dbn.gz"
    packed.write_bytes(gzip.compress(two.read_bytes()))
    for path in [two, packed]:
        records = nanotape.open(path).records()
        assert (records == numpy.concatenate([one, later])).all(), path
        # A trade date begins a run.
        last = nanotape.open(path, run=2).records()
        assert (last == later).all(), path
        with pytest.raises(nanotape.InputError, match="2 runs"):
            nanotape.open(path, run=3)


def test_numbers_of_an_arrow_file_are_not_copied(inputs, tmp_path):
    import pyarrow
    path = tmp_path / "mbo.arrow"
    program("export", inputs.day, "--records", "mbo", "-o", path)
    with pyarrow.memory_map(str(path)) as memory:
        before = pyarrow.total_allocated_bytes()
        table = pyarrow.ipc.open_file(memory).read_all()
        price = table["price"].chunk(0).to_numpy(zero_copy_only=True)
        assert len(price) > 1_000 and price[0] > 0
        # Dictionaries and the like; the rows have some megabytes.
        assert pyarrow.total_allocated_bytes() - before < 100_000 < table.nbytes
        del price, table


def test_damaged_records_are_reported(inputs, plain, tmp_path):
    cut = tmp_path / "cut.dbn"
    cut.write_bytes(plain.read_bytes()[:-20])
    with pytest.warns(nanotape.IncompleteWarning, match="cut.dbn"):
        records = nanotape.open(cut).records()
    whole = nanotape.open(plain).records()
    assert (records == whole[:-1]).all()
    with pytest.raises(nanotape.IncompleteInput):
        nanotape.open(cut, strict=True).records()
    with pytest.raises(nanotape.InputError, match="no stored records"):
        nanotape.open(inputs.day).records()
    with pytest.raises(ValueError, match="kind"):
        nanotape.open(plain).records("quotes")


def test_a_path_that_is_not_utf_8_is_that_of_the_file(plain, tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"day-\xff.dbn")
    shutil.copy(plain, path)
    expected = nanotape.open(plain).records()
    for name in [path, os.fsdecode(path)]:
        opened = nanotape.open(name)
        records = opened.records()
        assert isinstance(records, numpy.memmap) and (records == expected).all()
        # Text that can be printed.
        opened.name.encode()
        assert len(opened.mbo().numpy()) == len(expected)


def naive_levels(rows, changes_books):
    """Shares at each price, from order rows; an action changes a book if the function says so."""
    orders = {}
    for row in rows:
        number, action = int(row["order_reference_number"]), row["action"]
        if not changes_books(action):
            continue
        if action == b"A":
            orders[number] = [row["side"], int(row["price"]), int(row["size"])]
        elif number in orders:
            orders[number][2] -= int(row["size"])
            if orders[number][2] <= 0:
                del orders[number]
    levels = {}
    for side, price, size in orders.values():
        levels[side, price] = levels.get((side, price), 0) + size
    return levels


def test_trades_and_fills_change_no_book(day):
    """The row C after a fill removes its shares. A reader that applies the fill too has other books."""
    stats = day.stats().numpy()
    stock = stats["symbol"][stats["trades"].argsort()[-2]].decode()
    rows = day.mbo(symbols=stock, end="15:00").numpy()
    assert (rows["action"] == b"F").sum() > 10
    book = day.levels(stock, "15:00").numpy()
    sides = {b"bid": b"B", b"ask": b"A"}
    expected = {(sides[level["side"]], int(level["price"])): int(level["size"]) for level in book}
    assert len(expected) > 10
    right = naive_levels(rows, lambda action: action in (b"A", b"C"))
    wrong = naive_levels(rows, lambda action: action in (b"A", b"C", b"F"))
    assert right == expected
    assert wrong != expected
