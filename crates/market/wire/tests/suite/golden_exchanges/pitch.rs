//! Cboe PITCH: multicast and TCP.

use nanotape_wire::{pitch, pitch_tcp};

use super::*;

const OFFSET: NanosOffset = NanosOffset::new(44_000);
const ORDER: OrderReferenceNumber = OrderReferenceNumber::new(1001);
const MATCH: MatchNumber = MatchNumber::new(77);

#[test]
fn multicast_messages() {
    use pitch::*;
    let mut golden = Golden::default();
    for epoch_time in [None, Some(SecondsSinceEpoch::new(1_700_058_600))] {
        let fields = TimeFields { time: SecondsSinceMidnight::new(34_200), epoch_time };
        let mut buffer = [0; 10];
        add!(@bytes golden, pitch, fields.encode(&mut buffer).expect("room"));
    }
    add! { golden, pitch:
        UnitClearFields { time_offset: OFFSET }
        AddOrderLongFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: Shares::new(95_000),
            symbol: Alpha::new(*b"ZVZZT "),
            price: Decimal::new(990_525),
            add_flags: AddFlags::DISPLAYED,
        }
        AddOrderShortFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: 300,
            symbol: Alpha::new(*b"ZVZZT "),
            price: Decimal::new(9_905),
            add_flags: AddFlags::DISPLAYED,
        }
        AddOrderExpandedFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: Shares::new(95_000),
            symbol: symbol("ZVZZT"),
            price: Decimal::new(990_525),
            add_flags: AddFlags::DISPLAYED,
            participant_id: Alpha::new(*b"GSCO"),
            customer_indicator: CustomerIndicator::NonCustomer,
        }
        OrderExecutedFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            executed_shares: Shares::new(100),
            match_number: MATCH,
        }
        OrderExecutedAtPriceSizeFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            executed_shares: Shares::new(100),
            remaining_shares: Shares::new(200),
            match_number: MATCH,
            price: Decimal::new(990_525),
        }
        ReduceSizeLongFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            cancelled_shares: Shares::new(95_000),
        }
        ReduceSizeShortFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            cancelled_shares: 100,
        }
        ModifyOrderLongFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            shares: Shares::new(95_000),
            price: Decimal::new(990_525),
            modify_flags: ModifyFlags::DISPLAYED.with(ModifyFlags::PRIORITY_KEPT),
        }
        ModifyOrderShortFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            shares: 300,
            price: Decimal::new(9_905),
            modify_flags: ModifyFlags::DISPLAYED.with(ModifyFlags::PRIORITY_KEPT),
        }
        DeleteOrderFields { time_offset: OFFSET, order_reference_number: ORDER }
        TradeLongFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: Shares::new(95_000),
            symbol: Alpha::new(*b"ZVZZT "),
            price: Decimal::new(990_525),
            match_number: MATCH,
        }
        TradeShortFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: 300,
            symbol: Alpha::new(*b"ZVZZT "),
            price: Decimal::new(9_905),
            match_number: MATCH,
        }
        TradeExpandedFields {
            time_offset: OFFSET,
            order_reference_number: ORDER,
            side_indicator: SideIndicator::Buy,
            shares: Shares::new(95_000),
            symbol: symbol("ZVZZT"),
            price: Decimal::new(990_525),
            match_number: MATCH,
        }
        TradeBreakFields { time_offset: OFFSET, match_number: MATCH }
        EndOfSessionFields { time_offset: OFFSET }
        TradingStatusFields {
            time_offset: OFFSET,
            symbol: symbol("ZVZZT"),
            trading_status: TradingStatusCode::AcceptingOrders,
            reg_sho_action: RegShoAction::NoRestriction,
            reserved_1: Alpha::new(*b" "),
            reserved_2: Alpha::new(*b" "),
        }
        AuctionUpdateFields {
            time_offset: OFFSET,
            symbol: symbol("ZVZZT"),
            auction_type: AuctionType::Opening,
            reference_price: Decimal::new(990_500),
            buy_shares: Shares::new(70_000),
            sell_shares: Shares::new(80_000),
            indicative_price: Decimal::new(990_600),
            auction_only_price: Decimal::new(990_700),
        }
        AuctionSummaryFields {
            time_offset: OFFSET,
            symbol: symbol("ZVZZT"),
            auction_type: AuctionType::Opening,
            price: Decimal::new(990_525),
            shares: Shares::new(95_000),
        }
        RetailPriceImprovementFields {
            time_offset: OFFSET,
            symbol: symbol("ZVZZT"),
            retail_price_improvement: RetailPriceImprovementCode::Buy,
        }
        TimeReferenceFields {
            midnight: SecondsSinceEpoch::new(1_700_024_400),
            time: SecondsSinceMidnight::new(34_200),
            time_offset: OFFSET,
            trade_date: 20_231_115,
        }
    }
    // A type that is not listed, and a message with more bytes than are known.
    add!(@bytes golden, pitch, b"\x05\xeeabc");
    let mut grown =
        DeleteOrderFields { time_offset: OFFSET, order_reference_number: ORDER }.encode().to_vec();
    grown.extend(b"new");
    grown[0] += 3;
    let delete = DeleteOrder::wrap(&grown).expect("it may be longer");
    assert_eq!((delete.order_reference_number(), delete.as_bytes()), (ORDER, &grown[..]));
    let tags = [pitch::TAGS, &[0xee]].concat();
    golden.check("cboe-pitch/multicast.txt", &tags);
}

#[test]
fn messages_on_tcp() {
    use pitch_tcp::*;
    let mut golden = Golden::default();
    add! { golden, pitch_tcp:
        LoginRequestFields {
            session_sub_id: Alpha::new(*b"0001"),
            username: Alpha::new(*b"USER"),
            filler: Alpha::new(*b"  "),
            password: Alpha::new(*b"PASSWORD  "),
        }
        LoginResponseFields { login_status: LoginStatus::Accepted }
        GapRequestFields { unit: 3, sequence_number: 4_711, message_count: 7 }
        GapResponseFields {
            unit: 3,
            sequence_number: 4_711,
            message_count: 7,
            gap_status: GapStatus::Accepted,
        }
        SpinImageAvailableFields { sequence_number: 4_711 }
        SpinRequestFields { sequence_number: 4_711 }
        SpinResponseFields {
            sequence_number: 4_711,
            order_count: 12,
            spin_status: SpinStatus::Accepted,
        }
        SpinFinishedFields { sequence_number: 4_711 }
    }
    golden.check("cboe-pitch/tcp.txt", &[1, 2, 3, 4, 0x80, 0x81, 0x82, 0x83]);
    assert_eq!(pitch_tcp::TAGS.len(), 13);
}
