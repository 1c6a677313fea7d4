//! Nasdaq TotalView-ITCH 5.0: the generated views, and additions that a schema cannot express.
//!
//! The offset tables are in `docs/protocols/nasdaq-itch-5.0.md`.

use nanotape_types::{Coming, OrderReferenceNumber, Side, StockLocate, WireValue as _};

use crate::{codec::field, framing::binary_file::LENGTH_BYTES};

pub use crate::generated::itch50::*;

/// What a message will change, if it is one of the seven types that change a book. For any other
/// message of that length, the result has arbitrary values.
///
/// This is a guess for look-ahead, which hardly reads the type: all seven types have stock locate
/// and order reference number at the same offset, which a test checks against their views.
#[inline(always)]
pub fn coming(message: &[u8]) -> Option<Coming> {
    let head = message.first_chunk::<{ OrderDelete::LEN }>()?;
    let tag = head[TAG_OFFSET];
    // The side of an added order. For a shorter message this is its last byte, which avoids an
    // unpredictable branch.
    let side_byte = message[(message.len() - 1).min(SIDE_OFFSET)];
    Some(Coming {
        stock_locate: StockLocate::from_be_bytes(*field::<1, 2, _>(head)),
        reference: OrderReferenceNumber::from_be_bytes(*field::<11, 8, _>(head)),
        is_new: (tag == AddOrder::TAG) | (tag == AddOrderMpid::TAG),
        side_if_new: if side_byte == SELL { Side::Sell } else { Side::Buy },
    })
}

/// Bytes at the start of a record in which a message about a displayed order always fits.
pub const ORDER_RECORD_BYTES: usize = LENGTH_BYTES + AddOrderMpid::LEN;

/// Takes a message. A trait, not a closure: each arm of [`take_order_message`] inlines its own
/// copy, where the type and the length of the message are known at compile time.
pub trait TakeMessage {
    /// What it returns.
    type Output;

    /// Takes the message.
    fn take(self, message: Message<'_>) -> Self::Output;
}

/// Passes the first message of `records` on, if it is one of the seven about displayed orders and
/// has the length of its type.
///
/// Length and type are compared together, with one constant for each type. A jump through a table
/// would wait for the loads of length, type and table, and the next type is often guessed wrong:
/// nothing useful happens before the guess is checked (bench: decode/hot).
#[inline(always)]
pub fn take_order_message<T: TakeMessage>(
    records: &[u8; ORDER_RECORD_BYTES],
    taker: T,
) -> Option<T::Output> {
    macro_rules! take_if {
        ($head:ident is $($Name:ident)*) => {$(
            if $head == const { Head::of($Name::LEN, $Name::TAG).0 } as _ {
                let bytes = field::<LENGTH_BYTES, { $Name::LEN }, _>(records);
                return Some(taker.take(Message::$Name($Name::of_compared(bytes))));
            }
        )*};
    }
    // From the most frequent type to the rarest. The compiler would turn comparisons of one value
    // into a tree, where the frequent types are as deep as the rare ones; so there are two values.
    let head = Head::first(records).0;
    take_if!(head is AddOrder);
    let same_head = u64::from_le_bytes(*field::<0, 8, _>(records)) & u64::from(Head::MASK);
    take_if!(same_head is OrderDelete);
    take_if!(head is OrderReplace OrderExecuted OrderCancel AddOrderMpid OrderExecutedWithPrice);
    None
}

/// Length and type of a record, as they are in its first bytes.
struct Head(u32);

impl Head {
    const MASK: u32 = 0x00ff_ffff;

    const fn of(length: usize, tag: u8) -> Self {
        let [high, low] = (length as u16).to_be_bytes();
        Self(u32::from_le_bytes([high, low, tag, 0]))
    }

    #[inline(always)]
    fn first(records: &[u8; ORDER_RECORD_BYTES]) -> Self {
        Self(u32::from_le_bytes(*field::<0, 4, _>(records)) & Self::MASK)
    }
}

/// The code of [`BuySellIndicator::Buy`].
const BUY: u8 = BuySellIndicator::Buy.code();

/// The code of [`BuySellIndicator::Sell`].
const SELL: u8 = BuySellIndicator::Sell.code();

/// The side with this code. The lowest bit chooses the side, and one comparison accepts the code:
/// of a match or a comparison with each code the compiler makes a branch on buy or sell, which is
/// guessed wrong as often as not.
#[inline(always)]
const fn side_of(code: u8) -> Option<Side> {
    const { assert!(BUY & 1 == 0 && SELL & 1 == 1) };
    let is_sell = code & 1;
    if code == BUY ^ (is_sell * (BUY ^ SELL)) {
        Some(if is_sell == 1 { Side::Sell } else { Side::Buy })
    } else {
        None
    }
}

impl AddOrder<'_> {
    /// The side of the order, unless its code is unknown.
    #[inline(always)]
    pub fn side(self) -> Option<Side> {
        side_of(self.as_bytes()[SIDE_OFFSET])
    }
}

impl AddOrderMpid<'_> {
    /// The side of the order, unless its code is unknown.
    #[inline(always)]
    pub fn side(self) -> Option<Side> {
        side_of(self.as_bytes()[SIDE_OFFSET])
    }
}

/// Offset of the side of an added order.
const SIDE_OFFSET: usize = 19;

impl BuySellIndicator {
    /// The side, unless the code is unknown.
    #[inline]
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Buy => Some(Side::Buy),
            Self::Sell => Some(Side::Sell),
            Self::Unknown(_) => None,
        }
    }
}

impl From<Side> for BuySellIndicator {
    #[inline]
    fn from(side: Side) -> Self {
        match side {
            Side::Buy => Self::Buy,
            Side::Sell => Self::Sell,
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::WireValue;

    use super::*;

    #[test]
    fn the_side_of_an_added_order_is_that_of_its_code() {
        for code in 0..=u8::MAX {
            let (mut plain, mut attributed) = ([0; AddOrder::LEN], [0; AddOrderMpid::LEN]);
            (plain[TAG_OFFSET], attributed[TAG_OFFSET]) = (AddOrder::TAG, AddOrderMpid::TAG);
            (plain[SIDE_OFFSET], attributed[SIDE_OFFSET]) = (code, code);
            let (plain, attributed) =
                (AddOrder::wrap(&plain).unwrap(), AddOrderMpid::wrap(&attributed).unwrap());
            assert_eq!(plain.side(), plain.buy_sell_indicator().side());
            assert_eq!(attributed.side(), attributed.buy_sell_indicator().side());
        }
    }

    #[test]
    fn a_side_is_a_code_and_back() {
        for side in Side::BOTH {
            assert_eq!(BuySellIndicator::from(side).side(), Some(side));
        }
        assert_eq!(BuySellIndicator::from_be_bytes(*b"b").side(), None);
    }
}
