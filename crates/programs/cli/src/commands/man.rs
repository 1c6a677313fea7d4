//! `nanotape man`: the manual pages of all commands, from the same text as the help.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::{arguments::Arguments, companions, help, output::Output, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape man -o ~/.local/share/man/man1
  nanotape man -o man --force && man ./man/nanotape-stats.1

DIR gets a page for every command: nanotape.1, nanotape-stats.1, nanotape-lab-bench.1 and so on.")]
pub(crate) struct ManArguments {
    /// Write the pages to DIR, which is created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Overwrite pages that exist
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &ManArguments) -> anyhow::Result<Status> {
    let folder = &arguments.output;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let command = companions::with_their_commands(Arguments::command())?;
    let mut command = help::unwrapped(command).disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect_pages(&command, &mut pages)?;
    for (name, page) in &pages {
        let mut output = Output::create(&folder.join(name), arguments.force)?;
        output.write_all(page)?;
        output.finish()?;
    }
    writeln!(io::stdout(), "{} pages in {}", pages.len(), folder.display())?;
    Ok(Status::Good)
}

/// Adds the name and text of the pages of a command and its sub-commands.
fn collect_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    let (name, date) = (man.get_filename(), env!("NANOTAPE_DATE"));
    let title = name.trim_end_matches(".1").to_uppercase();
    // The library leaves an empty date out, and the version would be in its place.
    let version = env!("CARGO_PKG_VERSION");
    writeln!(page, ".TH \"{title}\" 1 \"{date}\" \"nanotape {version}\" \"nanotape\"")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        after_help(&after.to_string(), &mut page)?;
    }
    pages.push((name, page));
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        collect_pages(subcommand, pages)?;
    }
    Ok(())
}

/// Writes the text after the options as sections: examples, notes, exit status. The library would
/// fill the lines of examples and tables like those of a paragraph.
fn after_help(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut section = "";
    for paragraph in text.split("\n\n") {
        let (wanted, rest) = if let Some(rest) = paragraph.strip_prefix("Examples:\n") {
            ("EXAMPLES", rest)
        } else if let Some(rest) = paragraph.strip_prefix("Exit status: ") {
            ("EXIT STATUS", rest)
        } else {
            ("NOTES", paragraph)
        };
        if wanted == section {
            writeln!(page, ".PP")?;
        } else {
            writeln!(page, ".SH \"{wanted}\"")?;
            section = wanted;
        }
        let mut is_verbatim = false;
        for (number, line) in rest.lines().enumerate() {
            if line.starts_with(' ') != is_verbatim {
                is_verbatim = !is_verbatim;
                writeln!(page, "{}", if is_verbatim { ".nf" } else { ".fi" })?;
            } else if number > 0 && !is_verbatim {
                writeln!(page, ".br")?;
            }
            writeln!(page, "{}", escaped(line))?;
        }
        if is_verbatim {
            writeln!(page, ".fi")?;
        }
    }
    Ok(())
}

/// A line of text for roff: no character has a special meaning.
fn escaped(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-");
    let escaped = escaped.replace('\'', "\\(aq").replace('`', "\\(ga");
    // A leading dot would be a request.
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_after_the_options_becomes_sections() {
        let text = "Examples:\n  nanotape a -b   one\n  nanotape c\n\nA note.\nKinds:\n  x\\y 'z'\n.z `a`\n\n\
                    Another.\n\nExit status: 0 good.";
        let mut page = Vec::new();
        after_help(text, &mut page).unwrap();
        let expected = ".SH \"EXAMPLES\"\n.nf\n  nanotape a \\-b   one\n  nanotape c\n.fi\n\
                        .SH \"NOTES\"\nA note.\n.br\nKinds:\n.nf\n  x\\ey \\(aqz\\(aq\n.fi\n\\&.z \\(gaa\\(ga\n\
                        .PP\nAnother.\n.SH \"EXIT STATUS\"\n0 good.\n";
        assert_eq!(String::from_utf8(page).unwrap(), expected);
    }
}
