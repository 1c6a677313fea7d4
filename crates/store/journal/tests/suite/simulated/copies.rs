//! A copy of a journal that is written, rolled, compressed, given back and recovered, while both
//! machines are killed and lose their power. At the end, each segment of the copy has the words of
//! its source, and readers of the copy believe in the same records.

use std::collections::BTreeMap;

use nanotape_journal::{
    Appender, CompressOptions, Copied, Copier, ErrorKind, FIELDS, Position, Replica, Resume,
    SegmentHead, compress_on,
};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, SimulatedDisk},
    history::{History, any_options},
    readers::Named,
    reading::{numbers, read_all},
    scenario::Counts,
};

/// The bytes of a segment that are each machine's own: from `boot` up to `incarnation`.
fn own_bytes() -> std::ops::Range<usize> {
    let offset = |name| FIELDS.iter().find(|field| field.2 == name).unwrap().0;
    offset("boot")..offset("incarnation")
}

/// The words of each segment that is not compressed, without its own words and trailing zeros.
/// After a loss of power, entries of the index can be missing: it is a hint.
fn segments(disk: &SimulatedDisk, has_index: bool) -> BTreeMap<String, Vec<u8>> {
    let is_segment = |(name, _): &(String, Vec<u8>)| name.ends_with(".segment");
    let stripped = |(name, mut bytes): (String, Vec<u8>)| {
        bytes[own_bytes()].fill(0);
        if !has_index {
            bytes[INDEX].fill(0);
        }
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used);
        (name, bytes)
    };
    disk.contents().into_iter().filter(is_segment).map(stripped).collect()
}

/// The bytes of the index in a segment of the smallest size, and the rest of its last page.
const INDEX: std::ops::Range<usize> = 4096..8192;

struct Pair {
    dice: Dice,
    history: History,
    source: SimulatedDisk,
    appender: Option<Appender<SimulatedDisk>>,
    copy: SimulatedDisk,
    replica: Option<Replica<SimulatedDisk>>,
    copier: Option<Copier<SimulatedDisk>>,
    named: Named,
    /// The last boot of any machine, and the boots of the source and the copy.
    boots: u64,
    source_boot: u64,
    copy_boot: u64,
    counts: Counts,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let options = any_options(&mut dice);
        let history = History::new(options, &mut dice);
        let [source, copy] = [dice.number(), dice.number()].map(SimulatedDisk::new);
        Self {
            dice,
            history,
            source,
            appender: None,
            copy,
            replica: None,
            copier: None,
            named: Named::default(),
            boots: 1,
            source_boot: 1,
            copy_boot: 1,
            counts: Counts::default(),
        }
    }

    fn run(mut self) -> Counts {
        for _ in 0..20 + self.dice.below(60) {
            match self.dice.below(20) {
                0..9 => self.write(),
                9..15 => {
                    let most = if self.dice.one_in(2) { self.dice.index(6) } else { usize::MAX };
                    self.copy_some(most);
                }
                15 => self.change_source(),
                16 => self.restart_source(),
                17 => self.restart_copy(),
                18 => self.copier = None,
                _ => self.named.read_some(&self.copy, &mut self.dice),
            }
        }
        self.write();
        self.finish();
        self.counts
    }

    fn appender(&mut self) -> &mut Appender<SimulatedDisk> {
        self.source.watch();
        let (history, source) = (&self.history, &self.source);
        self.appender.get_or_insert_with(|| history.open(source).unwrap())
    }

    fn write(&mut self) {
        self.appender();
        for _ in 0..self.dice.below(8) {
            let appender = self.appender.as_mut().unwrap();
            self.history.step(appender, &self.source, &mut self.dice).unwrap();
        }
    }

    /// Copies until nothing is left, or so many results.
    fn copy_some(&mut self, most: usize) {
        self.copy.watch();
        for _ in 0..most {
            let copy = self.copy.clone();
            let replica = self.replica.get_or_insert_with(|| Replica::open_on(copy).unwrap());
            let Some(copier) = &mut self.copier else {
                match Copier::resume(self.source.clone(), replica.state()) {
                    Ok((copier, Resume::At(position))) => {
                        let before = replica.state().end;
                        let taken = replica.back_to(position).unwrap();
                        self.counts.cuts += taken.len() as u64;
                        let end = replica.state().end;
                        let is_there = end == position
                            || position.offset_bytes == 0 && end.segment < position.segment.max(1);
                        assert!(position <= before && is_there, "{position}, {before}, {end}");
                        self.copier = Some(copier);
                    }
                    // The source lost all of its segments, and is another journal now: the copy
                    // begins again, as its operator decides.
                    Ok((_, Resume::OtherJournal { .. })) => {
                        let segment = replica.state().heads[0].number;
                        let all = Position { segment, offset_bytes: 0 };
                        self.counts.cuts += replica.back_to(all).unwrap().len() as u64;
                        assert!(replica.state().heads.is_empty());
                    }
                    Ok((_, other)) => panic!("{other:?}"),
                    // There is no source yet, or it is being recovered.
                    Err(error) if *error.kind() == ErrorKind::NotFound => return,
                    Err(error) => panic!("{error}"),
                }
                continue;
            };
            let most_bytes = [100, 1 << 12, 1 << 18][self.dice.index(3)];
            match copier.next(most_bytes).unwrap() {
                Copied::Segment(head) => {
                    let head = SegmentHead::from_bytes(&head.to_bytes()).unwrap();
                    replica.begin(&head).unwrap();
                }
                Copied::Corrected(head) => replica.correct(&head).unwrap(),
                Copied::Words { position, words, next_sequence, digest } => {
                    let bytes: Vec<u8> =
                        words.iter().flat_map(|word| word.load().to_ne_bytes()).collect();
                    // What does not come next changes nothing.
                    let later = Position { offset_bytes: position.offset_bytes + 8, ..position };
                    assert!(replica.append(later, &bytes).is_err());
                    let mut wrong = bytes.clone();
                    let at = self.dice.index(wrong.len());
                    wrong[at] ^= 1 << self.dice.below(8);
                    assert!(replica.append(position, &wrong).is_err(), "{at}");
                    replica.append(position, &bytes).unwrap();
                    assert_eq!(replica.state().next_sequence, next_sequence);
                    assert_eq!(replica.state().digest, digest);
                    self.counts.records += 1;
                }
                Copied::Nothing => {
                    if copier.check().unwrap() {
                        break;
                    }
                    self.copier = None;
                }
                Copied::Changed => self.copier = None,
            }
            if self.dice.one_in(20) {
                let replica = self.replica.as_mut().unwrap();
                assert_eq!(replica.sync().unwrap(), replica.state().end);
            }
        }
    }

    fn change_source(&mut self) {
        let next = self.appender().next_sequence();
        match self.dice.below(3) {
            0 => {
                let to = next - self.dice.below(next.min(30));
                match self.appender().rewind_to(to).map_err(|error| error.kind().clone()) {
                    // The journal begins later.
                    Err(ErrorKind::Sequence { .. }) => {}
                    taken => {
                        taken.unwrap();
                        self.history.records.retain(|record| record.sequence < to);
                        self.history.promised =
                            self.history.promised.min(self.history.records.len());
                    }
                }
            }
            1 => {
                // A copy whose machine was restarted is compressed only after its recovery.
                let is_open = self.replica.is_some();
                let on = if self.dice.one_in(2) && is_open { &self.copy } else { &self.source };
                match compress_on(on, &CompressOptions::default(), |_, _| ()) {
                    Err(error) if *error.kind() == ErrorKind::NotFound => {}
                    compressed => drop(compressed.unwrap()),
                }
            }
            _ => self.appender = None,
        }
    }

    /// The machine of the source stops.
    fn restart_source(&mut self) {
        self.appender();
        let image = self.source.image();
        self.source.kill(self.appender.take());
        self.copier = None;
        let is_power_loss = self.dice.one_in(2);
        if is_power_loss {
            self.boots += 1;
            self.source_boot = self.boots;
            self.source = image.after_power_loss(&mut self.dice, self.boots);
        } else {
            self.source = image.after_death(&mut self.dice, self.source_boot);
        }
        self.counts.crashes += 1;
        self.appender();
        let count = read_all(&self.source).unwrap().len();
        self.history.cut_to(count, is_power_loss);
    }

    /// The machine of the copy stops, maybe while it copies.
    fn restart_copy(&mut self) {
        self.copy.crash(match self.dice.below(3) {
            0 => Crash::AtStore(self.dice.below(400)),
            1 => Crash::AtOperation(self.dice.below(20)),
            _ => Crash::AtStore(0),
        });
        self.copy_some(20);
        let image = self.copy.image();
        self.copy.kill((self.replica.take(), self.copier.take()));
        self.counts.in_recoveries += 1;
        self.copy = if self.dice.one_in(2) {
            self.boots += 1;
            self.copy_boot = self.boots;
            self.named.lose_power(&mut self.dice);
            image.after_power_loss(&mut self.dice, self.boots)
        } else {
            image.after_death(&mut self.dice, self.copy_boot)
        };
    }

    fn finish(&mut self) {
        self.appender();
        self.copier = None;
        self.copy_some(usize::MAX);
        let expected = read_all(&self.source).unwrap();
        assert_eq!(expected, self.history.records);
        let copied = read_all(&self.copy).unwrap();
        assert!(copied == expected, "{:?} of {:?}", numbers(&copied), numbers(&expected));
        let has_index = self.boots == 1;
        let (source, copy) = (segments(&self.source, has_index), segments(&self.copy, has_index));
        for (name, bytes) in &source {
            let Some(copied) = copy.get(name) else { continue };
            // A prepared segment is each machine's own.
            let is_active = bytes[256..288].iter().any(|&byte| byte != 0);
            // After a loss of power, one can have more bytes after its end mark.
            let is_same = copied.starts_with(bytes) || bytes.starts_with(copied);
            assert!(!is_active || is_same, "{name} differs");
        }
        self.named.check(&self.copy, &expected);
        self.counts.resumed = self.named.resumed;
        self.copy.kill((self.replica.take(), self.copier.take()));
        self.source.kill(self.appender.take());
    }
}

pub(crate) fn run(seed: u64) -> Counts {
    Pair::new(seed).run()
}
