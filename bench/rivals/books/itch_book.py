"""Fetches and builds itch-book, the rival in C++."""

import hashlib
import os
import shutil
import sys
import tarfile
from pathlib import Path

from harness.build import WORK, Unavailable, checked, say

HERE = Path(__file__).resolve().parent
VERSION = "0.2.1"
SHA256 = "171a9cb1a96749259f292c1a2777bdd285f5ae68d1fcf02dc7682c5606f23671"
FLAGS = ["-std=c++23", "-O3", "-march=native", "-DNDEBUG"]


def build(fixed_decimal):
    """Compiles the driver with the headers of the source package. Returns executable and version."""
    headers = source() / "include"
    price, version = HERE / "stand_in", f"{VERSION}, stand-in price"
    if fixed_decimal:
        price, version = Path(fixed_decimal).resolve(), VERSION
        if not (price / "fixed_decimal.hpp").is_file():
            raise Unavailable(f"{price}: no fixed_decimal.hpp there; name the folder that has it")
    wanted = filter(None, [os.environ.get("CXX"), "g++", "clang++"])
    compiler = next(filter(shutil.which, wanted), None)
    if compiler is None:
        raise Unavailable("no C++ compiler: install the package g++ or clang, or set CXX")
    executable = WORK / "itch_book_driver"
    say(f"building itch-book {VERSION} with {compiler}")
    files = [f"-I{headers}", f"-I{price}", str(HERE / "itch_book_driver.cpp"), "-o", str(executable)]
    checked([compiler, *FLAGS, *files], f"{compiler} with C++23")
    return executable, version


def source():
    """The folder of the source package, fetched and unpacked once."""
    folder = WORK / f"itch_book-{VERSION}"
    if folder.is_dir():
        return folder
    archive = WORK / f"itch_book-{VERSION}.tar.gz"
    if not archive.is_file():
        say(f"fetching the source package itch-book {VERSION} with pip")
        options = ["--no-binary", ":all:", "--no-deps", "--dest", str(WORK)]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options]
        checked([*command, f"itch-book=={VERSION}"], "the PyPI package itch-book, and pip")
    if not archive.is_file():
        raise Unavailable(f"pip fetched no {archive.name}; put the source package into {WORK}")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise Unavailable(f"{archive.name} has the wrong SHA-256 sum: delete it and try again")
    with tarfile.open(archive) as files:
        files.extractall(WORK, filter="data")
    return folder
