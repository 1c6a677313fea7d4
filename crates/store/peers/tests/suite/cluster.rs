//! A simulated cluster, and what can happen to it.

use std::collections::{BTreeMap, BTreeSet};

use nanotape_harness::Random;
use nanotape_peers::{MemberState, PeerOptions, PeersError};

use crate::{
    machine::{Machine, WriteOrder, is_removal},
    wire::{Cable, Pace},
};

/// Keys that all nodes write are smaller, and then those of single nodes follow.
const SHARED: u64 = 8;
const OWN: u64 = 4;

/// The most machines that are not lost.
const MOST: usize = 5;

/// Steps without faults within which everything becomes equal.
const PATIENCE: u64 = 6_000;

#[derive(Default, Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) steps: u64,
    pub(crate) writes: u64,
    pub(crate) removals: u64,
    pub(crate) kills: u64,
    pub(crate) drops: u64,
    pub(crate) joins: u64,
    /// Members that could not be stored.
    pub(crate) unstored: u64,
    pub(crate) forgotten: u64,
    pub(crate) forgotten_early: u64,
    pub(crate) last_steps: u64,
}

pub(crate) struct Cluster {
    random: Random,
    machines: Vec<Machine>,
    cables: Vec<Cable>,
    step: u64,
    since_ns: u64,
    step_ns: u64,
    keys: u64,
    user_words: usize,
    calm: bool,
    /// Clocks differ by more than the nodes expect.
    has_far_clocks: bool,
    may_add: bool,
    /// Two nodes for a short time: nothing that one of them leaves out comes from a third one.
    is_small: bool,
    numbers: u16,
    pub(crate) totals: Totals,
    is_loud: bool,
}

impl Cluster {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_small = random.below(4) == 0;
        let count = if is_small { 2 } else { random.between(2, 4) as u16 };
        let step_ns = [50_000_000, 300_000_000, 1_000_000_000][random.index(3)];
        let keys = 1 + random.below(SHARED);
        let has_far_clocks = random.below(6) == 0;
        let may_add = !is_small && (!has_far_clocks || random.below(2) == 0);
        let user_words = random.between(1, 2);
        let mut cluster = Self {
            random,
            machines: Vec::new(),
            cables: Vec::new(),
            step: 0,
            since_ns: 1,
            step_ns,
            keys,
            user_words,
            calm: false,
            has_far_clocks,
            may_add,
            is_small,
            numbers: count,
            totals: Totals::default(),
            is_loud: std::env::var("NANOTAPE_LOUD").is_ok(),
        };
        let founding: Vec<u16> = (1..=count).collect();
        for number in 1..=count {
            cluster.add_machine(number, founding.clone());
        }
        cluster
    }

    /// Whether each key has the greatest write at any moment. With clocks further apart than the
    /// nodes expect, a write of a new node can win over a removal that is forgotten.
    fn is_strict(&self) -> bool {
        !self.has_far_clocks || !self.may_add
    }

    fn say(&self, what: impl Fn() -> String) {
        if self.is_loud {
            println!("{}: {}", self.step, what());
        }
    }

    fn add_machine(&mut self, number: u16, founding: Vec<u16>) {
        let random = &mut self.random;
        let mut options = PeerOptions::new(7, number, random.number(), founding);
        options.clock_bound_ns = 5_000_000_000;
        options.window_bytes = 100 + random.below(2_000);
        options.frame_bytes = random.between(40, 600);
        options.retry_ns = 500_000_000;
        if random.below(4) == 0 {
            // Clocks differ by more.
            options.future_bound_ns = 1_000_000_000;
        }
        options.scan_groups = random.between(1, 20);
        let mut machine = Machine::new(options, self.keys + OWN, self.user_words, &mut self.random);
        if self.has_far_clocks {
            machine.set_clock(self.random.below(60_000_000_000) as i64 - 30_000_000_000);
        }
        self.say(|| format!("machine {number}.{:x}", machine.life));
        self.machines.push(machine);
    }

    /// Everything that happens, and the checks after it.
    pub(crate) fn run(mut self) -> Result<Totals, String> {
        let most = if self.is_small { 60 } else { 900 };
        let steps = 30 + self.random.below(most);
        let rate = 1 + self.random.below(12);
        let burst = if self.is_small { self.random.below(4) } else { 0 };
        let faults = 1 + self.random.below(8);
        for _ in 0..steps {
            if self.random.below(rate) == 0 {
                self.write();
            }
            for _ in 0..burst {
                self.write();
            }
            if self.random.below(faults) == 0 {
                self.fault();
            }
            self.pass()?;
        }
        // The last writes can be under way together, as no later ones replace them.
        if self.random.below(2) == 0 {
            for _ in 0..self.random.below(20) {
                for cable in &mut self.cables {
                    cable.silent_until = self.step + 1 + self.random.below(20);
                }
                self.write();
                self.pass()?;
            }
        }
        self.finish()?;
        Ok(self.totals)
    }

    /// A machine that is not lost.
    fn any(&mut self) -> usize {
        let alive: Vec<usize> =
            (0..self.machines.len()).filter(|at| !self.machines[*at].is_lost).collect();
        alive[self.random.index(alive.len())]
    }

    fn write(&mut self) {
        let at = self.any();
        let machine = &mut self.machines[at];
        if !machine.has_joined {
            return;
        }
        self.since_ns += 1;
        let now_ns = machine.now(self.since_ns).utc_ns;
        // Some keys are those of one node.
        let key = match self.random.below(4) {
            0 => SHARED + u64::from(machine.number) % OWN,
            _ => self.random.below(self.keys),
        };
        let value = self.random.number();
        match self.random.below(20) {
            0..10 => machine.writer.insert(&[key], &[value; 2][..self.user_words], now_ns).unwrap(),
            10..13 => {
                machine.writer.update(&[key], now_ns, |user| user[0] = value).unwrap();
            }
            _ => {
                let removed = machine.writer.remove(&[key], now_ns).unwrap();
                self.totals.removals += u64::from(removed);
            }
        }
        self.totals.writes += 1;
        let (number, order) = (machine.number, machine.order_of(key));
        self.say(|| format!("node {number} writes key {key}: {order:?}"));
    }

    fn fault(&mut self) {
        let at = self.any();
        match self.random.below(400) {
            0..10 => self.kill(at),
            10..40 => self.machines[at].start(),
            40..48 if !self.cables.is_empty() => {
                let cable = self.random.index(self.cables.len());
                self.cables.swap_remove(cable);
            }
            48..56 if !self.cables.is_empty() => {
                let cable = self.random.index(self.cables.len());
                let most = if self.random.below(2) == 0 { 30 } else { 300 };
                self.cables[cable].silent_until = self.step + self.random.below(most);
            }
            // A partition.
            56..60 => {
                let until = self.step + self.random.below(100);
                for cable in &mut self.cables {
                    let [one, other] = cable.machines.map(|machine| machine & 1);
                    if one != other {
                        cable.silent_until = until;
                    }
                }
            }
            60..62 if at > 0 => self.lose(at),
            // One that is alive.
            62 | 63 if at > 0 => self.drop_number(self.machines[at].number),
            64..67 => self.drop_lost(),
            67..71 => self.add_node(),
            71..73 => self.fill_disk(at),
            73..100 => self.machines[at].disk.is_full.set(false),
            _ => {}
        }
    }

    fn kill(&mut self, at: usize) {
        self.say(|| format!("kill {}", self.machines[at].number));
        self.machines[at].kill(&mut self.random);
        self.cables.retain(|cable| !cable.machines.contains(&at));
        self.totals.kills += 1;
    }

    fn fill_disk(&mut self, at: usize) {
        self.say(|| format!("the disk of {} is full", self.machines[at].number));
        self.machines[at].disk.is_full.set(true);
    }

    fn lose(&mut self, at: usize) {
        self.kill(at);
        self.say(|| format!("lose {}", self.machines[at].number));
        self.machines[at].is_lost = true;
    }

    /// Drops a number on some node.
    fn drop_number(&mut self, number: u16) {
        let on = self.any();
        let machine = &mut self.machines[on];
        let now = machine.now(self.since_ns);
        let (own, has_joined) = (machine.number, machine.has_joined);
        let Some(node) = machine.node.as_mut().filter(|_| own != number && has_joined) else {
            return;
        };
        let dropped = is_changed(node.drop_node(number, now));
        self.totals.drops += u64::from(dropped);
        self.say(|| format!("{own} drops {number}: {dropped}"));
    }

    /// Drops a number that only lost machines have.
    fn drop_lost(&mut self) {
        let used: BTreeSet<u16> =
            self.machines.iter().filter(|it| !it.is_lost).map(|it| it.number).collect();
        for number in 1..=self.numbers {
            if !used.contains(&number) {
                self.drop_number(number);
            }
        }
    }

    /// Adds a node to the cluster: a new number, or one that was dropped.
    fn add_node(&mut self) {
        let alive = self.machines.iter().filter(|machine| !machine.is_lost).count();
        if !self.may_add || alive >= MOST {
            return;
        }
        let on = self.any();
        let number = 2 + self.random.below(u64::from(self.numbers)) as u16;
        let is_used = self.machines.iter().any(|it| !it.is_lost && it.number == number);
        let Some(node) = self.machines[on].node.as_mut().filter(|node| node.has_joined()) else {
            return;
        };
        if is_used || !is_changed(node.add(number)) {
            return;
        }
        self.numbers = self.numbers.max(number);
        self.say(|| format!("{} adds {number}", self.machines[on].number));
        self.add_machine(number, Vec::new());
    }

    /// A step of everything.
    fn pass(&mut self) -> Result<(), String> {
        self.step += 1;
        self.since_ns += self.step_ns;
        self.connect();
        for at in 0..self.machines.len() {
            let is_due = self.calm || self.random.below(4) > 0;
            let machine = &mut self.machines[at];
            let now = machine.now(self.since_ns);
            if let Some(node) = machine.node.as_mut().filter(|_| is_due) {
                let before = machine.latest.len();
                node.turn(now).map_err(|error| error.to_string())?;
                self.totals.forgotten += before - machine.latest.len();
                while node.take_event().is_some() {}
            }
        }
        self.check()?;
        let mut at = 0;
        while at < self.cables.len() {
            if self.turn(at) {
                at += 1;
            } else {
                self.cables.swap_remove(at);
            }
        }
        self.check()
    }

    fn check(&mut self) -> Result<(), String> {
        let is_strict = self.is_strict();
        for machine in &mut self.machines {
            machine
                .check_monotone(SHARED + OWN, is_strict)
                .map_err(|error| format!("step {}: {error}", self.step))?;
            let had = machine.has_joined;
            machine.update_joined();
            if !had && machine.has_joined {
                self.totals.joins += 1;
            }
        }
        Ok(())
    }

    /// Connects machines that are not connected.
    fn connect(&mut self) {
        for one in 0..self.machines.len() {
            for other in one + 1..self.machines.len() {
                let pair = [one, other];
                let is_running = pair.iter().all(|at| self.machines[*at].node.is_some());
                let is_there = self.cables.iter().any(|cable| cable.machines == pair);
                if !is_running || is_there || self.random.below(8) > 0 {
                    continue;
                }
                let nows = pair.map(|at| self.machines[at].now(self.since_ns));
                let mut pace = Pace { delay: 1 + self.random.below(6), piece: 4_000, most: 20_000 };
                if self.random.below(4) == 0 && !self.calm {
                    pace.piece = self.random.between(10, 200);
                    pace.delay = 1 + self.random.below(40);
                    pace.most = self.random.between(200, 3_000);
                }
                let nonce = self.random.number();
                self.cables.push(Cable::new(pair, nows, pace, nonce));
            }
        }
    }

    /// Works on a connection; returns whether it goes on.
    fn turn(&mut self, at: usize) -> bool {
        let cable = &mut self.cables[at];
        let nows = cable.machines.map(|machine| self.machines[machine].now(self.since_ns));
        cable.pass(self.step, nows, &mut self.random);
        for side in 0..2 {
            if !self.calm && self.random.below(5) == 0 {
                continue;
            }
            let machine = &mut self.machines[cable.machines[side]];
            let Some(node) = &mut machine.node else { return false };
            if let Err(error) = cable.sides[side].turn(node, nows[side]) {
                let text = format!("{:?} on {}: {error}", cable.machines, machine.number);
                // What was refused is sent before the connection ends.
                if self.random.below(2) == 0 {
                    cable.pace.delay = 1;
                    cable.pass(self.step, nows, &mut self.random);
                    let other = &mut self.machines[cable.machines[1 - side]];
                    if let Some(node) = &mut other.node {
                        let _ = cable.sides[1 - side].turn(node, nows[1 - side]);
                    }
                }
                self.say(|| text.clone());
                return false;
            }
        }
        true
    }

    /// Nothing fails from now on.
    fn finish(&mut self) -> Result<(), String> {
        self.calm = true;
        self.totals.forgotten_early = self.totals.forgotten;
        self.say(|| "calm".to_owned());
        for machine in &mut self.machines {
            machine.disk.is_full.set(false);
            self.totals.unstored += machine.disk.failed.get();
            if !machine.is_lost {
                machine.start();
            }
        }
        for cable in &mut self.cables {
            cable.silent_until = 0;
            cable.pace = Pace { delay: 1, piece: 4_000, most: 20_000 };
        }
        let begin = self.step;
        loop {
            self.pass()?;
            let waited = self.step - begin;
            if waited % 100 == 50 {
                self.repair(waited > 1_000);
            }
            if waited.is_multiple_of(10) && self.is_equal() {
                break;
            }
            if waited > PATIENCE {
                return Err(format!("not equal after {waited} steps: {}", self.describe()));
            }
        }
        self.totals.last_steps = self.step - begin;
        self.totals.steps = self.step;
        if self.is_strict() {
            self.check_values()?;
        }
        // It stays so.
        let contents = self.machines[0].contents();
        for _ in 0..100 {
            self.pass()?;
        }
        if !self.is_equal() || self.machines[0].contents() != contents {
            return Err(format!("changed after it was equal: {}", self.describe()));
        }
        Ok(())
    }

    /// What an operator does in the end: drops lost nodes, adds those that wait, and gives up those
    /// that were admitted by a node that is lost.
    fn repair(&mut self, gives_up: bool) {
        self.drop_lost();
        let first = self.machines[0].node.as_ref().map(|node| node.members().clone());
        let Some(members) = first else { return };
        for at in 1..self.machines.len() {
            let Machine { number, life, is_lost, .. } = self.machines[at];
            if is_lost || members.has_joined(number, life) {
                continue;
            }
            if members.dropped_ns(number, life).is_some() || gives_up {
                self.lose(at);
            } else if let Some(node) = &mut self.machines[0].node {
                node.add(number).unwrap();
            }
        }
    }

    /// The machines of the members, by the first one, which is never dropped.
    fn survivors(&self) -> Vec<usize> {
        let node = self.machines[0].node.as_ref();
        let members = node.map(|node| node.members().clone()).unwrap_or_default();
        let has_joined = |at: &usize| {
            let machine = &self.machines[*at];
            members.has_joined(machine.number, machine.life)
        };
        (0..self.machines.len()).filter(has_joined).collect()
    }

    fn is_equal(&self) -> bool {
        let survivors = self.survivors();
        let members = self.machines[0].node.as_ref().map(|node| node.members());
        let joined = members.map_or(0, |members| {
            members.members().filter(|(_, member)| member.state != MemberState::Left).count()
        });
        let alive = self.machines.iter().filter(|machine| !machine.is_lost).count();
        let contents = self.machines[0].contents();
        joined == survivors.len()
            && alive == survivors.len()
            && survivors.iter().all(|at| {
                let machine = &self.machines[*at];
                let is_same = machine.node.as_ref().map(|node| node.members()) == members;
                is_same && machine.removed() == 0 && machine.contents() == contents
            })
    }

    /// Each key has the greatest write that a survivor had.
    fn check_values(&mut self) -> Result<(), String> {
        let mut expected: BTreeMap<u64, WriteOrder> = BTreeMap::new();
        for at in self.survivors() {
            for (key, order) in &self.machines[at].had {
                let own = expected.entry(*key).or_insert(*order);
                *own = (*own).max(*order);
            }
        }
        for at in self.survivors() {
            let machine = &mut self.machines[at];
            for key in 0..SHARED + OWN {
                let greatest = expected.get(&key).copied().filter(|order| !is_removal(*order));
                let found = machine.order_of(key);
                if found != greatest {
                    return Err(format!("key {key} is {found:?}, expected {greatest:?}"));
                }
            }
            let integrity = machine.latest.verify().unwrap();
            if !integrity.is_clean() {
                return Err(format!("{integrity:?}"));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for machine in &self.machines {
            let Machine { number, life, is_lost, has_joined, .. } = machine;
            text += &format!("\n{number}.{life:x} lost {is_lost} joined {has_joined} ");
            if !is_lost {
                let members = machine.node.as_ref().map(|node| node.members());
                text += &format!("{:?} {members:?}", machine.contents());
            }
        }
        text
    }
}

/// Whether members were changed. A change that could not be stored is none.
fn is_changed(changed: Result<bool, PeersError>) -> bool {
    match changed {
        Err(PeersError::Store { .. }) => false,
        changed => changed.unwrap(),
    }
}
