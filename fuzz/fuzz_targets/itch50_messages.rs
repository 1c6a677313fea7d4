//! Nasdaq TotalView-ITCH 5.0: decode any bytes, render and encode again.
//!
//! Written by `cargo xtask gen` from `schema/nasdaq-itch-5.0.toml`: edit that, not this.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{itch50, render::Describe};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = itch50::Message::decode(bytes) {
        renders(message);
        let mut buffer = vec![0; bytes.len()];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        match message {
            itch50::Message::SystemEvent(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::StockDirectory(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::StockTradingAction(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::RegShoRestriction(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::MarketParticipantPosition(view) => {
                assert_eq!(view.fields().encode(), bytes)
            }
            itch50::Message::MwcbDeclineLevel(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::MwcbStatus(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::IpoQuotingPeriodUpdate(view) => {
                assert_eq!(view.fields().encode(), bytes)
            }
            itch50::Message::LuldAuctionCollar(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::OperationalHalt(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::AddOrder(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::AddOrderMpid(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::OrderExecuted(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::OrderExecutedWithPrice(view) => {
                assert_eq!(view.fields().encode(), bytes)
            }
            itch50::Message::OrderCancel(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::OrderDelete(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::OrderReplace(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::Trade(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::CrossTrade(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::BrokenTrade(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::NetOrderImbalance(view) => assert_eq!(view.fields().encode(), bytes),
            itch50::Message::RetailPriceImprovement(view) => {
                assert_eq!(view.fields().encode(), bytes)
            }
            itch50::Message::DirectListingPriceDiscovery(view) => {
                assert_eq!(view.fields().encode(), bytes)
            }
            itch50::Message::Unknown(other) => assert_eq!(other.as_bytes(), bytes),
        }
    }
});

/// A message or structure that decoded must print, and its JSON must be JSON.
fn renders<'a>(described: impl Describe<'a>) {
    let mut text = String::new();
    described.write_text(&mut text).expect("a String takes any text");
    assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
    let mut json = String::new();
    described.write_json(&mut json).expect("a String takes any text");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(value.is_object(), "{json}");
}
