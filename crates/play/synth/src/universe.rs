//! The stocks of the market: invented symbols, prices and activity.
//!
//! Activity falls with rank as in Zipf's law with Mandelbrot's offset: a flat top, whose first
//! stock has a given share, then a hyperbola, then a cut-off towards stocks that hardly trade.

use std::collections::BTreeSet;

use nanotape_types::{Mpid, Symbol};

use super::{rng::Rng, stock_book::TICK};

/// Target share of the busiest stock in all messages.
const BUSIEST_SHARE: f64 = 0.013;

/// Market participants that sign their orders.
const PARTICIPANTS: usize = 48;

/// The part of a stock that does not change during the day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing {
    pub(super) symbol: Symbol,
    /// Share of the day's activity; the shares of all stocks add up to one.
    pub(super) activity: f64,
    /// The centre of the day's prices, a multiple of a tick.
    pub(super) base_price: u32,
    /// The usual distance between best bid and best offer, a multiple of a tick.
    pub(super) spread: u32,
    /// Listing market, as in the directory.
    pub(super) market_category: u8,
}

impl Listing {
    /// Whether the stock is listed on Nasdaq itself, which has other codes for some events.
    pub(super) fn is_nasdaq_listed(&self) -> bool {
        matches!(self.market_category, b'Q' | b'G' | b'S')
    }
}

/// All stocks of a day, in the order of their symbols and locates.
#[derive(Debug)]
pub(super) struct Universe {
    pub(super) listings: Vec<Listing>,
    pub(super) participants: Vec<Mpid>,
    sampler: AliasTable,
}

impl Universe {
    pub(super) fn new(symbols: u16, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 1);
        let count = usize::from(symbols);
        let mut activity = activity_by_rank(count);
        shuffle(&mut activity, &mut rng);
        let listings: Vec<Listing> = invent_symbols(count, &mut rng)
            .into_iter()
            .zip(&activity)
            .map(|(symbol, &activity)| list(symbol, activity, count, &mut rng))
            .collect();
        let mut participants = BTreeSet::new();
        while participants.len() < PARTICIPANTS {
            participants.insert(Mpid::new(core::array::from_fn(|_| letter(&mut rng))));
        }
        let sampler = AliasTable::new(&activity);
        Self { listings, participants: participants.into_iter().collect(), sampler }
    }

    /// A random stock, weighted by activity.
    #[inline]
    pub(super) fn pick(&self, rng: &mut Rng) -> usize {
        self.sampler.pick(rng)
    }
}

fn list(symbol: Symbol, activity: f64, count: usize, rng: &mut Rng) -> Listing {
    // From one to 600 dollars.
    let cents = rng.log_uniform(100, 60_000);
    // Busy stocks have a spread of a cent, others a wider one, expensive ones wider still.
    let relative = activity * count as f64;
    let ticks = 1 + rng.below(3) + if relative < 0.5 { cents / 2_500 + rng.below(6) } else { 0 };
    let ticks = if relative > 4.0 { ticks.min(2) } else { ticks };
    let market_category = match rng.below(100) {
        0..14 => b'Q',
        14..24 => b'G',
        24..38 => b'S',
        38..66 => b'N',
        66..69 => b'A',
        69..88 => b'P',
        _ => b'Z',
    };
    Listing {
        symbol,
        activity,
        base_price: cents as u32 * TICK,
        spread: ticks as u32 * TICK,
        market_category,
    }
}

/// Shares of the activity, busiest first, which add up to one.
///
/// Bisection finds the offset that gives the first its share. With too few stocks for that share,
/// it ends at a middle offset.
fn activity_by_rank(count: usize) -> Vec<f64> {
    let weight = |rank: usize, offset: f64| {
        let cut_off = 1.0 - rank as f64 / count as f64;
        cut_off * cut_off / (rank as f64 + 1.0 + offset)
    };
    let total = |offset: f64| (0..count).map(|rank| weight(rank, offset)).sum::<f64>();
    let first_share = |offset: f64| weight(0, offset) / total(offset);
    let (mut low, mut high) = (0.0, 1_000_000.0);
    let mut offset = 10.0;
    if first_share(low) > BUSIEST_SHARE && first_share(high) < BUSIEST_SHARE {
        for _ in 0..60 {
            offset = (low + high) / 2.0;
            if first_share(offset) > BUSIEST_SHARE { low = offset } else { high = offset }
        }
    }
    let total = total(offset);
    (0..count).map(|rank| weight(rank, offset) / total).collect()
}

/// Distinct symbols of one to five letters, a few with the suffix of a share class, sorted.
fn invent_symbols(count: usize, rng: &mut Rng) -> Vec<Symbol> {
    let mut symbols = BTreeSet::new();
    while symbols.len() < count {
        let length = match rng.below(1000) {
            0..2 => 1,
            2..20 => 2,
            20..300 => 3,
            300..900 => 4,
            _ => 5,
        };
        let mut bytes = [b' '; 8];
        bytes[..length].fill_with(|| letter(rng));
        if rng.below(100) < 3 {
            let suffix: &[u8] =
                [b".A".as_slice(), b".B", b"-A", b"-C", b"+", b"="][rng.below(6) as usize];
            bytes[length..length + suffix.len()].copy_from_slice(suffix);
        }
        symbols.insert(Symbol::new(bytes));
    }
    symbols.into_iter().collect()
}

fn letter(rng: &mut Rng) -> u8 {
    b'A' + rng.below(26) as u8
}

pub(super) fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

/// Walker's table: an index drawn by weight with one random number and one lookup.
#[derive(Debug)]
struct AliasTable {
    /// For each index: the chance out of 2^32 to keep it, and the index to take otherwise.
    columns: Vec<(u32, u32)>,
}

impl AliasTable {
    fn new(shares: &[f64]) -> Self {
        let count = shares.len();
        let mut heights: Vec<f64> = shares.iter().map(|share| share * count as f64).collect();
        let mut columns: Vec<(u32, u32)> = (0..count).map(|own| (u32::MAX, own as u32)).collect();
        let (mut short, mut tall): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|&index| heights[index] < 1.0);
        while let (Some(&poor), Some(&rich)) = (short.last(), tall.last()) {
            short.pop();
            columns[poor] = ((heights[poor] * 4_294_967_295.0) as u32, rich as u32);
            heights[rich] -= 1.0 - heights[poor];
            if heights[rich] < 1.0 {
                tall.pop();
                short.push(rich);
            }
        }
        Self { columns }
    }

    #[inline]
    fn pick(&self, rng: &mut Rng) -> usize {
        let bits = rng.bits();
        let column = (((bits >> 32) * self.columns.len() as u64) >> 32) as usize;
        let (stands, alias) = self.columns[column];
        if bits as u32 <= stands { column } else { alias as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_stock_has_its_share() {
        for count in [8_000, 8_500, 11_000, 65_535] {
            let activity = activity_by_rank(count);
            assert!((activity[0] - BUSIEST_SHARE).abs() < 1e-9);
            assert!((activity.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(activity.is_sorted_by(|a, b| a >= b));
        }
        assert_eq!(activity_by_rank(1), [1.0]);
    }

    #[test]
    fn stocks_are_picked_by_their_activity() {
        let table = AliasTable::new(&[0.5, 0.25, 0.2, 0.05]);
        let mut counts = [0u32; 4];
        let mut rng = Rng::new(3, 0);
        for _ in 0..100_000 {
            counts[table.pick(&mut rng)] += 1;
        }
        for (count, expected) in counts.into_iter().zip([50_000u32, 25_000, 20_000, 5_000]) {
            assert!(count.abs_diff(expected) < 600, "{counts:?}");
        }
    }

    #[test]
    fn symbols_are_distinct_and_sorted_even_for_the_largest_market() {
        let universe = Universe::new(u16::MAX, 5);
        assert_eq!(universe.listings.len(), 65_535);
        assert!(universe.listings.is_sorted_by(|a, b| a.symbol < b.symbol));
        assert!(universe.listings.iter().all(|l| (10_000..=6_000_000).contains(&l.base_price)));
    }
}
