//! The command line of a run.

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// As fast as the queue takes it.
    Throughput,
    /// At a fixed rate, whether or not the reader keeps up.
    Latency,
    /// There and back, one at a time.
    PingPong,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::PingPong => "ping-pong",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    pub(crate) rival: String,
    pub(crate) mode: Mode,
    pub(crate) messages: u64,
    pub(crate) readers: usize,
    pub(crate) rate: u64,
    /// The writer's, then those that readers share.
    pub(crate) cpus: Vec<usize>,
    /// In the second process of a pair: which reader it is, and the name that both know.
    pub(crate) second: Option<(usize, String)>,
}

impl Options {
    pub(crate) fn writer_cpu(&self) -> usize {
        self.cpus[0]
    }

    /// Readers take turns on what the writer leaves.
    pub(crate) fn reader_cpu(&self, number: usize) -> usize {
        match self.cpus.len() {
            1 => self.cpus[0],
            count => self.cpus[1 + number % (count - 1)],
        }
    }

    /// Whether two of the run share a processor, so that waiting must let the other one run.
    pub(crate) fn crowded(&self) -> bool {
        self.readers + 1 > self.cpus.len()
    }

    /// The first tenth, which latencies leave out.
    pub(crate) fn warm_up(&self) -> u64 {
        self.messages / 10
    }
}

pub(crate) fn parse(words: &[String], allowed: &[usize]) -> Result<Options, String> {
    let [rival, mode, rest @ ..] = words else {
        return Err("a rival and a mode are needed: throughput, latency or ping-pong".to_owned());
    };
    let (mode, messages) = match mode.as_str() {
        "throughput" => (Mode::Throughput, 10_000_000),
        "latency" => (Mode::Latency, 2_000_000),
        "ping-pong" => (Mode::PingPong, 1_000_000),
        _ => return Err(format!("{mode}: throughput, latency or ping-pong")),
    };
    let cpus = allowed.iter().copied().take(2).collect();
    let (rate, readers) = (1_000_000, 1);
    let rival = rival.clone();
    let mut options = Options { rival, mode, messages, readers, rate, cpus, second: None };
    for pair in rest.chunks(2) {
        let [name, value] = pair else { return Err(format!("{}: a value is needed", pair[0])) };
        match name.as_str() {
            "--messages" => options.messages = number(name, value)?,
            "--readers" => options.readers = number(name, value)? as usize,
            "--rate" => options.rate = number(name, value)?,
            "--cpus" => options.cpus = cpus_of(value, allowed)?,
            "--second" => options.second = Some(second_of(value)?),
            _ => return Err(format!("{name}: --messages, --readers, --rate or --cpus")),
        }
    }
    if options.readers > 1 && mode != Mode::Throughput {
        return Err("--readers: more than one only with throughput".to_owned());
    }
    Ok(options)
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().ok().filter(|&number| number > 0).ok_or(format!("{name} {value}: from 1"))
}

fn cpus_of(value: &str, allowed: &[usize]) -> Result<Vec<usize>, String> {
    let cpus: Option<Vec<usize>> = value.split(',').map(|cpu| cpu.parse().ok()).collect();
    match cpus {
        Some(cpus) if cpus.iter().all(|cpu| allowed.contains(cpu)) => Ok(cpus),
        _ => Err(format!("--cpus {value}: some of {allowed:?}, with commas between")),
    }
}

fn second_of(value: &str) -> Result<(usize, String), String> {
    let (number, name) =
        value.split_once(',').ok_or("--second: between processes of a run only")?;
    Ok((number.parse().map_err(|_| "--second: a number")?, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        parse(&words, &[0, 1, 2, 3])
    }

    #[test]
    fn the_first_two_processors_are_the_default() {
        let options = parsed("rtrb latency").unwrap();
        assert_eq!((options.cpus.as_slice(), options.rate), ([0, 1].as_slice(), 1_000_000));
        assert!(!options.crowded());
    }

    #[test]
    fn readers_share_what_the_writer_leaves() {
        let options = parsed("disruptor throughput --readers 3 --cpus 3,1,2").unwrap();
        let readers: Vec<_> = (0..3).map(|number| options.reader_cpu(number)).collect();
        assert_eq!((options.writer_cpu(), readers), (3, vec![1, 2, 1]));
        assert!(options.crowded());
    }

    #[test]
    fn mistakes_are_named() {
        for (words, what) in [
            ("rtrb", "a mode"),
            ("rtrb speed", "speed"),
            ("rtrb latency --messages 0", "from 1"),
            ("rtrb latency --messages", "a value"),
            ("rtrb latency --cpus 0,9", "--cpus 0,9"),
            ("disruptor latency --readers 2", "--readers"),
            ("rtrb latency --speed 9", "--speed"),
        ] {
            let mistake = parsed(words).unwrap_err();
            assert!(mistake.contains(what), "{words}: {mistake}");
        }
    }
}
