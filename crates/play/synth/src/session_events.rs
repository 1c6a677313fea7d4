//! The day's programme: all announcements with their times, planned before the day begins.
//!
//! Six milestones, the directory and the spin in the morning, two crosses for every stock, and a
//! few halts, pauses, a new issue and broken trades between. Orders are not part of it.

use nanotape_types::SecondsSinceMidnight;
use nanotape_wire::itch50::{CrossType, EventCode, HaltAction, RegShoAction, TradingState};

use super::{
    calendar::{
        CLOSE, END_OF_MESSAGES, END_OF_SYSTEM_HOURS, OPEN, SECOND, SPIN, START_OF_MESSAGES,
        START_OF_SYSTEM_HOURS,
    },
    census::Room,
    rng::Rng,
    universe::{Universe, shuffle},
};

const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The events of every day with their times.
pub(super) const MILESTONES: [(u64, EventCode); 6] = [
    (START_OF_MESSAGES, EventCode::StartOfMessages),
    (START_OF_SYSTEM_HOURS, EventCode::StartOfSystemHours),
    (OPEN, EventCode::StartOfMarketHours),
    (CLOSE, EventCode::EndOfMarketHours),
    (END_OF_SYSTEM_HOURS, EventCode::EndOfSystemHours),
    (END_OF_MESSAGES, EventCode::EndOfMessages),
];

/// Maximum number of executions of one stock in one cross.
const CROSS_EXECUTIONS_MAX: u64 = 10;

/// An announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Event(EventCode),
    CircuitBreakerLevels,
    Directory {
        ipo: bool,
    },
    State {
        state: TradingState,
        reason: [u8; 4],
    },
    ShortSaleTest(RegShoAction),
    Participant {
        index: u8,
    },
    /// An execution in the next cross; `remaining` of them are left, this one included.
    CrossExecution {
        remaining: u8,
    },
    Cross(CrossType),
    Imbalance(CrossType),
    Collar {
        extension: u32,
    },
    IpoUpdate {
        release: SecondsSinceMidnight,
    },
    OperationalHalt(HaltAction),
    BreakTrade,
}

/// An action with its time and its stock (an index, without meaning for some actions).
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) time: u64,
    pub(super) stock: u16,
    pub(super) action: Action,
}

#[derive(Debug)]
struct Programme<'a> {
    universe: &'a Universe,
    rng: Rng,
    planned: Vec<Planned>,
}

/// The programme of a day, in order of time.
pub(super) fn plan(universe: &Universe, room: &Room, rng: Rng) -> Vec<Planned> {
    let mut programme = Programme { universe, rng, planned: Vec::new() };
    let mut rare: Vec<u16> = (0..programme.count()).collect();
    shuffle(&mut rare, &mut programme.rng);
    let ipo = rare.last().copied().filter(|_| room.rarities && programme.count() >= 100);
    programme.milestones();
    programme.morning(room.participant_positions, ipo);
    let (opening, closing) = programme.cross_executions(room.cross_executions);
    programme.crosses(OPEN, 250_000, CrossType::Opening, &opening);
    programme.crosses(CLOSE + 100_000_000, 600_000, CrossType::Closing, &closing);
    if room.rarities {
        programme.halts(&rare);
        if let Some(stock) = ipo {
            programme.new_issue(stock);
        }
        programme.rarities(room.spare);
    }
    // Stable, so that actions of the same instant keep their order.
    programme.planned.sort_by_key(|planned| planned.time);
    programme.planned
}

impl Programme<'_> {
    fn count(&self) -> u16 {
        self.universe.listings.len() as u16
    }

    fn add(&mut self, time: u64, stock: u16, action: Action) {
        self.planned.push(Planned { time, stock, action });
    }

    fn milestones(&mut self) {
        for (time, code) in MILESTONES {
            self.add(time, 0, Action::Event(code));
        }
    }

    /// Directory, trading state and short sale test of each stock, then its market makers.
    fn morning(&mut self, positions: u64, ipo: Option<u16>) {
        let mut time = SPIN;
        let mut next = |rng: &mut Rng| {
            time += rng.between(2_000, 30_000);
            time
        };
        for stock in 0..self.count() {
            let new = ipo == Some(stock);
            let (state, reason) = if new {
                (TradingState::Halted, *b"IPO1")
            } else {
                (TradingState::Trading, *b"    ")
            };
            let restricted = self.rng.below(60) == 0;
            let test = if restricted {
                RegShoAction::RestrictionInEffect
            } else {
                RegShoAction::NoPriceTest
            };
            for action in [
                Action::Directory { ipo: new },
                Action::State { state, reason },
                Action::ShortSaleTest(test),
            ] {
                let time = next(&mut self.rng);
                self.add(time, stock, action);
            }
        }
        let count = u64::from(self.count());
        let participants = self.universe.participants.len() as u64;
        for position in 0..positions {
            // Each pass over the stocks has another participant, so that no pair repeats.
            let (round, stock) = (position / count, position % count);
            let index = (stock * 7 + round) % participants;
            let time = next(&mut self.rng);
            self.add(time, stock as u16, Action::Participant { index: index as u8 });
        }
        let time = next(&mut self.rng);
        self.add(time, 0, Action::CircuitBreakerLevels);
    }

    /// The number of executions of each stock in its opening and in its closing cross.
    fn cross_executions(&mut self, total: u64) -> (Vec<u8>, Vec<u8>) {
        let count = usize::from(self.count());
        let mut executions = (vec![0u8; count], vec![0u8; count]);
        let total = total.min(count as u64 * CROSS_EXECUTIONS_MAX);
        let mut placed = 0;
        // Busy stocks fill up; a bounded number of attempts is enough for nearly all.
        for _ in 0..total * 8 {
            if placed == total {
                break;
            }
            let cross =
                if self.rng.below(100) < 45 { &mut executions.0 } else { &mut executions.1 };
            let stock = self.universe.pick(&mut self.rng);
            if u64::from(cross[stock]) < CROSS_EXECUTIONS_MAX {
                cross[stock] += 1;
                placed += 1;
            }
        }
        executions
    }

    /// Crosses one after the other, stocks in random order, each after its executions.
    fn crosses(&mut self, start: u64, mean_gap: u64, cross: CrossType, executions: &[u8]) {
        let mut order: Vec<u16> = (0..self.count()).collect();
        shuffle(&mut order, &mut self.rng);
        let mut time = start;
        for stock in order {
            time += 1_000 + (self.rng.exponential() * mean_gap as f64) as u64;
            for remaining in (1..=executions[usize::from(stock)]).rev() {
                self.add(time, stock, Action::CrossExecution { remaining });
                time += self.rng.between(600, 2_500);
            }
            self.add(time, stock, Action::Cross(cross));
        }
    }

    /// News halts before noon, volatility pauses after it, and an operational halt before the
    /// close, each for a different stock if there are enough.
    fn halts(&mut self, rare: &[u16]) {
        let count = u64::from(self.count());
        let stock = |index: u64| rare[index as usize % rare.len()];
        let news = (count / 1_000).clamp(1, 12);
        for index in 0..news {
            let start = 10 * HOUR + self.rng.below(120 * MINUTE);
            self.halt(start, stock(index), TradingState::Halted, *b"T1  ", *b"T3  ");
        }
        let pauses = (count / 700).clamp(1, 14);
        for index in news..news + pauses {
            let start = 12 * HOUR + 40 * MINUTE + self.rng.below(150 * MINUTE);
            let stock = stock(index);
            // A pause of a stock that is listed elsewhere arrives as a halt.
            let nasdaq = self.universe.listings[usize::from(stock)].is_nasdaq_listed();
            let state = if nasdaq { TradingState::Paused } else { TradingState::Halted };
            for extension in 0..1 + self.rng.below(3) {
                let after = (1 + extension) * 100 * SECOND + self.rng.below(SECOND);
                let action = Action::Collar { extension: extension as u32 };
                self.add(start + after.min(290 * SECOND), stock, action);
            }
            self.halt(start, stock, state, *b"LUDP", *b"T7  ");
        }
        let start = 15 * HOUR + 25 * MINUTE + self.rng.below(10 * MINUTE);
        let halted = stock(news + pauses);
        self.add(start, halted, Action::OperationalHalt(HaltAction::Halted));
        let resumed = start + 7 * MINUTE + self.rng.below(MINUTE);
        self.add(resumed, halted, Action::OperationalHalt(HaltAction::Resumed));
    }

    /// Halted, then quoted only while the auction is prepared, then the cross, then trading.
    fn halt(&mut self, start: u64, stock: u16, state: TradingState, why: [u8; 4], over: [u8; 4]) {
        self.add(start, stock, Action::State { state, reason: why });
        let quoting = start + 5 * MINUTE + self.rng.below(MINUTE);
        self.reopen(quoting, stock, over, over);
    }

    fn reopen(&mut self, quoting: u64, stock: u16, quote_reason: [u8; 4], trade_reason: [u8; 4]) {
        let state = TradingState::QuotationOnly;
        self.add(quoting, stock, Action::State { state, reason: quote_reason });
        let cross = quoting + 5 * MINUTE + self.rng.below(20 * SECOND);
        for published in 1..=5 {
            let time = quoting + published * 50 * SECOND + self.rng.below(SECOND);
            self.add(time, stock, Action::Imbalance(CrossType::HaltOrIpo));
        }
        self.add(cross, stock, Action::Cross(CrossType::HaltOrIpo));
        let state = TradingState::Trading;
        let resumes = cross + self.rng.between(20_000, 90_000);
        self.add(resumes, stock, Action::State { state, reason: trade_reason });
    }

    /// A new issue, halted since the morning, whose release is postponed twice.
    fn new_issue(&mut self, stock: u16) {
        let release = 10 * HOUR + 40 * MINUTE;
        for (announced, minutes) in
            [(8 * HOUR, 30), (10 * HOUR + 2 * MINUTE, 10), (10 * HOUR + 25 * MINUTE, 0)]
        {
            let expected = (release - minutes * MINUTE) / SECOND;
            let release = SecondsSinceMidnight::new(expected as u32);
            let time = announced + self.rng.below(MINUTE);
            self.add(time, stock, Action::IpoUpdate { release });
        }
        let quoting = release - 5 * MINUTE + self.rng.below(SECOND);
        self.reopen(quoting, stock, *b"IPOQ", *b"IPOE");
    }

    /// Short sale tests during the day, and broken trades.
    fn rarities(&mut self, spare: u64) {
        for _ in 0..u64::from(self.count()).div_ceil(100).min(107) {
            let stock = self.universe.pick(&mut self.rng) as u16;
            let time = OPEN + MINUTE + self.rng.below(6 * HOUR);
            self.add(time, stock, Action::ShortSaleTest(RegShoAction::RestrictionTriggered));
        }
        for _ in 0..(spare / 500_000).clamp(2, 12) {
            let time = OPEN + 15 * MINUTE + self.rng.below(7 * HOUR);
            self.add(time, 0, Action::BreakTrade);
        }
    }
}
