"""Builds the rivals. One that cannot be had is left out, with the reason in one line."""

import os
from pathlib import Path

from harness.build import Unavailable, checked, say

HERE = Path(__file__).resolve().parent.parent
JAVA = HERE / "java"

# What Chronicle Queue needs to start at all on a JDK from 17.
EXPORTS = [
    "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "jdk.unsupported/sun.misc",
    "jdk.compiler/com.sun.tools.javac.file",
]
OPENS = [
    "jdk.compiler/com.sun.tools.javac", "java.base/java.lang", "java.base/java.lang.reflect",
    "java.base/java.io", "java.base/java.util", "java.base/sun.nio.ch", "java.base/java.nio",
    "java.base/jdk.internal.misc",
]
JAVA_FLAGS = [
    *(word for name in EXPORTS for word in ("--add-exports", f"{name}=ALL-UNNAMED")),
    *(word for name in OPENS for word in ("--add-opens", f"{name}=ALL-UNNAMED")),
    "-Dchronicle.analytics.disable=true",
    # A heap that is large enough keeps the collector out of the measurement.
    "-Xms512m", "-Xmx2g", "-XX:+UseParallelGC",
]


def build(programs):
    """What starts each program, by name, and reasons for those that are left out."""
    commands, left_out = {}, {}
    ways = {"java": java_start, "rust": rust_start}
    for program in programs:
        if program.kind in ways:
            try:
                say(f"building {program.name}")
                commands[program.name] = ways[program.kind]()
            except Unavailable as reason:
                left_out[program.name] = str(reason)
    return commands, left_out


def rust_start():
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / ".work" / "target")) / "journal-rivals"
    flags = " ".join(filter(None, [os.environ.get("RUSTFLAGS", ""), "-C target-cpu=native"]))
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS=flags)
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    checked(command, "cargo and a C compiler", cwd=HERE, env=environment)
    return [str(target / "release" / "journal-rivals")]


def java_start():
    checked(["mvn", "-q", "-B", "package"], "Maven 3.8, a JDK from 17, the network once", cwd=JAVA)
    checked(["java", "-version"], "Java from 17")
    path = f"{JAVA}/target/journal-rivals-java-0.jar:{JAVA}/target/dependency/*"
    return ["java", *JAVA_FLAGS, "-cp", path, "nanotape.journalrivals.Main"]
