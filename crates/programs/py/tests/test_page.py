"""The blocks of docs/python.md run, with a synthetic day in place of a real one."""

import gzip
import os
import re
import shutil
import warnings
from pathlib import Path

import nanotape
from conftest import program

PAGE = Path(__file__).parents[4] / "docs/python.md"


def test_the_page_runs(inputs, day, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12302019.NASDAQ_ITCH50.gz").write_bytes(gzip.compress(inputs.day.read_bytes(), 1))
    (tmp_path / "days").mkdir()
    shutil.copy(inputs.day, "days")
    # What is no file is no day.
    os.mkfifo("days/pipe")
    for name in ["a.pcap", "b.pcap"]:
        shutil.copy(inputs.capture("cboe-pitch"), name)
    program("convert", inputs.day, "--records", "mbo", "-o", "day.dbn")
    ring, states = (f"/dev/shm/nanotape-py-{os.getpid()}-page-{kind}" for kind in ["ring", "states"])
    program("run", "--input", inputs.day, "--ring", ring, "--journal", "journal", "--latest", states)
    stats = day.stats().numpy()
    first, second = stats["symbol"][stats["messages"].argsort()[-3:-1]]
    order = day.orders(first.decode(), "09:45:00.123456789").numpy()["order_reference_number"][0]
    names = {
        '"AAPL"': f'"{first.decode()}"', '"MSFT"': f'"{second.decode()}"', "queue(42)": f"queue({order})",
        '"days/equities"': '"journal"', '"equities", ': f'"{ring}", start="oldest", ', '"states"': f'"{states}"',
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 7
    space = {}
    try:
        for block in blocks:
            for name, here in names.items():
                block = block.replace(name, here)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(compile(block, PAGE.name, "exec"), space)
    finally:
        program("ring", "remove", ring)
        os.remove(states)
    assert len(space["array"]) > 100 and isinstance(space["item"], nanotape.Event)
    assert sorted(path.name for path in Path("dataset").iterdir()) == ["bbo", "trades"]
