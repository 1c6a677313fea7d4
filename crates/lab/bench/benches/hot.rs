//! `cargo bench -p nanotape-bench`: the hot path, stage by stage.

use std::process::ExitCode;

fn main() -> ExitCode {
    nanotape_bench::hot().main()
}
