//! `[[input]]`: several inputs in one configuration, each of which is a plant of its own.
//!
//! A table has the keys of `[input]` and, of the other sections, those that each plant needs for
//! itself. The other sections are shared: they are the settings of every plant.

use std::{fmt, path::PathBuf};

use nanotape_types::Symbol;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::{
    InputConfig, JournalConfig, LatestConfig, MachineConfig, PlantConfig, PublishConfig,
    RingConfig, ScheduleConfig, TraceConfig, all_parsed, kinds,
};
use crate::records::RecordKinds;

/// The keys of an `[[input]]` that belong to other sections of a single plant.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnConfig {
    /// The name of the input in messages; by default that of its ring.
    pub name: Option<String>,
    /// `name` of `[ring]`.
    pub ring: PathBuf,
    /// `dir` of `[journal]`: the plant is recorded.
    pub journal: Option<PathBuf>,
    /// `name` of `[latest]`: the plant has a map of the newest states.
    pub latest: Option<PathBuf>,
    /// `cpu` of `[machine]`.
    pub cpu: Option<u32>,
    /// `records` of `[publish]`.
    #[serde(deserialize_with = "some_kinds")]
    pub records: Option<RecordKinds>,
    /// `symbols` of `[publish]`.
    #[serde(deserialize_with = "some_symbols")]
    pub symbols: Option<Vec<Symbol>>,
}

impl OwnConfig {
    /// Its keys.
    const KEYS: [&str; 7] = ["name", "ring", "journal", "latest", "cpu", "records", "symbols"];
}

fn some_kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RecordKinds>, D::Error> {
    kinds(deserializer).map(Some)
}

fn some_symbols<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Symbol>>, D::Error> {
    all_parsed(deserializer).map(Some)
}

/// A file of one plant or of several.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlantFile {
    input: Inputs,
    schedule: Option<ScheduleConfig>,
    ring: RingConfig,
    publish: PublishConfig,
    journal: Option<JournalConfig>,
    latest: Option<LatestConfig>,
    machine: MachineConfig,
    trace: TraceConfig,
}

/// `[input]`, or each `[[input]]`.
#[derive(Debug)]
enum Inputs {
    One(Box<InputConfig>),
    Several(Vec<(InputConfig, OwnConfig)>),
}

impl Default for Inputs {
    fn default() -> Self {
        Self::One(Box::default())
    }
}

impl PlantFile {
    /// The plants, in the order of the file.
    pub(super) fn plants(self) -> Result<Vec<PlantConfig>, String> {
        let Self { input, schedule, ring, publish, journal, latest, machine, trace } = self;
        let shared = PlantConfig {
            input: InputConfig::default(),
            name: None,
            schedule,
            ring,
            publish,
            journal,
            latest,
            machine,
            trace,
        };
        match input {
            Inputs::One(input) => Ok(vec![PlantConfig { input: *input, ..shared }]),
            Inputs::Several(inputs) => {
                check_shared(&shared)?;
                let plant = |(input, own)| own_plant(&shared, input, own);
                let plants = inputs.into_iter().map(plant).collect::<Vec<_>>();
                check_names(&plants)?;
                Ok(plants)
            }
        }
    }
}

/// Refuses shared settings that only one plant can have.
fn check_shared(shared: &PlantConfig) -> Result<(), String> {
    let has_name = |name: &PathBuf| !name.as_os_str().is_empty();
    let given = [
        ("name of [ring]", "ring", has_name(&shared.ring.name)),
        (
            "dir of [journal]",
            "journal",
            shared.journal.as_ref().is_some_and(|of| has_name(&of.dir)),
        ),
        ("name of [latest]", "latest", shared.latest.as_ref().is_some_and(|of| has_name(&of.name))),
        ("cpu of [machine]", "cpu", shared.machine.cpu.is_some()),
    ];
    match given.iter().find(|(_, _, is_given)| *is_given) {
        Some((what, key, _)) => {
            Err(format!("{what} would be that of all inputs: give {key} in each [[input]]"))
        }
        None => Ok(()),
    }
}

/// Refuses two inputs of one name: lines would not say which they are about.
fn check_names(plants: &[PlantConfig]) -> Result<(), String> {
    let names = || plants.iter().map(PlantConfig::display_name);
    for (place, name) in names().enumerate() {
        if !name.is_empty() && names().take(place).any(|other| other == name) {
            return Err(format!("two inputs have the name {name}: give each its own name"));
        }
    }
    Ok(())
}

/// The plant of an input: the shared settings, and its own ones.
fn own_plant(shared: &PlantConfig, input: InputConfig, own: OwnConfig) -> PlantConfig {
    let mut plant = PlantConfig { input, name: own.name, ..shared.clone() };
    plant.ring.name = own.ring;
    // A section without a folder has the settings of those inputs that are recorded.
    plant.journal =
        own.journal.map(|dir| JournalConfig { dir, ..plant.journal.take().unwrap_or_default() });
    plant.latest =
        own.latest.map(|name| LatestConfig { name, ..plant.latest.take().unwrap_or_default() });
    plant.machine.cpu = own.cpu;
    plant.publish.records = own.records.unwrap_or(plant.publish.records);
    plant.publish.symbols = own.symbols.unwrap_or(plant.publish.symbols);
    plant
}

impl<'de> Deserialize<'de> for Inputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputsVisitor)
    }
}

struct InputsVisitor;

impl<'de> Visitor<'de> for InputsVisitor {
    type Value = Inputs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table [input], or several of [[input]]")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Inputs, A::Error> {
        let input = InputConfig::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Inputs::One(Box::new(input)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tables: A) -> Result<Inputs, A::Error> {
        let mut inputs = Vec::new();
        while let Some(OneOfSeveral(input, own)) = tables.next_element()? {
            inputs.push((input, own));
        }
        if inputs.is_empty() {
            return Err(de::Error::custom("expected at least one [[input]]"));
        }
        Ok(Inputs::Several(inputs))
    }
}

/// A table of `[[input]]`.
struct OneOfSeveral(InputConfig, OwnConfig);

impl<'de> Deserialize<'de> for OneOfSeveral {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut input, mut own) = (toml::Table::new(), toml::Table::new());
        for (key, value) in toml::Table::deserialize(deserializer)? {
            let table = if OwnConfig::KEYS.contains(&&*key) { &mut own } else { &mut input };
            table.insert(key, value);
        }
        // Values have no lines: the error is that of the table, so it names the key.
        let of_toml = |error: toml::de::Error| de::Error::custom(error.message());
        let input = InputConfig::deserialize(input).map_err(of_toml)?;
        Ok(Self(input, OwnConfig::deserialize(own).map_err(of_toml)?))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Pace;

    const TWO: &str = "\
[ring]
capacity = \"4MiB\"
[journal]
roll = \"hour\"
[publish]
records = [\"mbo\"]
[[input]]
name = \"nasdaq\"
file = \"a.itch50\"
ring = \"one\"
journal = \"days/one\"
cpu = 1
[[input]]
file = \"b.pcap\"
pace = \"2x\"
ring = \"two\"
latest = \"quotes\"
records = [\"bbo\", \"trades\"]
symbols = [\"AAPL\"]
";

    #[test]
    fn each_input_is_a_plant_with_the_shared_settings() {
        let plants = PlantConfig::parse_all(TWO).unwrap();
        let [one, two] = &plants[..] else { panic!("{plants:?}") };
        assert_eq!((&*one.display_name(), &*two.display_name()), ("nasdaq", "two"));
        assert_eq!(
            (one.ring.name.as_path(), two.ring.name.as_path()),
            (Path::new("one"), Path::new("two"))
        );
        assert_eq!(
            (one.ring.capacity_bytes, two.ring.capacity_bytes),
            (Some(4 << 20), Some(4 << 20))
        );
        let journal = one.journal.as_ref().unwrap();
        let hourly = PlantConfig::parse("[journal]\nroll = \"hour\"\n").unwrap();
        let hourly = hourly.journal.unwrap().roll;
        assert_eq!((journal.dir.as_path(), &journal.roll), (Path::new("days/one"), &hourly));
        assert_eq!((&two.journal, &one.latest), (&None, &None));
        assert_eq!(two.latest.as_ref().unwrap().name, Path::new("quotes"));
        assert_eq!((one.machine.cpu, two.machine.cpu), (Some(1), None));
        assert_eq!(
            (one.publish.records.to_string(), one.publish.symbols.len()),
            ("mbo".to_owned(), 0)
        );
        assert_eq!((two.publish.records.iter().count(), two.publish.symbols.len()), (2, 1));
        assert!(one.input.pace == Pace::Max && two.input.pace != Pace::Max);
    }

    #[test]
    fn a_file_of_one_plant_is_what_it_was() {
        let text = "[input]\nfile = \"a\"\n[ring]\nname = \"one\"\n[machine]\ncpu = 3\n";
        let plants = PlantConfig::parse_all(text).unwrap();
        assert_eq!(plants, [PlantConfig::parse(text).unwrap()]);
        assert_eq!(PlantConfig::parse_all("").unwrap(), [PlantConfig::default()]);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let inputs = "[[input]]\nfile = \"a\"\nring = \"one\"\n";
        for (text, line, what) in [
            ("\n[[input]]\nfiles = \"a\"\n", 2, "unknown field `files`, did you mean `file`?"),
            ("\n[[input]]\ncpu = \"a\"\n", 2, "expected u32"),
            ("[ring]\nname = \"x\"\n[[input]]\nfile = \"a\"\n", 1, "give ring in each [[input]]"),
            ("[machine]\ncpu = 1\n[[input]]\nfile = \"a\"\n", 1, "give cpu in each [[input]]"),
            ("[journal]\ndir = \"a\"\n[[input]]\nfile = \"a\"\n", 1, "give journal in each"),
            ("[input]\nring = \"x\"\n", 2, "unknown field `ring`"),
            (&format!("{inputs}{inputs}"), 1, "two inputs have the name one"),
            ("input = []\n", 1, "at least one [[input]]"),
            ("input = 7\n", 1, "a table [input], or several of [[input]]"),
        ] {
            let (found, said) = PlantConfig::parse_all(text).unwrap_err();
            assert!(said.contains(what) && !said.contains('\n'), "{text:?}: {said}");
            assert_eq!(found, line, "{text:?}: {said}");
        }
        // Of a single plant only.
        assert!(PlantConfig::parse(TWO).is_err());
    }
}
