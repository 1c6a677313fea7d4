//! Help that wraps once, at the width of the terminal: clap wraps lines, and keeps the line ends of
//! a text. So the lines of a paragraph are joined before clap gets it.

use clap::Command;

/// Joins the paragraphs in the help of a command and of its sub-commands.
pub fn unwrapped(command: Command) -> Command {
    let after = command.get_after_help().map(|help| joined(&help.to_string()));
    let command = match after {
        Some(after) => command.after_help(after),
        None => command,
    };
    command.mut_subcommands(unwrapped)
}

/// Joins the lines of each paragraph. An indented line, and the line after it, begin a new one; so
/// does a line after a heading, which ends with a colon.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut is_open = false;
    for line in text.lines() {
        let stands_alone = line.is_empty() || line.starts_with(' ');
        if is_open && !stands_alone {
            joined.push(' ');
        } else if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(line);
        is_open = !stands_alone && !line.ends_with(':');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "Examples:\n  one\n  two\n\nFirst line\nsecond line.\n\nKinds:\n  a   one\n      \
                    of it\nAfter a list\nit goes on.";
        let expected = "Examples:\n  one\n  two\n\nFirst line second line.\n\nKinds:\n  a   one\n      \
                        of it\nAfter a list it goes on.";
        assert_eq!(joined(text), expected);
    }
}
