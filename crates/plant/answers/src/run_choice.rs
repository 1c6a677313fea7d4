//! The run of a plant that is read of a journal or a DBN file.

use std::str::FromStr;

use crate::InputError;

/// The choice of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunChoice {
    /// The last one.
    Last,
    /// Its number, from 1.
    Number(u64),
}

impl FromStr for RunChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("last", _) => Ok(Self::Last),
            (_, Ok(number @ 1..)) => Ok(Self::Number(number)),
            _ => Err("expected a number from 1, or last"),
        }
    }
}

impl RunChoice {
    /// The number of the chosen one of `runs` runs, 0 if there are none. Without a choice it is the
    /// last one.
    pub fn of(choice: Option<Self>, name: &str, runs: u64) -> Result<u64, InputError> {
        match choice {
            Some(Self::Number(number)) if number > runs => {
                Err(InputError::NoSuchRun { name: name.to_owned(), runs, number })
            }
            Some(Self::Number(number)) => Ok(number),
            Some(Self::Last) | None => Ok(runs),
        }
    }

    /// How many of `runs` runs are not read although no run was chosen.
    pub fn earlier(choice: Option<Self>, runs: u64) -> u64 {
        if choice.is_none() { runs.saturating_sub(1) } else { 0 }
    }
}
