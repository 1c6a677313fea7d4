# The menu. Logic is in Rust: cargo xtask --help.

# List the verbs
default:
    @just --list

# Format, lints and the habits of the repository
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo xtask tidy

# Every test; needs no network
test:
    cargo test --workspace --locked

# Write what is derived from schema/; `just gen --check` only checks
gen *ARGUMENTS:
    cargo xtask gen {{ARGUMENTS}}

# Fuzz one target, or all, for so many seconds each
fuzz TARGET="all" SECONDS="60":
    cargo xtask fuzz {{TARGET}} {{SECONDS}}

# Explore every execution of the rings' small models
loom:
    cargo xtask loom

# Run tests of shared memory in Miri; needs a nightly
miri:
    cargo xtask miri

# Every check that .ci/run does not run, each with a bound; appends to bench/record/nightly.jsonl
nightly *ROWS:
    cargo xtask nightly {{ROWS}}

# The tests in environments of users: strict umask, few files, small /dev/shm, no HOME, another user, ...
environments *ARGUMENTS:
    scripts/hostile-environments {{ARGUMENTS}}

# The commands of the README and of docs/first-day.md, compared with their printed output
pages *ARGUMENTS:
    scripts/pages {{ARGUMENTS}}

# The whole plant through a day as processes of their own, killed and held, every output compared
day-proof *ARGUMENTS:
    scripts/day-proof/prove {{ARGUMENTS}}

# Build the documentation; warnings are errors
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Is the working tree slower than main? Exit status 0 no, 1 yes, 2 unknown
gate *ARGUMENTS:
    cargo xtask gate {{ARGUMENTS}}

# Did instruction counts move? `just count --accept` writes the new ones
count *ARGUMENTS:
    cargo xtask gate instructions {{ARGUMENTS}}

# The main job on an embedded synthetic day
demo:
    cargo run --release --locked

# What a change must pass
all:
    .ci/run
