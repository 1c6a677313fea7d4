//! Plans a day, then makes its messages one by one, in order of time.

use std::io::{self, Write};

use nanotape_wire::itch50::TradingState;

use crate::{
    arrivals::Arrivals,
    census::Room,
    config::{MarketConfig, MarketError},
    order_flow::{OrderFlow, name},
    rng::Rng,
    session_events::{self, Action, Planned},
    tape::Tape,
    universe::Universe,
};

/// Bytes that one [`Market::fill`] appends, up to one message more or less.
const CHUNK: usize = 256 * 1024;

/// A day in progress: returns its BinaryFILE bytes in order.
#[derive(Debug)]
pub struct Market {
    config: MarketConfig,
    universe: Universe,
    /// The day's programme, and how much of it is done.
    planned: Vec<Planned>,
    next_planned: usize,
    arrivals: Arrivals,
    flow: OrderFlow,
    tape: Tape,
    rng: Rng,
}

impl Market {
    /// Prepares the day; no message is made yet.
    ///
    /// # Errors
    ///
    /// If the day is impossible: no symbols, or too few or too many messages.
    pub fn new(config: MarketConfig) -> Result<Self, MarketError> {
        config.check()?;
        let MarketConfig { messages, symbols, seed, date } = config;
        let universe = Universe::new(symbols, seed);
        // The stocks stay from day to day; their events do not.
        let day = seed ^ date.number().wrapping_mul(0xd6e8_feb8_6659_fd93);
        let room = Room::new(messages, MarketConfig::minimum_messages(symbols), symbols);
        let planned = session_events::plan(&universe, &room, Rng::new(day, 2));
        let slots = messages - planned.len() as u64;
        let arrivals = Arrivals::new(slots, Rng::new(day, 3));
        let flow = OrderFlow::new(&universe, slots, &arrivals, Rng::new(day, 4));
        let (tape, rng) = (Tape::new(), Rng::new(day, 5));
        Ok(Self { config, universe, planned, next_planned: 0, arrivals, flow, tape, rng })
    }

    /// The configuration it was made from.
    pub fn config(&self) -> &MarketConfig {
        &self.config
    }

    /// Messages returned so far.
    pub fn messages(&self) -> u64 {
        self.tape.written()
    }

    /// Appends the next part of the day to `buffer`: about 256 KiB of whole messages, each after
    /// its length in two big-endian bytes. Returns false, without appending, once the day is over.
    /// As in the public files, there is no record of length 0 at the end.
    pub fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        // The tape writes into the caller's buffer, so nothing is copied.
        core::mem::swap(&mut self.tape.bytes, buffer);
        let start = self.tape.bytes.len();
        let end = start + CHUNK;
        while self.tape.bytes.len() < end && self.step() {}
        core::mem::swap(&mut self.tape.bytes, buffer);
        buffer.len() > start
    }

    /// Writes the rest of the day; returns its number of bytes.
    ///
    /// # Errors
    ///
    /// Errors of `output`.
    pub fn write_to(&mut self, output: &mut impl Write) -> io::Result<u64> {
        let (mut buffer, mut bytes) = (Vec::with_capacity(CHUNK + 64), 0);
        while self.fill(&mut buffer) {
            output.write_all(&buffer)?;
            bytes += buffer.len() as u64;
            buffer.clear();
        }
        Ok(bytes)
    }

    /// Makes one message; returns false at the end of the day.
    fn step(&mut self) -> bool {
        let slot = self.arrivals.peek();
        let planned = self.planned.get(self.next_planned).copied();
        match (slot, planned) {
            (Some(slot), planned) if planned.is_none_or(|planned| slot.time < planned.time) => {
                self.arrivals.advance();
                self.tape.set_time(slot.time);
                self.flow.slot(slot, &self.universe, &mut self.tape);
            }
            (_, Some(planned)) => {
                self.next_planned += 1;
                self.tape.set_time(planned.time);
                self.announce(planned);
            }
            _ => return false,
        }
        true
    }

    fn announce(&mut self, planned: Planned) {
        let Self { universe, flow, tape, rng, .. } = self;
        let stock = usize::from(planned.stock);
        let listing = &universe.listings[stock];
        let about = name(stock, listing);
        match planned.action {
            Action::Event(code) => tape.event(code),
            Action::CircuitBreakerLevels => tape.circuit_breaker_levels(),
            Action::Directory { ipo } => tape.directory(about, listing, rng, ipo),
            Action::State { state, reason } => {
                flow.set_halted(stock, state != TradingState::Trading);
                tape.trading_state(about, state, reason);
            }
            Action::ShortSaleTest(action) => tape.short_sale_test(about, action),
            Action::Participant { index } => {
                let mpid = universe.participants[usize::from(index)];
                tape.participant(about, mpid, rng.below(10) == 0);
            }
            Action::CrossExecution { remaining } => {
                if !flow.cross_execution(stock, remaining, universe, tape) {
                    flow.another(universe, tape);
                }
            }
            Action::Cross(cross) => flow.cross(stock, cross, universe, tape),
            Action::Imbalance(cross) => flow.imbalance(stock, cross, universe, tape),
            Action::Collar { extension } => {
                tape.collar(about, flow.reference_price(stock), extension);
            }
            Action::IpoUpdate { release } => {
                tape.ipo_update(about, release.get(), listing.base_price);
            }
            Action::OperationalHalt(action) => tape.operational_halt(about, action),
            Action::BreakTrade => {
                if !flow.break_trade(universe, tape) {
                    flow.another(universe, tape);
                }
            }
        }
    }
}
