//! What the process of one reading is told: in an environment variable, the file as its argument.

use std::path::PathBuf;

use nanotape_lab::{Pin, Placement, Wish};
use nanotape_types::Symbol;

use super::{
    error::DayFileError,
    plant_variants::PLANT_VARIANTS,
    variants::{VARIANTS, Variant},
};
use crate::sides::Cpus;

/// What all readings have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The day.
    pub path: PathBuf,
    /// How often it goes through the same books.
    pub repeat: u32,
    /// Live orders that the books make room for at the start.
    pub orders: usize,
    /// The processor to run on; any, where pinning was refused.
    pub cpu: Option<u32>,
    /// Priority of the real-time class, if that is wanted.
    pub real_time_priority: Option<u8>,
    /// Who reads a plant.
    pub taps: Taps,
}

/// Where the readers of a plant run, and what they want.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Taps {
    /// Their processors: the first one's first. None: any.
    pub cpus: Vec<u32>,
    /// The stock whose insides they want; of all stocks, if there is none.
    pub symbol: Option<Symbol>,
}

impl Settings {
    /// The processor of tap `index` of so many, and whether it shares it.
    pub(super) fn tap_place(&self, index: usize, taps: usize) -> (Option<u32>, bool) {
        let Some((writer, readers)) = self.cpu.zip(Some(self.taps.cpus.clone())) else {
            return (None, true);
        };
        if readers.is_empty() {
            return (None, true);
        }
        let (cpu, is_shared) = Cpus { writer, readers }.reader(index, taps);
        (Some(cpu), is_shared)
    }
}

/// What is to be found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Time and memory for the whole file.
    Measure,
    /// Time of single messages.
    Latency,
    /// Time of single messages, by their type.
    Types,
    /// The processor's counters for a message.
    Counters,
    /// Nothing by itself: valgrind looks on. So many messages at most.
    Count { messages: u64 },
    /// Reading the ring of a plant: the path is the ring's.
    Tap { shares: bool },
}

/// One reading to take.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) role: Role,
    pub(super) variant: &'static Variant,
    pub(super) settings: Settings,
}

impl Job {
    /// The value of the environment variable: `ROLE NAME REPEAT ORDERS CPU PRIORITY CPUS SYMBOL`, the
    /// last two of taps, `-` for none.
    pub(super) fn to_text(&self) -> String {
        let role = match self.role {
            Role::Measure => "measure".to_owned(),
            Role::Latency => "latency".to_owned(),
            Role::Types => "types".to_owned(),
            Role::Counters => "counters".to_owned(),
            Role::Count { messages } => format!("count:{messages}"),
            Role::Tap { shares } => format!("tap:{}", u8::from(shares)),
        };
        let Settings { repeat, orders, cpu, real_time_priority, taps, .. } = &self.settings;
        let cpus: Vec<String> = taps.cpus.iter().map(u32::to_string).collect();
        let or_none = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        format!(
            "{role} {} {repeat} {orders} {} {} {} {}",
            self.variant.name,
            or_none(*cpu),
            or_none(real_time_priority.map(u32::from)),
            if cpus.is_empty() { "-".to_owned() } else { cpus.join(",") },
            taps.symbol.map_or("-".to_owned(), |symbol| symbol.to_string()),
        )
    }

    pub(super) fn parse(text: &str, path: PathBuf) -> Result<Self, DayFileError> {
        let unknown = || DayFileError::Role { role: text.to_owned() };
        let words: Vec<&str> = text.split(' ').collect();
        let &[role, name, repeat, orders, cpu, priority, cpus, symbol] = words.as_slice() else {
            return Err(unknown());
        };
        let role = match role.split_once(':') {
            Some(("count", messages)) => {
                Role::Count { messages: messages.parse().map_err(|_| unknown())? }
            }
            Some(("tap", shares)) => Role::Tap { shares: shares == "1" },
            None if role == "measure" => Role::Measure,
            None if role == "latency" => Role::Latency,
            None if role == "types" => Role::Types,
            None if role == "counters" => Role::Counters,
            _ => return Err(unknown()),
        };
        let mut variants = VARIANTS.iter().chain(PLANT_VARIANTS);
        let variant = variants.find(|variant| variant.name == name).ok_or_else(unknown)?;
        let cpus = cpus.split(',').filter(|&cpu| cpu != "-").map(str::parse);
        let settings = Settings {
            path,
            repeat: repeat.parse().map_err(|_| unknown())?,
            orders: orders.parse().map_err(|_| unknown())?,
            cpu: or_none(cpu).map_err(|()| unknown())?,
            real_time_priority: or_none(priority).map_err(|()| unknown())?,
            taps: Taps {
                cpus: cpus.collect::<Result<_, _>>().map_err(|_| unknown())?,
                symbol: or_none(symbol).map_err(|()| unknown())?,
            },
        };
        Ok(Self { role, variant, settings })
    }

    /// The place to run in. Memory is never locked: then tables would be in memory from the moment
    /// they are reserved, and the peak would be of what is reserved and not of what is used.
    pub(super) fn place(&self) -> Placement {
        Placement::apply(&Wish {
            pin: self.settings.cpu.map_or(Pin::Free, Pin::To),
            real_time_priority: self.settings.real_time_priority,
            lock_memory: false,
        })
    }
}

fn or_none<T: core::str::FromStr>(word: &str) -> Result<Option<T>, ()> {
    if word == "-" { Ok(None) } else { word.parse().map(Some).map_err(|_| ()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_the_same_after_it_was_told() {
        for role in [
            Role::Measure,
            Role::Latency,
            Role::Types,
            Role::Counters,
            Role::Count { messages: 1_000 },
            Role::Tap { shares: true },
            Role::Tap { shares: false },
        ] {
            for (cpu, real_time_priority, cpus) in
                [(Some(3), None, vec![]), (None, Some(20), vec![7, 0])]
            {
                let path = PathBuf::from("a day.itch50");
                let symbol = cpu.map(|_| "BRK.A".parse().unwrap());
                let settings = Settings {
                    path: path.clone(),
                    repeat: 2,
                    orders: 70,
                    cpu,
                    real_time_priority,
                    taps: Taps { cpus, symbol },
                };
                let job = Job { role, variant: &PLANT_VARIANTS[1], settings };
                let told = Job::parse(&job.to_text(), path).unwrap();
                assert_eq!((told.role, told.variant.name), (role, PLANT_VARIANTS[1].name));
                assert_eq!(told.settings, job.settings);
            }
        }
    }

    #[test]
    fn what_is_no_job_is_refused_with_its_text() {
        for text in [
            "",
            "measure default",
            "sing default 1 1 - - - -",
            "measure none 1 1 - - - -",
            "measure plant 1 1 - - 1,x -",
        ] {
            let error = Job::parse(text, PathBuf::new()).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is no role of this version"));
        }
    }
}
