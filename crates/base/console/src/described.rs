//! The commands of one program as JSON, with which another program completes them and writes their
//! manual pages.
//!
//! Everything that scripts and pages show is described; conflicts between options are, groups of
//! them are not. What an option does with its value stays in its own program.

use clap::{
    Arg, ArgAction, Command, ValueHint,
    builder::{PossibleValue, PossibleValuesParser},
};
use serde_json::{Value, json};

/// The description of a command and of those below it.
pub fn description(command: &Command) -> Value {
    let arguments: Vec<Value> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .map(|argument| description_of_argument(command, argument))
        .collect();
    let commands: Vec<Value> =
        command.get_subcommands().filter(|one| !one.is_hide_set()).map(description).collect();
    json!({
        "name": command.get_name(),
        "about": command.get_about().map(ToString::to_string),
        "after_help": command.get_after_help().map(ToString::to_string),
        "needs_command": command.is_subcommand_required_set(),
        "arguments": arguments,
        "commands": commands,
    })
}

fn description_of_argument(command: &Command, argument: &Arg) -> Value {
    let takes_values = argument.get_action().takes_values();
    let values = if takes_values { argument.get_possible_values() } else { Vec::new() };
    let values = values.iter().filter(|value| !value.is_hide_set());
    let values =
        values.map(|value| json!([value.get_name(), value.get_help().map(ToString::to_string)]));
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let conflicts = command.get_arg_conflicts_with(argument).into_iter();
    let conflicts = conflicts.filter(|other| !other.is_hide_set());
    json!({
        "id": argument.get_id().as_str(),
        "short": argument.get_short(),
        "long": argument.get_long(),
        "aliases": argument.get_visible_aliases(),
        "help": argument.get_help().map(ToString::to_string),
        "heading": argument.get_help_heading(),
        "action": format!("{:?}", argument.get_action()),
        "counts": argument.get_num_args().map(|range| [range.min_values(), range.max_values()]),
        "names": argument.get_value_names().map(|all| all.iter().map(|one| one.as_str()).collect::<Vec<_>>()),
        "values": values.collect::<Vec<_>>(),
        "hides_values": argument.is_hide_possible_values_set(),
        "hides_defaults": argument.is_hide_default_value_set(),
        "defaults": defaults.collect::<Vec<_>>(),
        "hint": format!("{:?}", argument.get_value_hint()),
        "delimiter": argument.get_value_delimiter(),
        "is_required": argument.is_required_set(),
        "needs_equals": argument.is_require_equals_set(),
        "is_global": argument.is_global_set(),
        "conflicts": conflicts.map(|other| other.get_id().as_str()).collect::<Vec<_>>(),
    })
}

/// The command of a description, for help, scripts and manual pages. It parses no command line.
pub fn command(description: &Value) -> Command {
    let mut command = Command::new(text(&description["name"]).unwrap_or_default())
        .subcommand_required(description["needs_command"] == true)
        .args(all(&description["arguments"]).map(argument))
        .subcommands(all(&description["commands"]).map(self::command));
    if let Some(about) = text(&description["about"]) {
        command = command.about(about);
    }
    if let Some(after) = text(&description["after_help"]) {
        command = command.after_help(after);
    }
    command
}

fn argument(description: &Value) -> Arg {
    let letter = |field: &str| description[field].as_str().and_then(|text| text.chars().next());
    let texts = |field: &str| all(&description[field]).filter_map(text);
    let mut argument = Arg::new(text(&description["id"]).unwrap_or_default())
        .short(letter("short"))
        .long(text(&description["long"]))
        .visible_aliases(texts("aliases"))
        .help(text(&description["help"]))
        .help_heading(text(&description["heading"]))
        .hide_possible_values(description["hides_values"] == true)
        .hide_default_value(description["hides_defaults"] == true)
        .default_values(texts("defaults"))
        .value_names(texts("names"))
        .value_delimiter(letter("delimiter"))
        .required(description["is_required"] == true)
        .require_equals(description["needs_equals"] == true)
        .global(description["is_global"] == true)
        .conflicts_with_all(texts("conflicts"))
        .action(match description["action"].as_str() {
            Some("Append") => ArgAction::Append,
            Some("SetTrue") => ArgAction::SetTrue,
            Some("SetFalse") => ArgAction::SetFalse,
            Some("Count") => ArgAction::Count,
            _ => ArgAction::Set,
        });
    if let Ok(hint) = description["hint"].as_str().unwrap_or_default().parse::<ValueHint>() {
        argument = argument.value_hint(hint);
    }
    if let [Some(least), Some(most)] = [0, 1].map(|place| description["counts"][place].as_u64()) {
        let range = [least, most].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        argument = argument.num_args(range[0]..=range[1]);
    }
    let values: Vec<_> = all(&description["values"]).map(possible_value).collect();
    if !values.is_empty() {
        argument = argument.value_parser(PossibleValuesParser::new(values));
    }
    argument
}

fn possible_value(description: &Value) -> PossibleValue {
    PossibleValue::new(text(&description[0]).unwrap_or_default()).help(text(&description[1]))
}

fn all(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// A text that lives as long as the program, as clap needs them. The program ends soon.
fn text(value: &Value) -> Option<&'static str> {
    value.as_str().map(|text| &*text.to_owned().leak())
}

#[cfg(test)]
mod tests {
    use clap::builder::PossibleValue;

    use super::*;

    fn help(mut command: Command) -> String {
        command.render_long_help().to_string()
    }

    #[test]
    fn a_described_command_has_the_same_help() {
        let option = |id: &'static str| Arg::new(id).long(id);
        let kinds =
            [PossibleValue::new("slots").help("Fixed size"), PossibleValue::new("x").hide(true)];
        let command = Command::new("ring").about("Rings").subcommand_required(true).subcommand(
            Command::new("prove")
                .about("Run processes against each other")
                .after_help("Examples:\n  ring prove")
                .arg(Arg::new("NAME").required(true).help("The ring").num_args(1..=3))
                .arg(option("kind").short('k').value_parser(PossibleValuesParser::new(kinds)))
                .arg(option("every").visible_alias("each").default_value("1s").value_name("TIME"))
                .arg(option("fast").action(ArgAction::SetTrue).help_heading("Speed"))
                .arg(option("slow").action(ArgAction::SetTrue).conflicts_with("fast"))
                .arg(option("parts").num_args(0..=2).require_equals(true))
                .arg(option("secret").hide(true)),
        );
        let described = self::command(&description(&command));
        assert_eq!(help(described.clone()), help(command.clone()));
        let prove = |command: &Command| command.find_subcommand("prove").cloned().unwrap();
        let (of_described, of_own) = (prove(&described), prove(&command));
        assert_eq!(help(of_described.clone()), help(of_own.clone()));
        assert!(help(of_own).contains("[default: 1s]"));
        let slow = |argument: &&Arg| argument.get_id() == "slow";
        let slow = of_described.get_arguments().find(slow).unwrap();
        let conflicts = of_described.get_arg_conflicts_with(slow);
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].get_long(), Some("fast"));
    }

    #[test]
    fn what_is_no_description_is_a_command_without_a_name() {
        for value in [Value::Null, json!([1]), json!({ "arguments": [{}, 1], "commands": "x" })] {
            assert_eq!(command(&value).get_name(), "");
        }
    }
}
