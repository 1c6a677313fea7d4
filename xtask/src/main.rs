//! Repository chores: `cargo xtask <command>`.

mod r#gen;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  gen            write everything that is derived from schema/
  gen --check    only list what would change; exit status 1 if anything would
";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["gen"] => r#gen::write(),
        ["gen", "--check"] => r#gen::check(),
        ["--help" | "-h" | "help"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}
