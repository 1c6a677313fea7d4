//! `nanotape certificates`: certificates for the sides of links.

use std::path::PathBuf;

use clap::Args;
use nanotape_link::{CertificateOptions, make_certificates};

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape certificates certificates leader berlin london
  scp certificates/ca.pem certificates/berlin.* berlin:certificates/

Makes an authority, which signs a certificate for each name, and does not keep the key of the
authority: another name needs another set. A side needs ca.pem, NAME.pem and NAME.key, and nothing of the
others. This is enough for tests and for a few machines; any other authority works too.

Exit status: 0 success; 2 a name is invalid, or a file exists or cannot be written.")]
pub(crate) struct CertificatesArguments {
    /// Folder for the files; created if missing
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Names of sides: letters, digits and dashes
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    /// Years in which they are valid, with this one
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..))]
    years: u8,

    /// Replace files that exist
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &CertificatesArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let year = i32::from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).year());
    let options = CertificateOptions {
        years: (year, year + i32::from(arguments.years) - 1),
        replaces: arguments.replace,
    };
    let files = make_certificates(&arguments.folder, &arguments.names, options)?;
    let mut output = arguments.output.open()?;
    for (number, file) in files.iter().enumerate() {
        let record = Record::default().with("file", file.display().to_string());
        record.write(&mut output, format, number == 0, || format!("{}\n", file.display()))?;
    }
    output.finish()?;
    Ok(Status::Good)
}
