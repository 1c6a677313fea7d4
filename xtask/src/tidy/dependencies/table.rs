//! The table of the architecture: the dependencies of each package.
//!
//! Rows are in flow order, and a row may only name rows above it, so that the table cannot contain
//! a cycle.

/// The allowed dependencies of a package, at run time and in its build.
pub(super) struct Row {
    pub(super) package: &'static str,
    /// Packages of this workspace.
    pub(super) inside: &'static [&'static str],
    /// Packages from elsewhere.
    pub(super) outside: &'static [&'static str],
}

pub(super) const TABLE: &[Row] = &[
    Row { package: "nanotape-types", inside: &[], outside: &[] },
    // docs/decisions/0060-one-reader-of-proc-and-sys.md.
    Row { package: "nanotape-host", inside: &[], outside: &["rustix"] },
    // libc for the owner's lock and the handler of SIGBUS, which rustix does not have; loom only
    // for checking models (cfg nanotape_loom).
    Row {
        package: "nanotape-shm",
        inside: &["nanotape-host"],
        outside: &["libc", "loom", "rustix", "thiserror"],
    },
    // rustix since docs/decisions/0010-the-counter-where-it-can-be-trusted.md.
    Row { package: "nanotape-clock", inside: &["nanotape-host"], outside: &["rustix"] },
    Row { package: "nanotape-market", inside: &["nanotape-types"], outside: &[] },
    // For tests of every crate, so below all of them.
    Row { package: "nanotape-harness", inside: &[], outside: &["libc", "rustix", "tempfile"] },
    // roxmltree since docs/decisions/0078-descriptions-in-xml.md.
    Row { package: "nanotape-schema", inside: &[], outside: &["roxmltree", "thiserror", "toml"] },
    // docs/decisions/0029-one-numbered-stream.md.
    Row { package: "nanotape-tape", inside: &["nanotape-clock"], outside: &["thiserror"] },
    Row { package: "nanotape-wire", inside: &["nanotape-types"], outside: &["thiserror"] },
    // shm since docs/decisions/0003-day-files-are-mapped-window-by-window.md.
    Row {
        package: "nanotape-feed",
        inside: &["nanotape-types", "nanotape-market", "nanotape-shm", "nanotape-wire"],
        // nix and socket2 since docs/decisions/0037-sockets-through-safe-calls.md; rustix since the
        // amendment of docs/decisions/0046-day-files-are-read-block-by-block.md.
        // tempfile since docs/decisions/0063-captures-are-files.md; libc since
        // docs/decisions/0065-calls-for-sockets-in-one-file.md.
        outside: &["flate2", "libc", "nix", "rustix", "socket2", "tempfile", "thiserror", "zstd"],
    },
    // shm since docs/decisions/0015-packed-levels-and-paged-orders.md.
    Row { package: "nanotape-book", inside: &["nanotape-types", "nanotape-shm"], outside: &[] },
    Row {
        package: "nanotape-ring",
        inside: &["nanotape-shm", "nanotape-clock", "nanotape-tape"],
        outside: &["thiserror"],
    },
    Row {
        package: "nanotape-journal",
        inside: &["nanotape-shm", "nanotape-clock", "nanotape-tape"],
        outside: &["rustix", "thiserror", "zstd"],
    },
    // docs/decisions/0072-calls-as-messages.md; ring, journal and schema for its tests.
    Row {
        package: "nanotape-interface",
        inside: &[
            "nanotape-schema",
            "nanotape-types",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-ring",
            "nanotape-journal",
        ],
        outside: &["thiserror"],
    },
    // docs/decisions/0073-fan-out-over-aeron.md; ring for its tests.
    Row {
        package: "nanotape-aeron",
        inside: &["nanotape-clock", "nanotape-tape", "nanotape-ring"],
        outside: &["rusteron-client", "rusteron-media-driver", "thiserror"],
    },
    // docs/decisions/0074-writers-that-the-kernel-knows.md; types since
    // docs/decisions/0075-values-with-a-schema.md.
    Row {
        package: "nanotape-latest",
        inside: &["nanotape-types", "nanotape-clock", "nanotape-shm"],
        outside: &["loom", "thiserror"],
    },
    // docs/decisions/0070-copies-word-for-word.md.
    Row {
        package: "nanotape-link",
        inside: &["nanotape-clock", "nanotape-shm"],
        outside: &["rcgen", "rustix", "rustls", "thiserror"],
    },
    // docs/decisions/0071-a-leader-and-its-followers.md.
    Row {
        package: "nanotape-replication",
        inside: &[
            "nanotape-clock",
            "nanotape-journal",
            "nanotape-link",
            "nanotape-shm",
            "nanotape-tape",
        ],
        outside: &["thiserror"],
    },
    // docs/decisions/0076-many-writers-of-a-map.md.
    Row {
        package: "nanotape-peers",
        inside: &[
            "nanotape-clock",
            "nanotape-shm",
            "nanotape-tape",
            "nanotape-latest",
            "nanotape-link",
        ],
        outside: &["thiserror"],
    },
    // ring since docs/decisions/0048-spans-in-slot-rings.md; nix and rustix since
    // docs/decisions/0050-a-plant-asks-behind-a-slow-message.md.
    Row {
        package: "nanotape-trace",
        inside: &["nanotape-host", "nanotape-shm", "nanotape-clock", "nanotape-ring"],
        outside: &["nix", "rustix", "thiserror"],
    },
    // docs/decisions/0025-logs-in-a-journal.md; shm and trace since
    // docs/decisions/0053-spans-of-tracing-in-rings.md.
    Row {
        package: "nanotape-logging",
        inside: &["nanotape-shm", "nanotape-clock", "nanotape-journal", "nanotape-trace"],
        outside: &["log", "thiserror", "tracing-core", "tracing-subscriber"],
    },
    Row { package: "nanotape-report", inside: &[], outside: &["serde_json"] },
    Row {
        package: "nanotape-lab",
        inside: &["nanotape-host", "nanotape-clock", "nanotape-trace", "nanotape-report"],
        outside: &[
            "clap",
            "libm",
            "perf-event2",
            "rand_xoshiro",
            "rustix",
            "serde",
            "serde_json",
            "thiserror",
            "thread-priority",
        ],
    },
    // docs/decisions/0059-the-queue-is-a-crate.md.
    Row {
        package: "nanotape-queue",
        inside: &["nanotape-trace", "nanotape-lab"],
        outside: &["libm", "serde_json", "thiserror"],
    },
    Row {
        package: "nanotape-machine",
        inside: &[
            "nanotape-host",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-ring",
            "nanotape-trace",
            "nanotape-lab",
        ],
        // flate2: the kernel shows its configuration as a file gzip.
        outside: &["flate2", "nix", "rustix", "serde_json", "thiserror"],
    },
    // docs/decisions/0051-delay-is-a-crate-of-values-and-times.md.
    Row {
        package: "nanotape-delay",
        inside: &[],
        outside: &["cudarc", "rand_xoshiro", "rustfft", "thiserror"],
    },
    Row {
        package: "nanotape-synth",
        inside: &["nanotape-types", "nanotape-wire", "nanotape-trace"],
        outside: &["libm", "rand_xoshiro", "thiserror"],
    },
    // docs/decisions/0035-a-simulated-exchange.md; synth for days in other protocols.
    Row {
        package: "nanotape-exchange",
        inside: &[
            "nanotape-types",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-trace",
            "nanotape-synth",
        ],
        // tempfile since docs/decisions/0054-files-that-no-other-user-chooses.md.
        outside: &["rand_xoshiro", "socket2", "tempfile", "thiserror"],
    },
    Row {
        package: "nanotape-testkit",
        inside: &["nanotape-types", "nanotape-wire", "nanotape-book"],
        outside: &["proptest"],
    },
    Row {
        package: "nanotape-records",
        // interface since docs/decisions/0072-calls-as-messages.md.
        inside: &["nanotape-types", "nanotape-interface", "nanotape-market", "nanotape-book"],
        outside: &["dbn", "jiff", "thiserror"],
    },
    Row {
        package: "nanotape-history",
        inside: &[
            "nanotape-types",
            "nanotape-tape",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-journal",
            "nanotape-records",
        ],
        outside: &["dbn", "thiserror", "zstd"],
    },
    Row {
        package: "nanotape-engine",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-trace",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
        ],
        outside: &[],
    },
    Row {
        package: "nanotape-board",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-trace",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-records",
            "nanotape-history",
        ],
        outside: &["thiserror"],
    },
    Row {
        package: "nanotape-live",
        inside: &[
            "nanotape-types",
            "nanotape-clock",
            "nanotape-trace",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-journal",
            "nanotape-records",
            "nanotape-board",
        ],
        outside: &["serde", "thiserror"],
    },
    Row {
        package: "nanotape-plant",
        inside: &[
            "nanotape-types",
            "nanotape-host",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-trace",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-records",
            "nanotape-history",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-live",
        ],
        outside: &["dbn", "serde", "thiserror", "toml"],
    },
    Row {
        package: "nanotape-tap",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-trace",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-latest",
            "nanotape-records",
            "nanotape-history",
            "nanotape-board",
            "nanotape-plant",
        ],
        outside: &["dbn", "thiserror"],
    },
    // One dependency for programs outside: re-exports only. No row but that of the examples has it.
    // docs/decisions/0061-answers-as-a-library.md.
    Row {
        package: "nanotape-answers",
        inside: &[
            "nanotape-types",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-engine",
            "nanotape-history",
            "nanotape-plant",
            "nanotape-tap",
        ],
        outside: &["thiserror"],
    },
    Row {
        package: "nanotape",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-interface",
            "nanotape-market",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-logging",
            "nanotape-trace",
            "nanotape-lab",
            "nanotape-queue",
            "nanotape-machine",
            "nanotape-delay",
            "nanotape-synth",
            "nanotape-exchange",
            "nanotape-records",
            "nanotape-history",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-live",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-answers",
        ],
        outside: &[],
    },
    // The output layer of the command line and of the benchmarks.
    Row {
        package: "nanotape-console",
        inside: &["nanotape-types", "nanotape-host", "nanotape-clock", "nanotape-tape"],
        outside: &[
            "anyhow",
            "clap",
            "flate2",
            "indicatif",
            "itoa",
            "rustix",
            "serde_json",
            "signal-hook",
            "zstd",
        ],
    },
    // The rules are those of exchanges, so this crate uses their messages.
    Row {
        package: "nanotape-check",
        inside: &[
            "nanotape-types",
            "nanotape-market",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-engine",
        ],
        outside: &[],
    },
    Row {
        package: "nanotape-bench",
        inside: &[
            "nanotape-types",
            "nanotape-host",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-market",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-tape",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-latest",
            "nanotape-aeron",
            "nanotape-link",
            "nanotape-replication",
            "nanotape-history",
            "nanotape-trace",
            "nanotape-lab",
            "nanotape-queue",
            "nanotape-machine",
            "nanotape-delay",
            "nanotape-synth",
            "nanotape-exchange",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-live",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-console",
        ],
        outside: &["anyhow", "clap", "rustix", "serde", "serde_json", "tempfile", "thiserror"],
    },
    // synth since docs/decisions/0031-the-synthetic-market-is-a-crate.md; clap_complete and
    // clap_mangen since docs/decisions/0038-completions-manual-pages-and-the-commit.md.
    // What the programs share about an INPUT: options, errors, findings.
    Row {
        package: "nanotape-arguments",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-history",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-trace",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-answers",
            "nanotape-console",
        ],
        outside: &["anyhow", "clap", "serde_json"],
    },
    Row {
        package: "nanotape-cli",
        inside: &[
            "nanotape-types",
            "nanotape-schema",
            "nanotape-host",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-market",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-latest",
            "nanotape-peers",
            "nanotape-aeron",
            "nanotape-link",
            "nanotape-replication",
            "nanotape-logging",
            "nanotape-trace",
            "nanotape-synth",
            "nanotape-exchange",
            "nanotape-history",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-live",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-answers",
            "nanotape-arguments",
            "nanotape-console",
            "nanotape-check",
            // docs/decisions/0083-a-day-as-a-page.md.
            "nanotape-report",
        ],
        outside: &[
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "itoa",
            "jiff",
            "serde",
            "serde_json",
            "zstd",
        ],
    },
    // docs/decisions/0062-two-programs.md.
    Row {
        package: "nanotape-lab-cli",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-host",
            "nanotape-market",
            "nanotape-feed",
            "nanotape-ring",
            "nanotape-trace",
            "nanotape-board",
            "nanotape-live",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-tape",
            "nanotape-answers",
            "nanotape-arguments",
            "nanotape-lab",
            "nanotape-queue",
            "nanotape-machine",
            "nanotape-delay",
            "nanotape-console",
            "nanotape-bench",
            "nanotape-synth",
        ],
        outside: &["anyhow", "clap", "serde_json"],
    },
    // docs/decisions/0081-tables-in-a-program-of-their-own.md. No row but those of programs has it.
    Row {
        package: "nanotape-tables",
        inside: &["nanotape-types"],
        outside: &[
            "arrow-array",
            "arrow-buffer",
            "arrow-ipc",
            "arrow-schema",
            "flatbuffers",
            "parquet",
            "thiserror",
        ],
    },
    Row {
        package: "nanotape-export",
        inside: &[
            "nanotape-answers",
            "nanotape-arguments",
            "nanotape-clock",
            "nanotape-console",
            "nanotape-feed",
            "nanotape-plant",
            "nanotape-tables",
            "nanotape-types",
        ],
        // rustix for the limit of open files.
        outside: &["anyhow", "arrow-schema", "clap", "ring", "rustix", "zip"],
    },
    // docs/decisions/0082-a-package-for-python.md.
    Row {
        package: "nanotape-py",
        inside: &[
            "nanotape-answers",
            "nanotape-clock",
            "nanotape-delay",
            "nanotape-engine",
            "nanotape-feed",
            "nanotape-latest",
            "nanotape-plant",
            "nanotape-queue",
            "nanotape-schema",
            "nanotape-shm",
            "nanotape-tables",
            "nanotape-tap",
            "nanotape-tape",
            "nanotape-types",
        ],
        outside: &["arrow-array", "arrow-schema", "numpy", "pyo3"],
    },
    // docs/decisions/0084-a-library-for-c.md; plant for its tests.
    Row {
        package: "nanotape-capi",
        inside: &[
            "nanotape-types",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-latest",
            "nanotape-records",
            "nanotape-plant",
            "nanotape-tap",
        ],
        outside: &[],
    },
    Row {
        package: "nanotape-schema-cli",
        inside: &["nanotape-schema", "nanotape-console"],
        outside: &["anyhow", "clap"],
    },
    // For tests of the two programs.
    Row {
        package: "nanotape-runner",
        inside: &[
            "nanotape-board",
            "nanotape-harness",
            "nanotape-plant",
            "nanotape-ring",
            "nanotape-tap",
            "nanotape-trace",
            "nanotape-types",
            "nanotape-wire",
        ],
        outside: &["rustix", "serde_json"],
    },
    // tracing since docs/decisions/0025-logs-in-a-journal.md: the eighth example logs. The examples
    // use nanotape, the code in READMEs the other crates.
    Row {
        package: "nanotape-examples",
        inside: &[
            "nanotape",
            "nanotape-types",
            "nanotape-host",
            "nanotape-shm",
            "nanotape-clock",
            "nanotape-tape",
            "nanotape-interface",
            "nanotape-market",
            "nanotape-wire",
            "nanotape-feed",
            "nanotape-book",
            "nanotape-ring",
            "nanotape-journal",
            "nanotape-aeron",
            "nanotape-link",
            "nanotape-replication",
            "nanotape-logging",
            "nanotape-trace",
            "nanotape-report",
            "nanotape-lab",
            "nanotape-queue",
            "nanotape-machine",
            "nanotape-synth",
            "nanotape-records",
            "nanotape-engine",
            "nanotape-board",
            "nanotape-live",
            "nanotape-plant",
            "nanotape-tap",
            "nanotape-console",
            "nanotape-check",
            "nanotape-bench",
        ],
        outside: &["tracing", "tracing-subscriber"],
    },
    Row { package: "xtask", inside: &["nanotape-schema"], outside: &["anyhow", "serde_json"] },
];

/// Additional packages for tests: the harness, the runner of programs, the testkit, the crates
/// whose types its functions take, and the synthetic market.
pub(super) const INSIDE_FOR_TESTS: [&str; 11] = [
    "nanotape-link",
    "nanotape-replication",
    "nanotape-harness",
    "nanotape-runner",
    "nanotape-testkit",
    "nanotape-synth",
    "nanotape-types",
    "nanotape-wire",
    "nanotape-book",
    "nanotape-engine",
    "nanotape-live",
];
pub(super) const OUTSIDE_FOR_TESTS: [&str; 18] = [
    // Read back what was written.
    "arrow-array",
    "arrow-schema",
    "bytes",
    "parquet",
    // Writes the header of the library for C, which is compared with the committed one.
    "cbindgen",
    "env_logger",
    // Other decoders of captures and frames, to compare with.
    "etherparse",
    "flate2",
    // Reads the interval logs that trace writes.
    "hdrhistogram",
    "libc",
    "loom",
    "pcap-parser",
    "proptest",
    "rand_xoshiro",
    "rustix",
    "serde_json",
    // The signal of a timer, whose cause is then found.
    "signal-hook",
    "tracing",
];
