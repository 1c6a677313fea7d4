//! The command line of `nanotape-schema`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use nanotape_console::{output::OutputArguments, verbosity::VerbosityArguments};

/// Compile protocols from XML descriptions, and compare schemas with them
#[derive(Parser, Debug)]
#[command(name = "nanotape-schema", version = env!("NANOTAPE_VERSION"), max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) verbosity: VerbosityArguments,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Write a schema from an XML description
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArguments),
    /// Compare a schema with an XML description, difference by difference
    #[command(after_help = CHECK_HELP)]
    Check(CheckArguments),
}

const IMPORT_HELP: &str = "\
Examples:
  nanotape-schema import templates.xml                     the schema on standard output
  nanotape-schema import templates.xml -o schema/mdp3.toml

Reads FIX Simple Binary Encoding (<messageSchema>) and the descriptions of the Open Markets
Initiative (<OmiIexTp...>, <OmiCboeEquitiesPitch...>, <OmiNasdaqEquitiesItch...>,
<OmiNysePillar...>). What a schema cannot express is a comment in it with line and column of the
XML.";

const CHECK_HELP: &str = "\
Examples:
  nanotape-schema check schema/iex-deep.toml deep.xml
  nanotape-schema check schema/iex-deep.toml deep.xml --explained schema/explained/iex-deep.toml
  nanotape-schema check schema/iex-deep.toml deep.xml --format json | jq 'select(.reason == null)'

Messages are paired by their types, fields by name or offset. Exit status: 0 if every difference has
a reason, 1 if one has none or an explanation is of no difference, 2 for wrong usage.";

#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// The description
    #[arg(value_name = "FILE.xml")]
    pub(crate) description: PathBuf,

    /// Write to SCHEMA.toml instead of standard output
    #[arg(short, long, value_name = "SCHEMA.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite SCHEMA.toml if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// The schema
    #[arg(value_name = "SCHEMA.toml")]
    pub(crate) schema: PathBuf,

    /// The description
    #[arg(value_name = "FILE.xml")]
    pub(crate) description: PathBuf,

    /// A list of known differences with their reasons
    #[arg(long, value_name = "FILE")]
    pub(crate) explained: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
}
