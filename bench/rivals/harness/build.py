"""Builds the programs. A program that cannot be built is left out, with the reason in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
WORK = HERE / ".work"
NATIVE = "-C target-cpu=native"


class Unavailable(Exception):
    """Why something cannot be built, in one line."""


def say(text):
    print(f"run: {text}", file=sys.stderr, flush=True)


def rust(package, names, left_out, needs="cargo"):
    """Executables by name: one that has all of these rivals, or one for each rival if that fails."""
    if not names:
        return {}
    try:
        return dict.fromkeys(names, cargo(package, names, NATIVE, "native", needs))
    except Unavailable as reason:
        if len(names) == 1:
            left_out[names[0]] = str(reason)
            return {}
    built = {}
    for name in names:
        try:
            built[name] = cargo(package, [name], NATIVE, f"native-{name}", needs)
        except Unavailable as reason:
            left_out[name] = str(reason)
    return built


def cargo(package, features, flags, folder, needs="cargo"):
    """Builds a package of this workspace. Each choice of flags has a target folder of its own."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", WORK / "target")) / f"rivals-{folder}"
    say(f"building {package}{' with ' + ', '.join(features) if features else ''}")
    flags = " ".join(filter(None, [os.environ.get("RUSTFLAGS", ""), flags]))
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS=flags)
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--package", package]
    if features:
        command += ["--features", ",".join(features)]
    checked(command, needs, cwd=HERE, env=environment)
    return target / "release" / package


def java(name, flags):
    """The command that starts the Java programs of a comparison, without their arguments."""
    say(f"building the Java programs of {name}")
    build = ["mvn", "-q", "-B", "-pl", f"{name}/java", "-am", "package"]
    checked(build, "Maven 3.8, a JDK from 17, and the network once", cwd=HERE)
    checked(["java", "-version"], "Java from 17")
    target = HERE / name / "java" / "target"
    path = f"{target}/rivals-{name}-java-0.jar:{target}/dependency/*"
    # A large heap keeps the collector out of the measurement.
    heap = ["-Xms512m", "-Xmx2g", "-XX:+UseParallelGC"]
    return ["java", *flags, *heap, "-cp", path, f"nanotape.rivals.{name}.Main"]


def python(name, packages, check):
    """The interpreter of an environment of its own with packages of PyPI, which are fetched once.

    `check` is a statement that fails if they are not there.
    """
    folder = WORK / f"{name}-python"
    interpreter = folder / "bin" / "python"
    try:
        checked([str(interpreter), "-c", check], name)
    except Unavailable:
        say(f"fetching {', '.join(packages)}")
        checked([sys.executable, "-m", "venv", str(folder)], "the package python3-venv")
        checked([str(interpreter), "-m", "pip", "install", "--quiet", *packages], "pip, and the network once")
    return interpreter


def checked(command, needs, **options):
    """Runs a step of a build. A failure becomes one line that names what is needed."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise Unavailable(f"{name} is not installed; needed: {needs}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        reason = (errors or lines or ["no message"])[0]
        raise Unavailable(f"{name} failed: {reason}; needed: {needs}")


def checkout_version():
    """The commit of this checkout, with + if files differ from it."""
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(describe, capture_output=True, text=True)
    except FileNotFoundError:
        return "this tree"
    return done.stdout.strip() or "this tree"


def locked_version(crate):
    """The version of a crate in the committed lock file."""
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', (HERE / "Cargo.lock").read_text())
    return found.group(1) if found else "?"
