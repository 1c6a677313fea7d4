//! The command line of a run.

use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) is_timed: bool,
    /// `off`, `normal` or `full`, as SQLite calls them.
    pub(crate) synchronous: String,
    /// Inserts of a transaction.
    pub(crate) batch: u64,
    pub(crate) bytes: usize,
    pub(crate) messages: u64,
    pub(crate) cpu: usize,
    pub(crate) folder: PathBuf,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let [mode, rest @ ..] = words else { return Err("throughput or call".to_owned()) };
        let is_timed = match mode.as_str() {
            "throughput" => false,
            "call" => true,
            _ => return Err(format!("{mode}: throughput or call")),
        };
        let mut options = Self {
            is_timed,
            synchronous: "off".to_owned(),
            batch: 1,
            bytes: 73,
            messages: 100_000,
            cpu: 0,
            folder: PathBuf::from("/dev/shm"),
        };
        for pair in rest.chunks(2) {
            let [name, value] = pair else { return Err(format!("{}: a value is needed", pair[0])) };
            match (name.as_str(), value.as_str()) {
                ("--synchronous", "off" | "normal" | "full") => {
                    options.synchronous.clone_from(value);
                }
                ("--batch", _) => options.batch = number(name, value)?,
                ("--bytes", _) => options.bytes = number(name, value)? as usize,
                ("--messages", _) => options.messages = number(name, value)?,
                ("--cpus", _) => {
                    let first = value.split(',').next().and_then(|cpu| cpu.parse().ok());
                    options.cpu = first.ok_or(format!("{name} {value}: numbers"))?;
                }
                ("--folder", _) => options.folder = PathBuf::from(value),
                _ => return Err(format!("{name} {value}: no such option, or value")),
            }
        }
        Ok(options)
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().ok().filter(|&number| number > 0).ok_or(format!("{name} {value}: from 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_taken_and_mistakes_named() {
        let options = parsed("call --synchronous full --batch 1000 --cpus 3,1").unwrap();
        assert_eq!((options.is_timed, options.batch, options.cpu), (true, 1_000, 3));
        assert_eq!((options.bytes, options.synchronous.as_str()), (73, "full"));
        for (words, what) in [
            ("", "throughput or call"),
            ("tail", "tail"),
            ("call --batch 0", "from 1"),
            ("call --batch", "a value"),
            ("call --synchronous extra", "--synchronous extra"),
        ] {
            assert!(parsed(words).unwrap_err().contains(what), "{words}");
        }
    }
}
