//! The feeds that this crate reads, as the rest of a plant needs to know them. Numbers are DBN's;
//! it has one feed of IEX.

use nanotape_market::{BookDetail, Venue};
use nanotape_types::PriceScale;

const NEW_YORK: &str = "America/New_York";

/// Nasdaq TotalView-ITCH 5.0.
pub const NASDAQ_ITCH: &Venue = &Venue {
    name: "Nasdaq TotalView-ITCH 5.0",
    publisher_id: 2,
    zone: NEW_YORK,
    day_begins_s: 0,
    detail: BookDetail::Orders,
    skew_ns: 0,
    price_scale: PriceScale::ITCH,
};

/// IEX DEEP 1.0. Messages of different stocks are not in the order of their times.
pub const IEX_DEEP: &Venue = &Venue {
    name: "IEX DEEP 1.0",
    publisher_id: 38,
    zone: NEW_YORK,
    day_begins_s: 0,
    detail: BookDetail::Levels,
    skew_ns: 1_000_000_000,
    price_scale: PriceScale::WIDE,
};

/// IEX DEEP+ 1.0.
pub const IEX_DEEP_PLUS: &Venue =
    &Venue { name: "IEX DEEP+ 1.0", detail: BookDetail::Orders, ..*IEX_DEEP };

/// IEX TOPS 1.6.
pub const IEX_TOPS: &Venue =
    &Venue { name: "IEX TOPS 1.6", detail: BookDetail::Quotes, ..*IEX_DEEP };

/// Cboe multicast PITCH of BZX. Messages do not state the exchange; the others have numbers of
/// their own. Its units are read in the order in which their packets came.
pub const CBOE_PITCH: &Venue = &Venue {
    name: "Cboe multicast PITCH 2",
    publisher_id: 5,
    zone: NEW_YORK,
    day_begins_s: 0,
    detail: BookDetail::Orders,
    skew_ns: 1_000_000_000,
    price_scale: PriceScale::WIDE,
};

/// A feed with this number in DBN; [`Venue::UNKNOWN`] if there is none. Feeds of one number differ
/// in nothing that a reader of records needs.
pub fn venue_of(publisher_id: u16) -> &'static Venue {
    let all = [NASDAQ_ITCH, IEX_DEEP, CBOE_PITCH];
    let found = all.into_iter().find(|venue| venue.publisher_id == publisher_id);
    found.unwrap_or(Venue::UNKNOWN)
}
