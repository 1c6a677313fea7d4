"""Builds the rivals. One that cannot be had is left out, with the reason in one line."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
JAVA = HERE / "java"

# Agrona reaches into the JDK, and its bounds checks are off where it is used for speed. A heap that
# is large enough keeps the collector out of the measurement.
JAVA_FLAGS = [
    "--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED",
    "-Dagrona.disable.bounds.checks=true",
    "-Xms512m", "-Xmx2g", "-XX:+UseParallelGC",
]


class Unavailable(Exception):
    """Something that cannot be built, and why, in one line."""


def say(text):
    print(f"run: {text}", file=sys.stderr, flush=True)


def build(programs):
    """What starts each program, by name, and reasons for those that are left out."""
    commands, left_out = {}, {}
    rust = [program.name for program in programs if program.kind == "rust"]
    for name, executable in rust_programs(rust, left_out).items():
        commands[name] = [str(executable), name]
    java = [program.name for program in programs if program.kind == "java"]
    if java:
        try:
            start = java_start()
            commands.update({name: [*start, name] for name in java})
        except Unavailable as reason:
            left_out.update(dict.fromkeys(java, str(reason)))
    return commands, left_out


def rust_programs(names, left_out):
    """All in one executable, or each in its own if that fails."""
    if not names:
        return {}
    try:
        return dict.fromkeys(names, cargo("all", names))
    except Unavailable as reason:
        if len(names) == 1:
            left_out[names[0]] = str(reason)
            return {}
    built = {}
    for name in names:
        try:
            built[name] = cargo(name, [name])
        except Unavailable as reason:
            left_out[name] = str(reason)
    return built


def cargo(folder, features):
    """Builds the workspace of this folder for the processor of this machine."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / ".work" / "target")) / f"rivals-{folder}"
    say(f"building {', '.join(features)}")
    flags = " ".join(filter(None, [os.environ.get("RUSTFLAGS", ""), "-C target-cpu=native"]))
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS=flags)
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    checked([*command, "--features", ",".join(features)], "cargo", cwd=HERE, env=environment)
    return target / "release" / "ring-rivals"


def java_start():
    """The command that starts any of the programs in Java, but for its name."""
    say("building the programs in Java")
    checked(["mvn", "-q", "-B", "package"], "Maven 3.8 and a JDK from 17", cwd=JAVA)
    checked(["java", "-version"], "Java from 17")
    path = f"{JAVA}/target/ring-rivals-java-0.jar:{JAVA}/target/dependency/*"
    return ["java", *JAVA_FLAGS, "-cp", path, "nanotape.ringrivals.Main"]


def checked(command, needs, **options):
    """Runs a step of a build; what went wrong becomes one line that names what is needed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not there; needed: {needs}") from None
    if done.returncode != 0:
        said = (done.stderr + done.stdout).splitlines()
        lines = [line.strip() for line in said if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        reason = (errors or lines or ["no message"])[0]
        raise Unavailable(f"{command[0]} failed: {reason}; needed: {needs}")
