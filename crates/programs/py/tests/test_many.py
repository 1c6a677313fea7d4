"""Many days on several engines: the same dataset, and what is told of a damaged day."""

import os
import signal
from concurrent import futures

import duckdb
import polars
import pyarrow.dataset
import pytest

import nanotape
from conftest import program


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days")
    for number, name in enumerate(["12302019", "12312019", "01022020"]):
        path = folder / f"{name}.NASDAQ_ITCH50"
        program("synth", "-o", path, "--messages", 20_000, "--symbols", 5, "--seed", number)
    damaged = folder / "12312019.NASDAQ_ITCH50"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2:len(content) // 2 + 5_000] = b"Z" * 5_000
    damaged.write_bytes(content)
    (folder / "notes.txt").write_text("no day")
    return folder


class Like:
    """An engine with the calls of ray, which tasks and results pass as bytes."""

    @staticmethod
    def remote(function):
        import pickle

        class Remote:
            @staticmethod
            def remote(*arguments):
                task = pickle.dumps((function, arguments))
                run, arguments = pickle.loads(task)
                return pickle.dumps(run(*arguments))
        return Remote

    @staticmethod
    def get(results):
        import pickle
        return [pickle.loads(result) for result in results]


@pytest.mark.parametrize("engine", ["threads", "processes", "like ray"])
def test_a_dataset_is_the_same_on_every_engine(days, tmp_path, engine):
    if engine == "processes":
        with futures.ProcessPoolExecutor(2) as pool:
            results = nanotape.many(days, tmp_path, engine=pool)
    else:
        results = nanotape.many(days, tmp_path, engine=Like if engine == "like ray" else None)
    found = {result.input.rsplit("/", 1)[1]: result for result in results}
    assert {name: result.result for name, result in found.items()} == {
        "01022020.NASDAQ_ITCH50": "written", "12302019.NASDAQ_ITCH50": "written",
        "12312019.NASDAQ_ITCH50": "damaged, written", "notes.txt": "failed",
    }
    assert "unreadable bytes" in found["12312019.NASDAQ_ITCH50"].detail
    assert "notes.txt" in found["notes.txt"].detail
    expected = {}
    for name, date in [("12302019", "2019-12-30"), ("01022020", "2020-01-02")]:
        opened = nanotape.open(days / f"{name}.NASDAQ_ITCH50")
        expected[date] = opened.bbo().arrow().num_rows
    rows = duckdb.sql(f"select date::varchar d, count(*) n from read_parquet('{tmp_path}/bbo/*/*.parquet', "
                      "hive_partitioning=true) group by 1").fetchall()
    counts = dict(rows)
    assert {date: counts[date] for date in expected} == expected and len(counts) == 3
    frame = polars.scan_parquet(f"{tmp_path}/bbo", hive_partitioning=True).collect()
    assert frame.height == sum(counts.values())
    dataset = pyarrow.dataset.dataset(tmp_path / "bbo", partitioning="hive")
    assert dataset.count_rows() == sum(counts.values())

    # It goes on where it was.
    again = {result.input.rsplit("/", 1)[1]: result.result for result in nanotape.many(days, tmp_path)}
    assert again == {
        "01022020.NASDAQ_ITCH50": "exists", "12302019.NASDAQ_ITCH50": "exists",
        "12312019.NASDAQ_ITCH50": "damaged, exists", "notes.txt": "failed",
    }


def test_an_engine_that_is_none_is_an_error(days, tmp_path):
    with pytest.raises(TypeError, match="expected an executor"):
        nanotape.many(days, tmp_path, engine="threads")
    assert nanotape.many([], tmp_path) == []
    # Bytes are paths too.
    (tmp_path / "none").mkdir()
    assert nanotape.many(os.fsencode(tmp_path / "none"), os.fsencode(tmp_path)) == []


def test_two_days_of_one_name_and_date_are_an_error(tmp_path):
    for names in [("a/feed.a.itch", "b/feed.b.itch"), ("x.itch", "x.itch"), ("x.itch", "x.itch.gz")]:
        with pytest.raises(ValueError, match="rename one"):
            nanotape.many(names, tmp_path)


def test_a_wrong_option_is_told_and_none_is_a_success(days, tmp_path):
    with pytest.raises(TypeError, match="expected a list"):
        nanotape.many(days, tmp_path, options="--levels")
    with pytest.raises(TypeError, match="expected an executor"):
        nanotape.many(days, tmp_path, engine=futures.ThreadPoolExecutor)
    day = days / "12302019.NASDAQ_ITCH50"
    for options, said in [(["--help"], "status 0"), ([str(days / "01022020.NASDAQ_ITCH50")], "another input"),
                          (["--nope"], "'--nope'"), (["--"], "another input"), (["--date", "2020-01-02"], "has the date 2019-12-30")]:
        [result] = nanotape.many([day], tmp_path, options=options)
        assert (result.result, said in result.detail) == ("failed", True), result
    [result] = nanotape.many([day], tmp_path, tables=["nope"])
    assert "nope" in result.detail
    assert not list(tmp_path.iterdir())


def killed(*_):
    os._exit(1)


def test_a_worker_that_dies_costs_its_days_only(days, tmp_path, monkeypatch):
    monkeypatch.setattr(nanotape, "_export_day", killed)
    with futures.ProcessPoolExecutor(1) as pool:
        results = nanotape.many(days, tmp_path, engine=pool)
    assert [result.result for result in results] == ["failed"] * 4
    assert all("BrokenProcessPool" in result.detail for result in results)


def test_ctrl_c_ends_the_days_that_are_under_way(tmp_path):
    os.mkfifo(tmp_path / "12302019.NASDAQ_ITCH50")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        # A day that never comes.
        with pytest.raises(KeyboardInterrupt):
            nanotape.many([tmp_path / "12302019.NASDAQ_ITCH50"], tmp_path / "to")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
