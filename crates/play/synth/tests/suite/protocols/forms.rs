//! What single messages of ITCH become, as the table of docs/synthetic-market.md says.

use nanotape_synth::{FeedProtocol, MarketConfig, ProtocolDay};
use nanotape_types::{
    MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares,
    StockLocate, Symbol, TotalShares, TrackingNumber,
};
use nanotape_wire::{
    framing::{iextp::IexTp, numbered::PacketFraming as _, pitch::Pitch},
    itch50::*,
};

use super::config;

const LONG: Symbol = Symbol::new(*b"ABCDE.A ");
const SHORT: Symbol = Symbol::new(*b"ABC     ");

/// A day that is written message by message, each a millisecond after the one before.
#[derive(Default)]
struct Script {
    /// Whether it is about the stock with the long symbol.
    is_long: bool,
    time: u64,
    matches: u64,
}

impl Script {
    fn head(&mut self) -> (StockLocate, TrackingNumber, NanosSinceMidnight) {
        self.time += 1_000_000;
        let time = NanosSinceMidnight::new(36_000_000_000_000 + self.time).unwrap();
        (StockLocate::new(1 + u16::from(self.is_long)), TrackingNumber::new(0), time)
    }

    fn symbol(&self) -> Symbol {
        if self.is_long { LONG } else { SHORT }
    }

    fn next_match(&mut self) -> MatchNumber {
        self.matches += 1;
        MatchNumber::new(self.matches)
    }

    fn directory(&mut self) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = StockDirectoryFields {
            stock_locate,
            tracking_number,
            timestamp,
            stock: self.symbol(),
            market_category: MarketCategory::NasdaqGlobal,
            financial_status: FinancialStatus::Normal,
            round_lot_size: 100,
            round_lots_only: YesNo::No,
            issue_classification: IssueClassification::CommonStock,
            issue_sub_type: nanotape_types::Alpha::new(*b"C "),
            authenticity: Authenticity::Production,
            short_sale_threshold: YesNo::No,
            ipo_flag: IpoFlag::No,
            luld_tier: LuldTier::Tier1,
            etp_flag: YesNo::No,
            etp_leverage_factor: 0,
            inverse_indicator: YesNo::No,
        };
        message.encode().to_vec()
    }

    fn add(&mut self, id: u64, shares: u32, price: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = AddOrderFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
            buy_sell_indicator: BuySellIndicator::Buy,
            shares: Shares::new(shares),
            stock: self.symbol(),
            price: Price4::new(price),
        };
        message.encode().to_vec()
    }

    fn add_signed(&mut self, id: u64, shares: u32, price: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = AddOrderMpidFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
            buy_sell_indicator: BuySellIndicator::Sell,
            shares: Shares::new(shares),
            stock: self.symbol(),
            price: Price4::new(price),
            attribution: Mpid::new(*b"ABCD"),
        };
        message.encode().to_vec()
    }

    fn execute(&mut self, id: u64, shares: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = OrderExecutedFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
            executed_shares: Shares::new(shares),
            match_number: self.next_match(),
        };
        message.encode().to_vec()
    }

    fn execute_at(&mut self, id: u64, shares: u32, printable: YesNo) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = OrderExecutedWithPriceFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
            executed_shares: Shares::new(shares),
            match_number: self.next_match(),
            printable,
            execution_price: Price4::new(9_100),
        };
        message.encode().to_vec()
    }

    fn cancel(&mut self, id: u64, shares: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = OrderCancelFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
            cancelled_shares: Shares::new(shares),
        };
        message.encode().to_vec()
    }

    fn delete(&mut self, id: u64) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = OrderDeleteFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: OrderReferenceNumber::new(id),
        };
        message.encode().to_vec()
    }

    fn replace(&mut self, ids: (u64, u64), shares: u32, price: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = OrderReplaceFields {
            stock_locate,
            tracking_number,
            timestamp,
            original_order_reference_number: OrderReferenceNumber::new(ids.0),
            new_order_reference_number: OrderReferenceNumber::new(ids.1),
            shares: Shares::new(shares),
            price: Price4::new(price),
        };
        message.encode().to_vec()
    }

    fn hidden(&mut self, shares: u32, price: u32) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = TradeFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number: Maybe::NONE,
            buy_sell_indicator: BuySellIndicator::Buy,
            shares: Shares::new(shares),
            stock: self.symbol(),
            price: Price4::new(price),
            match_number: self.next_match(),
        };
        message.encode().to_vec()
    }

    fn cross(&mut self, shares: u64, cross_type: CrossType) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let message = CrossTradeFields {
            stock_locate,
            tracking_number,
            timestamp,
            shares: TotalShares::new(shares),
            stock: self.symbol(),
            cross_price: Price4::new(9_100),
            match_number: self.next_match(),
            cross_type,
        };
        message.encode().to_vec()
    }

    fn break_trade(&mut self, match_number: u64) -> Vec<u8> {
        let (stock_locate, tracking_number, timestamp) = self.head();
        let match_number = MatchNumber::new(match_number);
        let message = BrokenTradeFields { stock_locate, tracking_number, timestamp, match_number };
        message.encode().to_vec()
    }
}

/// The messages that a feed makes of the script, each on its own: types of IEX with `+` if the
/// event goes on, and those of PITCH without Time and Unit Clear.
fn forms(protocol: FeedProtocol, script: &[Vec<u8>]) -> Vec<String> {
    let mut day = ProtocolDay::new(&MarketConfig::default(), config(protocol));
    let mut forms = vec![Vec::new(); script.len()];
    let mut place = |ts_ns: u64, form: String| {
        forms[(ts_ns / 1_000_000 % 1_000) as usize - 1].push(form);
    };
    let mut take = |packet: nanotape_synth::FeedPacket<'_>| {
        let nanotape_synth::FeedPacket { ts_ns, payload, .. } = packet;
        if protocol == FeedProtocol::CboePitch {
            for (_, bytes) in Pitch::decode(payload).unwrap().messages() {
                if ![0x20, 0x97].contains(&bytes[1]) {
                    place(ts_ns, format!("{:02x}", bytes[1]));
                }
            }
            return Ok(());
        }
        for (_, bytes) in IexTp::decode(payload).unwrap().messages() {
            let is_open = b"85".contains(&bytes[0]) && bytes[1] == 0;
            let more = if is_open { "+" } else { "" };
            place(ts_ns, format!("{}{more}", char::from(bytes[0])));
        }
        Ok(())
    };
    for message in script {
        let length = (message.len() as u16).to_be_bytes();
        day.add(&[&length[..], message].concat(), &mut take).unwrap();
    }
    day.finish(&mut take).unwrap();
    forms.into_iter().map(|forms| forms.join(" ")).collect()
}

#[test]
fn each_message_becomes_those_of_the_table() {
    let mut day = Script::default();
    let yes_no = (YesNo::Yes, YesNo::No);
    // In the order of the protocols: DEEP, DEEP+, TOPS, PITCH.
    let rows: Vec<(Vec<u8>, [&str; 4])> = vec![
        (day.directory(), ["D", "D", "D", ""]),
        // Short, long by its size, by its price and by its decimals, and signed.
        (day.add(1, 65_535, 6_553_500), ["8", "a", "Q", "22"]),
        (day.add(2, 65_536, 6_553_500), ["8", "a", "Q", "21"]),
        (day.add(3, 100, 6_553_600), ["8", "a", "Q", "21"]),
        (day.add(4, 200_000, 9_050), ["8", "a", "", "21"]),
        (day.add_signed(5, 100, 7_000_000), ["5", "a", "Q", "2f"]),
        (day.execute(3, 60), ["T 8", "L", "T Q", "23"]),
        (day.execute(3, 40), ["T 8", "L", "T Q", "23"]),
        (day.execute_at(4, 100, yes_no.0), ["T 8", "L", "T", "24"]),
        (day.execute_at(4, 100, yes_no.1), ["8", "M", "", "26"]),
        (day.execute_at(4, 65_536, yes_no.1), ["8", "M", "", "25"]),
        // Another level, the same level, and the same size at the same level.
        (day.replace((4, 6), 100, 9_060), ["8+ 8", "M", "", "27"]),
        (day.replace((6, 7), 100, 9_100), ["8+ 8", "M", "", "28"]),
        (day.replace((7, 8), 200, 9_100), ["8", "M", "", "28"]),
        (day.replace((8, 9), 200, 9_100), ["", "M", "", "28"]),
        (day.execute_at(9, 200, yes_no.1), ["8", "R", "", "29"]),
        (day.cancel(5, 100), ["5", "R", "Q", "29"]),
        (day.delete(1), ["8", "R", "Q", "29"]),
        (day.delete(1), ["", "", "", ""]),
        (day.hidden(100, 9_100), ["T", "T", "T", "2b"]),
        (day.hidden(100, 9_150), ["T", "T", "T", "2a"]),
        (day.cross(0, CrossType::HaltOrIpo), ["", "", "", "96"]),
        (day.cross(300, CrossType::HaltOrIpo), ["T", "T", "T", "2b 96"]),
        (day.cross(0, CrossType::Opening), ["E", "E", "E", "96"]),
        (day.cross(70_000, CrossType::Closing), ["T X E", "T E", "T X E", "2a 96"]),
        // The executions that were not printed have the numbers 4, 5 and 6.
        (day.break_trade(4), ["", "", "", ""]),
        (day.break_trade(1), ["B", "B", "B", "2c"]),
        (day.break_trade(1), ["", "", "", ""]),
        (
            {
                day.is_long = true;
                day.directory()
            },
            ["D", "D", "D", ""],
        ),
        (day.add(10, 100, 10_000), ["8", "a", "Q", "2f"]),
        (day.hidden(100, 10_000), ["T", "T", "T", "30"]),
    ];
    let script: Vec<Vec<u8>> = rows.iter().map(|(message, _)| message.clone()).collect();
    for (index, protocol) in FeedProtocol::ALL.into_iter().enumerate() {
        for (row, found) in forms(protocol, &script).into_iter().enumerate() {
            let (message, expected) = &rows[row];
            let tag = char::from(message[0]);
            assert_eq!(found, expected[index], "{protocol}: {tag} in row {row}");
        }
    }
}
