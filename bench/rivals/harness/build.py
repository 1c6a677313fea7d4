"""Builds the programs. A rival that cannot be had is left out, with the reason in one line."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
WORK = HERE / ".work"

ITCH_BOOK = "0.2.1"
ITCH_BOOK_SHA256 = "171a9cb1a96749259f292c1a2777bdd285f5ae68d1fcf02dc7682c5606f23671"
ITCH_BOOK_FLAGS = ["-std=c++23", "-O3", "-march=native", "-DNDEBUG"]

CRATES = ["itchy", "itch5", "hftbacktest"]


class Unavailable(Exception):
    """Something that cannot be built, and why, in one line."""


def say(text):
    print(f"run: {text}", file=sys.stderr, flush=True)


def build(libraries, fixed_decimal=None):
    """Executables and versions by library, and reasons for those that are left out."""
    WORK.mkdir(exist_ok=True)
    built, left_out = {}, {}
    # nanotape as it ships: no flags for this processor. Its build also makes the copy of a day.
    built["nanotape"] = (cargo("shipped", [], ""), nanotape_version())
    wanted = [crate for crate in CRATES if crate in libraries]
    for crate, executable in native(wanted, left_out).items():
        built[crate] = (executable, locked_version(crate))
    if "itch-book" in libraries:
        try:
            built["itch-book"] = itch_book(fixed_decimal)
        except Unavailable as reason:
            left_out["itch-book"] = str(reason)
    return built, left_out


def native(crates, left_out):
    """The rivals in Rust, compiled for this processor: all at once, or each alone if that fails."""
    if not crates:
        return {}
    try:
        executable = cargo("native", crates, "-C target-cpu=native")
        return dict.fromkeys(crates, executable)
    except Unavailable as reason:
        if len(crates) == 1:
            left_out[crates[0]] = str(reason)
            return {}
    built = {}
    for crate in crates:
        try:
            built[crate] = cargo(f"native-{crate}", [crate], "-C target-cpu=native")
        except Unavailable as reason:
            left_out[crate] = str(reason)
    return built


def cargo(name, features, flags):
    """Builds the workspace of this folder, in a folder of its own for each choice of flags."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", WORK / "target")) / name
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    if features:
        command += ["--features", ",".join(features)]
    say(f"building nanotape's programs{' with ' + ', '.join(features) if features else ''}")
    flags = " ".join(filter(None, [os.environ.get("RUSTFLAGS", ""), flags]))
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS=flags)
    checked(command, "cargo, from rustup", cwd=HERE, env=environment)
    return target / "release" / "rivals"


def itch_book(fixed_decimal):
    """The driver, against the headers of the source package."""
    headers = itch_book_source() / "include"
    price, version = HERE / "stand_in", f"{ITCH_BOOK}, stand-in price"
    if fixed_decimal:
        price, version = Path(fixed_decimal).resolve(), f"{ITCH_BOOK}"
        if not (price / "fixed_decimal.hpp").is_file():
            raise Unavailable(f"{price}: no fixed_decimal.hpp there; name the folder that has it")
    wanted = filter(None, [os.environ.get("CXX"), "g++", "clang++"])
    compiler = next(filter(shutil.which, wanted), None)
    if compiler is None:
        raise Unavailable("no C++ compiler: install the package g++ or clang, or set CXX")
    executable = WORK / "itch_book_driver"
    say(f"building itch-book {ITCH_BOOK} with {compiler}")
    source = [str(HERE / "itch_book_driver.cpp"), "-o", str(executable)]
    folders = [f"-I{headers}", f"-I{price}"]
    checked([compiler, *ITCH_BOOK_FLAGS, *folders, *source], f"{compiler} with C++23")
    return executable, version


def itch_book_source():
    """The unpacked source package, fetched once."""
    folder = WORK / f"itch_book-{ITCH_BOOK}"
    if folder.is_dir():
        return folder
    archive = WORK / f"itch_book-{ITCH_BOOK}.tar.gz"
    if not archive.is_file():
        say(f"fetching the source package itch-book {ITCH_BOOK} with pip")
        options = ["--no-binary", ":all:", "--no-deps", "--dest", str(WORK)]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options]
        checked([*command, f"itch-book=={ITCH_BOOK}"], "the PyPI package itch-book, and pip")
    if not archive.is_file():
        raise Unavailable(f"pip fetched no {archive.name}; put the source package into {WORK}")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != ITCH_BOOK_SHA256:
        raise Unavailable(f"{archive.name} is not the file that was looked at: delete it, try again")
    with tarfile.open(archive) as files:
        files.extractall(WORK, filter="data")
    return folder


def checked(command, needs, **options):
    """Runs a step of a build; what went wrong becomes one line that names what is needed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not there; needed: {needs}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        reason = (errors or lines or ["no message"])[0]
        raise Unavailable(f"{Path(command[0]).name} failed: {reason}; needed: {needs}")


def nanotape_version():
    """The commit of this checkout, marked where files differ from it."""
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(describe, capture_output=True, text=True)
    except FileNotFoundError:
        return "this tree"
    return done.stdout.strip() or "this tree"


def locked_version(crate):
    """What the committed lock file says."""
    lock = (HERE / "Cargo.lock").read_text()
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock)
    return found.group(1) if found else "?"
