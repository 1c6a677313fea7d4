"""A tap beside a plant: bursts, pauses, losses, and the event loop of its user."""

import asyncio
import os
import signal
import subprocess
import time
from concurrent import futures
from pathlib import Path

import pyarrow
import pytest

import nanotape
from conftest import program


@pytest.fixture
def ring(request):
    path = Path("/dev/shm") / f"nanotape-py-{os.getpid()}-{request.node.name[:20]}"
    yield path
    subprocess.run(["nanotape", "ring", "remove", path], capture_output=True)


def plant(day, ring, *more):
    words = ["nanotape", "run", "--input", day, "--ring", ring, *map(str, more)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def long_day(tmp_path_factory):
    """A day with many times the records that a small ring has."""
    path = tmp_path_factory.mktemp("long") / "12302019.NASDAQ_ITCH50"
    program("synth", "-o", path, "--messages", 1_500_000, "--symbols", 50)
    return path


def numbers(items):
    """The numbers of the records of batches and events."""
    for item in items:
        if isinstance(item, nanotape.Batch):
            yield from pyarrow.record_batch(item)["sequence"].to_pylist()
        elif item.kind not in ("lost", "healed"):
            yield item.sequence


def test_a_loop_that_pauses_is_complete_with_a_journal(long_day, ring, tmp_path):
    journal = tmp_path / "journal"
    process = plant(long_day, ring, "--journal", journal, "--capacity", "4MiB")
    tap = nanotape.tap(ring, heal=journal, start="oldest", wait=20)
    items, paused = [], False
    for item in tap:
        items.append(item)
        for last in numbers([item]):
            pass
        assert tap.next_sequence == last + 1
        if not paused and isinstance(item, nanotape.Batch):
            paused = True
            # The plant goes on, and its ring overwrites what was not read.
            assert process.wait() == 0
    found = list(numbers(items))
    assert found == list(range(1, len(found) + 1))
    assert tap.end.startswith("the plant stopped")
    assert any(isinstance(item, nanotape.Event) and item.kind == "healed" for item in items)
    in_journal = nanotape.open(journal).mbo().arrow().num_rows
    rows = [pyarrow.record_batch(item) for item in items if isinstance(item, nanotape.Batch)]
    kinds = pyarrow.Table.from_batches(rows)["record"].to_pylist()
    assert kinds.count("mbo") == in_journal
    # A program that was restarted goes on where it was, before what the ring still has.
    again = list(nanotape.tap(ring, heal=journal, start=1_000, wait=20))
    assert list(numbers(again)) == found[999:]
    with pytest.raises(ValueError, match="start"):
        nanotape.tap(ring, start="yesterday")


def test_a_loss_is_an_event_with_its_numbers(long_day, ring):
    process = plant(long_day, ring, "--capacity", "1MiB")
    tap = nanotape.tap(ring, start="oldest", wait=20)
    first = tap.next()
    assert process.wait() == 0
    items = [first, *tap]
    lost = [item for item in items if isinstance(item, nanotape.Event) and item.kind == "lost"]
    assert lost, "the ring was overwritten"
    gone = sum(event.last - event.sequence + 1 for event in lost)
    found = list(numbers(items))
    assert len(found) + gone == found[-1]


def test_the_end_of_a_tap_is_shown_after_its_last_item(inputs, ring):
    """A step of the reading has many items, and the stop is the last one."""
    program("run", "--input", inputs.day, "--ring", ring)
    tap = nanotape.tap(ring, start="oldest", wait=20)
    items, restarts = [], []
    while tap.end is None:
        following = tap.next_sequence
        item = tap.next(timeout=20)
        if item is not None:
            assert next(numbers([item])) == following
            items.append(item)
            if isinstance(item, nanotape.Batch) and len(restarts) < 5:
                restarts.append((len(items), tap.next_sequence))
    assert items[-1].kind == "stop" and tap.end.startswith("the plant stopped")
    assert tap.next() is None
    found = list(numbers(items))
    assert found == list(range(1, len(found) + 1))
    assert tap.next_sequence == len(found) + 1
    # A program that begins again loses nothing, and gets nothing twice.
    assert len(restarts) == 5
    for given, following in restarts:
        again = nanotape.tap(ring, start=following, wait=20)
        assert [*numbers(items[:given]), *numbers(again)] == found


def test_a_wait_that_is_cancelled_loses_no_item(inputs, ring):
    program("run", "--input", inputs.day, "--ring", ring)
    tap = nanotape.tap(ring, start="oldest", wait=20)

    async def read():
        items, cancelled, of_tap = [], 0, aiter(tap)
        while True:
            task = asyncio.ensure_future(anext(of_tap))
            await asyncio.sleep(0)
            task.cancel()
            try:
                items.append(await task)
            except asyncio.CancelledError:
                cancelled += 1
                # The thread of the wait goes on.
                await asyncio.sleep(0.001)
            except StopAsyncIteration:
                return items, cancelled

    items, cancelled = asyncio.run(read())
    assert cancelled > 0
    found = list(numbers(items))
    assert items[-1].kind == "stop" and found == list(range(1, len(found) + 1))


def test_a_tap_of_a_rare_stock_seldom_returns_to_the_interpreter(inputs, ring):
    """Each return waits for the lock of the interpreter, 5 ms beside a busy thread, and a poll reads only 16 KiB."""
    program("run", "--input", inputs.day, "--ring", ring)
    tap = nanotape.tap(ring, start="oldest", symbols=["NOSUCH"], records=["mbo"], wait=20)
    returns = []
    # The handler runs at a return, if a signal came before it.
    before = signal.signal(signal.SIGALRM, lambda *_: returns.append(None))
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    try:
        items = list(tap)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    took = time.monotonic() - began
    # A record has 56 bytes and more.
    assert items[-1].kind == "stop" and items[-1].sequence * 56 / 16_384 > 200
    # A return to look for signals each 50 ms, and some for each of the items.
    assert len(returns) <= took / 0.05 + 10 * len(items)


def test_a_tap_waits_in_the_loop_of_its_user(inputs, ring, tmp_path):
    journal = tmp_path / "journal"

    async def both():
        ticks, rows = 0, 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        process = plant(inputs.day, ring, "--journal", journal)
        tap = nanotape.tap(ring, heal=journal, start="oldest", wait=20)
        async for item in tap:
            if isinstance(item, nanotape.Batch):
                rows += len(item)
        ticking.cancel()
        assert process.wait() == 0
        return ticks, rows, tap.end

    ticks, rows, end = asyncio.run(both())
    assert end.startswith("the plant stopped")
    assert rows > 60_000
    # The loop went on while the tap waited; how often depends on the machine.
    assert ticks >= 1


def test_a_tap_that_is_closed_ends(inputs, ring):
    process = plant(inputs.day, ring, "--pace", "1x")
    with nanotape.tap(ring, wait=20) as tap:
        assert tap.next(timeout=0.05) is None or tap.end is None
    assert list(tap) == [] or tap.end == "closed"
    assert tap.end == "closed"
    process.terminate()
    process.wait()


def test_a_tap_that_is_closed_gives_no_more_and_goes_on_later(inputs, ring):
    process = plant(inputs.day, ring)
    with nanotape.tap(ring, start="oldest", wait=20, records=["status", "definitions"]) as tap:
        assert process.wait() == 0
        first = [tap.next().sequence, tap.next().sequence]
        tap.close()
        assert (tap.next(), list(tap), tap.end) == (None, [], "closed")
        later = tap.next_sequence
    assert first[1] < later
    with nanotape.tap(ring, start=later, records=["status", "definitions"]) as tap:
        assert tap.next().sequence == later


def test_a_tap_at_the_end_of_a_plant_waits_for_the_next_one(inputs, ring):
    process = plant(inputs.day, ring)
    tap = nanotape.tap(ring, start="oldest", wait=20)
    *_, stop = tap
    assert (process.wait(), stop.kind) == (0, "stop")
    later = tap.next_sequence
    # Without a wait it ends, and says why.
    rest = nanotape.tap(ring, start=later)
    assert (rest.next(), rest.end) == (None, "the plant stopped")
    with pytest.raises(nanotape.InputError, match="not published"):
        nanotape.tap(ring, start=later + 1)

    for more in [0, 1]:
        start = later + more
        opened = futures.ThreadPoolExecutor().submit(nanotape.tap, ring, start=start, wait=60)
        time.sleep(0.2)
        assert not opened.done()
        process = plant(inputs.day, ring)
        tap = opened.result()
        first = tap.next()
        assert first.sequence >= start and (first.kind == "start" or more)
        list(tap)
        assert (process.wait(), tap.end) == (0, "the plant stopped: end of input")
        later = tap.next_sequence


def test_a_tap_that_waits_begins_with_the_first_record_of_the_plant(inputs, ring, tmp_path):
    ends = 0
    for more, heal in [((), None), ((), None), (("--journal", tmp_path / "journal"), tmp_path / "journal")]:
        opened = futures.ThreadPoolExecutor().submit(nanotape.tap, ring, wait=60, heal=heal)
        time.sleep(0.2)
        assert not opened.done()
        process = plant(inputs.day, ring, *more)
        # The plant can be over by the time of the next attempt.
        items = list(opened.result())
        assert process.wait() == 0
        assert items[0].kind == "start"
        found = list(numbers(items))
        assert found == list(range(ends + 1, found[-1] + 1))
        ends = found[-1]


def test_a_start_before_the_oldest_record_loses_only_what_is_overwritten(inputs, ring):
    assert plant(inputs.day, ring, "--capacity", "64KiB").wait() == 0
    lost, *rest = nanotape.tap(ring, start="oldest")
    assert lost.kind == "lost"
    for start in [1, lost.last - 1, lost.last]:
        event, *later = nanotape.tap(ring, start=start)
        assert (event.sequence, event.last) == (start, lost.last)
        assert list(numbers(later)) == list(numbers(rest))


def test_a_folder_without_a_journal_heals_nothing(inputs, ring, tmp_path):
    process = plant(inputs.day, ring)
    assert process.wait() == 0
    with pytest.raises(nanotape.InputError, match="no journal there"):
        nanotape.tap(ring, start="oldest", heal=tmp_path, heal_wait=0.1)


def test_a_wait_for_a_silent_plant_has_its_time(inputs, ring):
    process = plant(inputs.day, ring, "--pace", "1x")
    tap = nanotape.tap(ring, start="oldest", wait=20)
    process.send_signal(signal.SIGSTOP)
    while tap.next(timeout=0.2) is not None:
        pass
    assert [tap.next(timeout=0.2) for _ in range(3)] == [None] * 3
    assert tap.end is None
    process.kill()
    process.wait()
    list(tap)
    assert tap.end == "the plant was killed"


def test_a_plant_that_is_killed_is_the_reason_for_the_end(inputs, ring):
    process = plant(inputs.day, ring, "--pace", "1x")
    tap = nanotape.tap(ring, start="oldest", wait=20)
    assert tap.next() is not None
    process.kill()
    process.wait()
    list(tap)
    assert tap.end == "the plant was killed"


def test_events_have_the_values_of_their_records(inputs, ring):
    process = plant(inputs.day, ring)
    tap = nanotape.tap(ring, start="oldest", wait=20, records=["definitions", "status"])
    events = [item for item in tap if isinstance(item, nanotape.Event)]
    assert process.wait() == 0
    definitions = [event for event in events if event.kind == "definition"]
    assert len(definitions) == 20
    assert all(event.fields["raw_symbol"] == event.symbol for event in definitions)
    assert {"trading", "quoting"} & {str(event.fields.get("action")) for event in events}
