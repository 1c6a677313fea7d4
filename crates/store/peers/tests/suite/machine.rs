//! A simulated machine: a map that outlives the process of its node, and a clock of its own.

use std::{cell::Cell, collections::BTreeMap, io, rc::Rc};

use nanotape_harness::Random;
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_link::Now;
use nanotape_peers::{
    ChangeIndex, MemberStore, MemoryIndex, MemoryMembers, PeerNode, PeerOptions, PeerReader,
    PeerWriter, peer_map,
};
use nanotape_shm::JoinedRegion;

/// Where simulated time begins, in ns since the UNIX epoch.
const BEGIN_NS: u64 = 1_800_000_000_000_000_000;

pub(crate) type SimulatedNode = PeerNode<MemoryIndex, DiskMembers>;

/// A disk that can be full.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) is_full: Cell<bool>,
    /// Attempts to store members that failed.
    pub(crate) failed: Cell<u64>,
}

/// Members on a disk.
pub(crate) struct DiskMembers {
    stored: MemoryMembers,
    disk: Rc<Disk>,
}

impl MemberStore for DiskMembers {
    fn load(&self) -> Option<Vec<u8>> {
        self.stored.load()
    }

    fn store(&mut self, members: &[u8]) -> io::Result<()> {
        if self.disk.is_full.get() {
            self.disk.failed.update(|failed| failed + 1);
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.stored.store(members)
    }
}

/// The order of a write: its time, and the word with the node and the flags but for `settled`.
pub(crate) type WriteOrder = (u64, u64);

pub(crate) struct Machine {
    pub(crate) number: u16,
    pub(crate) life: u64,
    pub(crate) writer: PeerWriter,
    pub(crate) latest: LatestReader,
    /// What gives the node its writer of the map.
    map: LatestWriter,
    region: JoinedRegion,
    pub(crate) node: Option<SimulatedNode>,
    index: Option<MemoryIndex>,
    members: Option<DiskMembers>,
    pub(crate) disk: Rc<Disk>,
    pub(crate) options: PeerOptions,
    /// Whether its node has joined, as far as its writers know.
    pub(crate) has_joined: bool,
    /// It never comes back.
    pub(crate) is_lost: bool,
    offset_ns: i64,
    drift_ppm: i64,
    /// The greatest write of each key that its map had.
    pub(crate) had: BTreeMap<u64, WriteOrder>,
    value: Vec<u64>,
}

impl Machine {
    /// With values of one word, four entries are in a group; with values of two, one is.
    pub(crate) fn new(
        options: PeerOptions,
        keys: u64,
        user_words: usize,
        random: &mut Random,
    ) -> Self {
        let user = LatestSpec {
            entries: keys + random.below(20),
            key_words: 1,
            value_words: user_words,
            writers: 8,
            value_layout: 0,
        };
        let spec = peer_map(user).unwrap();
        let region = JoinedRegion::on_heap(spec.region().unwrap());
        // The seed of hashes.
        region.words()[0].store(random.number());
        let map = LatestWriter::on(region.clone()).unwrap();
        let latest = map.reader();
        let index = MemoryIndex::new(random.number(), latest.groups());
        let disk = Rc::new(Disk::default());
        let members = DiskMembers { stored: MemoryMembers::default(), disk: Rc::clone(&disk) };
        let mut machine = Self {
            number: options.node,
            life: options.life,
            writer: PeerWriter::new(map.another().unwrap(), options.node).unwrap(),
            latest,
            map,
            region,
            node: None,
            index: Some(index),
            members: Some(members),
            disk,
            options,
            has_joined: false,
            is_lost: false,
            offset_ns: random.below(4_000_000_000) as i64 - 2_000_000_000,
            drift_ppm: random.below(400) as i64 - 200,
            had: BTreeMap::new(),
            value: vec![0; spec.value_words],
        };
        machine.start();
        machine
    }

    /// One with values of a word and a clock without an error.
    pub(crate) fn still(options: PeerOptions, keys: u64, random: &mut Random) -> Self {
        let mut machine = Self::new(options, keys, 1, random);
        machine.set_clock(0);
        machine.drift_ppm = 0;
        machine
    }

    /// Sets its clock.
    pub(crate) fn set_clock(&mut self, offset_ns: i64) {
        self.offset_ns = offset_ns;
    }

    /// A writer for another thread.
    pub(crate) fn another_writer(&self) -> PeerWriter {
        PeerWriter::new(self.map.another().unwrap(), self.number).unwrap()
    }

    /// Flips a bit of an entry: of the word of its key, or of a later one.
    pub(crate) fn damage(&self, key: u64, word: usize, bit: u32) {
        let words = self.region.words();
        let at = words.iter().position(|word| word.load() == key).unwrap();
        words[at + word].store(words[at + word].load() ^ 1 << bit);
    }

    /// A writer that stores any words as a value.
    pub(crate) fn plain_writer(&self) -> LatestWriter {
        self.map.another().unwrap()
    }

    pub(crate) fn now(&self, since_ns: u64) -> Now {
        let drift_ns = since_ns as i64 / 1_000_000 * self.drift_ppm;
        let utc_ns = (BEGIN_NS + since_ns).saturating_add_signed(self.offset_ns + drift_ns);
        Now { monotonic_ns: since_ns, utc_ns }
    }

    /// Starts the process of the node: it does not start with a full disk.
    pub(crate) fn start(&mut self) {
        if self.disk.is_full.get() {
            return;
        }
        let (Some(index), Some(members)) = (self.index.take(), self.members.take()) else { return };
        let writer = self.map.another().unwrap();
        self.node = Some(PeerNode::new(writer, index, members, self.options.clone()).unwrap());
        self.update_joined();
    }

    /// Kills it: its map and its members remain, and its index as far as it was stored.
    pub(crate) fn kill(&mut self, random: &mut Random) {
        let Some(node) = self.node.take() else { return };
        let (mut index, members) = node.into_parts();
        match random.below(5) {
            0 => index = MemoryIndex::new(random.number(), index.groups()),
            // The last store of a change was not made.
            1 | 2 => {
                let group = random.index(index.groups());
                let mut change = index.change(group);
                change.seen = change.seen.wrapping_sub(1 << 32);
                index.set_change(group, change);
            }
            _ => {}
        }
        (self.index, self.members) = (Some(index), Some(members));
    }

    pub(crate) fn update_joined(&mut self) {
        if let Some(node) = &self.node {
            self.has_joined = node.has_joined();
        }
    }

    /// The write that a key has; without the bit for settled.
    pub(crate) fn order_of(&mut self, key: u64) -> Option<WriteOrder> {
        let found = self.latest.get(&[key], &mut self.value).unwrap();
        let [.., time_ns, word] = self.value[..] else { unreachable!() };
        found.map(|_| (time_ns, word & !1))
    }

    /// Checks that no key went back to an earlier write, and keeps the latest one.
    pub(crate) fn check_monotone(&mut self, keys: u64, is_strict: bool) -> Result<(), String> {
        for key in 0..keys {
            let (now, had) = (self.order_of(key), self.had.get(&key).copied());
            let is_good = match (now, had) {
                (Some(now), Some(had)) => now >= had,
                // Only a removed key is forgotten.
                (None, Some(had)) => is_removal(had),
                (_, None) => true,
            };
            if !is_good && is_strict {
                let Self { number, life, .. } = self;
                return Err(format!("node {number}.{life:x}: key {key} is {now:?}, was {had:?}"));
            }
            if let Some(now) = now {
                self.had.insert(key, now);
            }
        }
        Ok(())
    }

    /// All entries of the map, with removed ones and stamps.
    pub(crate) fn contents(&self) -> BTreeMap<u64, Vec<u64>> {
        let mut contents = BTreeMap::new();
        let mut add = |key: &[u64], value: &[u64], _: u32| {
            contents.insert(key[0], value.to_vec());
        };
        self.latest.for_each(&mut add).unwrap();
        contents
    }

    /// The number of removed keys that are not forgotten.
    pub(crate) fn removed(&self) -> u64 {
        let reader: PeerReader = self.writer.reader();
        self.latest.len() - reader.len().unwrap()
    }
}

/// Whether a write removed its key.
pub(crate) fn is_removal(order: WriteOrder) -> bool {
    order.1 & 2 != 0
}
