"""A tap beside a plant: bursts, pauses, losses, and the event loop of its user."""

import asyncio
import os
import subprocess
import time
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
        if not paused and isinstance(item, nanotape.Batch):
            paused = True
            # The plant goes on, and its ring overwrites what was not read.
            time.sleep(3)
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
