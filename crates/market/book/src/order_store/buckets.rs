//! Orders in 64-byte buckets of four: one cache line per lookup, for any references.
//!
//! ```text
//! bucket   | order | order | order | order |                 one cache line
//! order    0       4        8                             16
//!          | price | shares | remainder 44 | displacement 3 | locate 16 | side 1 |
//!                    shares == 0: the slot is free               (bits of one u64)
//! ```
//!
//! A reference is not stored. It is multiplied by an odd number modulo 2^W, which is invertible,
//! and the product is split: the upper bits choose the bucket, the lower 44 are the remainder. Both
//! together give the reference again. W is 44 plus the binary logarithm of the number of buckets.
//! References of at least 2^W, and orders for which eight buckets in a row are full, go to a
//! standard map, which is empty on a real day.
//!
//! An order whose bucket is full goes to one of the next seven, and stores its displacement. Every
//! bucket that it passed is full, so a search ends at the first bucket with a free slot. A removal
//! from a full bucket moves back an order that was displaced over it.
//!
//! Only a query for a queue position needs the order of arrival. It is in a separate table, which
//! an insertion writes and the hot path never reads.

use nanotape_shm::Table;
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use super::{HashMapOrders, OrderStore, home::MULTIPLIER};
use crate::Order;

/// Orders in buckets of one cache line. At the stated capacity a quarter of the slots are used; the
/// table doubles at half.
#[derive(Debug)]
pub struct BucketOrders {
    /// Its length is a power of two.
    buckets: Table<Bucket>,
    arrivals: Table<[u32; PLACES]>,
    /// Binary logarithm of the number of buckets.
    bucket_bits: u32,
    /// Upper bits that must be zero in a reference.
    unused_bits: u32,
    /// Orders in the buckets.
    live: usize,
    /// Orders that the buckets cannot hold.
    elsewhere: HashMapOrders,
}

/// Orders in a bucket.
const PLACES: usize = 4;

/// Bits of the hash that an order keeps.
const REMAINDER_BITS: u32 = 44;

/// Buckets in which an order may be: its own and the next ones.
const REACH: usize = 8;

/// Bits of [`Place::word`] below those that identify the order: locate and side.
const OWNER_BITS: u32 = 17;

const DISPLACEMENT_BITS: u32 = 3;

const _: () = assert!(REMAINDER_BITS + DISPLACEMENT_BITS + OWNER_BITS == u64::BITS);
const _: () = assert!(REACH == 1 << DISPLACEMENT_BITS);

/// Inverse of the multiplication by [`MULTIPLIER`], which is odd.
const INVERSE: u64 = 0xf1de_83e1_9937_733d;

const _: () = assert!(MULTIPLIER.wrapping_mul(INVERSE) == 1);

#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
struct Bucket([Place; PLACES]);

#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
struct Place {
    price: u32,
    /// 0 in a free slot, whose other fields have no meaning.
    shares: u32,
    word: u64,
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// The home bucket and remainder of a reference.
#[derive(Clone, Copy)]
struct Home {
    bucket: usize,
    remainder: u64,
}

/// The position of an order.
#[derive(Clone, Copy)]
struct Found {
    bucket: usize,
    place: usize,
    /// Whether all slots of the bucket are taken.
    is_full: bool,
}

/// One bit for each slot of a bucket.
#[derive(Clone, Copy)]
struct Seen {
    matching: u32,
    free: u32,
}

impl Bucket {
    /// All four slots are compared, which avoids a mispredicted branch.
    #[inline(always)]
    fn search(&self, remainder: u64, displacement: usize) -> Seen {
        let wanted = remainder << DISPLACEMENT_BITS | displacement as u64;
        let mut seen = Seen { matching: 0, free: 0 };
        for (number, place) in self.0.iter().enumerate() {
            let is_free = place.shares == 0;
            let is_match = place.word >> OWNER_BITS == wanted;
            seen.matching |= u32::from(is_match & !is_free) << number;
            seen.free |= u32::from(is_free) << number;
        }
        seen
    }
}

impl Place {
    #[inline(always)]
    fn displacement(self) -> usize {
        (self.word >> OWNER_BITS) as usize % REACH
    }

    #[inline(always)]
    fn order(self, arrival: u32) -> Order {
        let side = if self.word & 1 == 0 { Side::Buy } else { Side::Sell };
        Order {
            stock_locate: StockLocate::new((self.word >> 1) as u16),
            side,
            price: Price::new(self.price),
            shares: Shares::new(self.shares),
            arrival,
        }
    }
}

impl BucketOrders {
    fn with_buckets(buckets: usize) -> Self {
        debug_assert!(buckets.is_power_of_two() && buckets >= REACH);
        let bucket_bits = buckets.trailing_zeros();
        let unused_bits = (u64::BITS - REMAINDER_BITS).saturating_sub(bucket_bits);
        Self {
            buckets: Table::new(buckets, Bucket::default()),
            arrivals: Table::new(buckets, [0; PLACES]),
            bucket_bits,
            unused_bits,
            live: 0,
            elsewhere: HashMapOrders::default(),
        }
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        self.buckets.len() - 1
    }

    /// The home of `reference`; meaningless unless it [`is_holdable`](Self::is_holdable).
    #[inline(always)]
    fn home(&self, reference: u64) -> Home {
        let hash = reference.wrapping_mul(MULTIPLIER) << self.unused_bits;
        Home {
            bucket: (hash >> (u64::BITS - self.bucket_bits)) as usize,
            remainder: hash << self.bucket_bits >> (u64::BITS - REMAINDER_BITS),
        }
    }

    /// Whether bucket and remainder are enough to identify the reference.
    #[inline(always)]
    fn is_holdable(&self, reference: u64) -> bool {
        reference & !(u64::MAX >> self.unused_bits) == 0
    }

    /// The reference of an order from its position: the inverse of `home`.
    fn reference(&self, bucket: usize, place: Place) -> OrderReferenceNumber {
        let home = bucket.wrapping_sub(place.displacement()) & self.mask();
        let remainder = place.word >> (u64::BITS - REMAINDER_BITS);
        let hash = (home as u64) << (u64::BITS - self.bucket_bits)
            | remainder << (u64::BITS - REMAINDER_BITS) >> self.bucket_bits;
        let product = hash >> self.unused_bits;
        OrderReferenceNumber::new(product.wrapping_mul(INVERSE) & u64::MAX >> self.unused_bits)
    }

    /// The position of the order in the buckets, or the free slot of its own bucket.
    #[inline(always)]
    fn find(&self, home: Home) -> Result<Found, Option<usize>> {
        let bucket = home.bucket & self.mask();
        let seen = self.buckets[bucket].search(home.remainder, 0);
        if seen.matching != 0 {
            let place = seen.matching.trailing_zeros() as usize;
            return Ok(Found { bucket, place, is_full: seen.free == 0 });
        }
        if seen.free != 0 {
            return Err(Some(seen.free.trailing_zeros() as usize));
        }
        self.find_displaced(home).ok_or(None)
    }

    #[cold]
    #[inline(never)]
    fn find_displaced(&self, home: Home) -> Option<Found> {
        for displacement in 1..REACH {
            let bucket = (home.bucket + displacement) & self.mask();
            let seen = self.buckets[bucket].search(home.remainder, displacement);
            if seen.matching != 0 {
                let place = seen.matching.trailing_zeros() as usize;
                return Some(Found { bucket, place, is_full: seen.free == 0 });
            }
            if seen.free != 0 {
                return None;
            }
        }
        None
    }

    #[inline(always)]
    fn put(&mut self, home: Home, displacement: usize, place: usize, order: Order) {
        let bucket = (home.bucket + displacement) & self.mask();
        let identity = home.remainder << DISPLACEMENT_BITS | displacement as u64;
        let owner = u64::from(order.stock_locate.get()) << 1 | order.side as u64;
        self.buckets[bucket].0[place % PLACES] = Place {
            price: order.price.code(),
            shares: order.shares.get(),
            word: identity << OWNER_BITS | owner,
        };
        self.arrivals[bucket][place % PLACES] = order.arrival;
        self.live += 1;
    }

    /// Stores an order whose own bucket is full: in one of the next buckets, or, if they are full
    /// too, in `elsewhere`.
    #[cold]
    #[inline(never)]
    fn put_displaced(&mut self, reference: OrderReferenceNumber, home: Home, order: Order) {
        for displacement in 1..REACH {
            let bucket = (home.bucket + displacement) & self.mask();
            let free = self.buckets[bucket].0.iter().position(|place| place.shares == 0);
            if let Some(place) = free {
                return self.put(home, displacement, place, order);
            }
        }
        self.elsewhere.insert(reference, order);
    }

    /// After a removal from a full bucket, moves back an order that was displaced over it, so that
    /// every bucket before a displaced order stays full.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, mut bucket: usize, mut hole: usize) {
        'holes: loop {
            for distance in 1..REACH {
                let from = (bucket + distance) & self.mask();
                let places = &self.buckets[from].0;
                let was_full = places.iter().all(|place| place.shares != 0);
                let displaced = places
                    .iter()
                    .position(|place| place.shares != 0 && place.displacement() >= distance);
                if let Some(place) = displaced {
                    let mut moved = self.buckets[from].0[place];
                    moved.word -= (distance as u64) << OWNER_BITS;
                    self.buckets[bucket].0[hole] = moved;
                    self.buckets[from].0[place].shares = 0;
                    self.arrivals[bucket][hole] = self.arrivals[from][place];
                    if !was_full {
                        return;
                    }
                    (bucket, hole) = (from, place);
                    continue 'holes;
                }
                if !was_full {
                    return;
                }
            }
            return;
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        self.elsewhere.insert(reference, order)
    }

    #[cold]
    #[inline(never)]
    fn take_elsewhere(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        self.elsewhere.take(reference, shares)
    }

    /// Doubles the table. Besides `elsewhere`, only this allocates after construction.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = Self::with_buckets(self.buckets.len() * 2);
        for (reference, order) in self.iter() {
            larger.insert(reference, order);
        }
        *self = larger;
    }
}

impl OrderStore for BucketOrders {
    fn with_capacity(orders: usize) -> Self {
        Self::with_buckets(orders.next_power_of_two().max(REACH))
    }

    #[inline(always)]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        debug_assert!(order.shares.get() > 0, "an entry without shares is a free entry");
        if self.live >= self.buckets.len() * (PLACES / 2) {
            self.grow();
        }
        if !self.is_holdable(reference.get()) {
            return self.insert_elsewhere(reference, order);
        }
        let home = self.home(reference.get());
        match self.find(home) {
            Ok(_) => return false,
            Err(_) if !self.elsewhere.is_empty() && self.elsewhere.get(reference).is_some() => {
                return false;
            }
            Err(Some(place)) => self.put(home, 0, place, order),
            Err(None) => self.put_displaced(reference, home, order),
        }
        true
    }

    #[inline(always)]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let found = if self.is_holdable(reference.get()) {
            self.find(self.home(reference.get())).ok()
        } else {
            None
        };
        let Some(Found { bucket, place, is_full }) = found else {
            if self.elsewhere.is_empty() {
                return None;
            }
            return self.take_elsewhere(reference, shares);
        };
        let entry = &mut self.buckets[bucket].0[place % PLACES];
        let before = *entry;
        let left = before.shares.saturating_sub(shares);
        // A count of zero also frees the slot.
        entry.shares = left;
        self.live -= usize::from(left == 0);
        if is_full & (left == 0) {
            self.refill(bucket, place);
        }
        // Reading the arrival would cost another cache line.
        Some(before.order(0))
    }

    #[inline(always)]
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        if self.is_holdable(reference.get())
            && let Ok(found) = self.find(self.home(reference.get()))
        {
            let arrival = self.arrivals[found.bucket][found.place];
            return Some(self.buckets[found.bucket].0[found.place].order(arrival));
        }
        self.elsewhere.get(reference)
    }

    #[inline(always)]
    fn touch(&self, reference: OrderReferenceNumber, _: usize) -> usize {
        let bucket = self.home(reference.get()).bucket;
        self.buckets.prefetch(bucket);
        self.arrivals.prefetch(bucket);
        0
    }

    fn len(&self) -> usize {
        self.live + self.elsewhere.len()
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        let buckets = self.buckets.iter().zip(self.arrivals.iter()).enumerate();
        let held = buckets.flat_map(move |(number, (bucket, arrivals))| {
            let places = bucket.0.iter().zip(arrivals).filter(|(place, _)| place.shares != 0);
            places.map(move |(&place, &arrival)| {
                (self.reference(number, place), place.order(arrival))
            })
        });
        held.chain(self.elsewhere.iter())
    }
}
