//! Messages about trading states as DBN's status records.

use dbn::{RecordHeader, StatusAction, StatusMsg, StatusReason, TriState, enums::TradingEvent};
use nanotape_types::Alpha;
use nanotape_wire::itch50::{
    BreachedLevel, EventCode, HaltAction, MarketCode, Message, RegShoAction, TradingState,
};

use crate::{Common, PUBLISHER_ID};

/// The status that a message tells; none for messages that tell none.
pub fn status(common: &Common, message: &Message<'_>) -> Option<StatusMsg> {
    use TriState::{No, NotAvailable, Yes};
    let (action, reason, [trading, quoting, restricted]) = match message {
        Message::SystemEvent(event) => {
            let (action, open) = market_event(event.event_code());
            (action, StatusReason::Scheduled, [open, open, NotAvailable])
        }
        Message::StockTradingAction(change) => {
            let (action, trading, quoting) = match change.trading_state() {
                TradingState::Halted => (StatusAction::Halt, No, No),
                TradingState::Paused => (StatusAction::Pause, No, No),
                TradingState::QuotationOnly => (StatusAction::Quoting, No, Yes),
                TradingState::Trading => (StatusAction::Trading, Yes, Yes),
                TradingState::Unknown(_) => (StatusAction::None, NotAvailable, NotAvailable),
            };
            (action, reason(change.reason()), [trading, quoting, NotAvailable])
        }
        Message::RegShoRestriction(change) => {
            let restricted = match change.reg_sho_action() {
                RegShoAction::NoPriceTest => No,
                RegShoAction::RestrictionTriggered | RegShoAction::RestrictionInEffect => Yes,
                RegShoAction::Unknown(_) => NotAvailable,
            };
            let nothing = NotAvailable;
            (StatusAction::SsrChange, StatusReason::None, [nothing, nothing, restricted])
        }
        // The feed tells the halts of BX and PSX too, on which this venue's trading does not depend.
        Message::OperationalHalt(halt) if halt.market_code() == MarketCode::Nasdaq => {
            let (action, is_open) = match halt.halt_action() {
                HaltAction::Halted => (StatusAction::Halt, No),
                HaltAction::Resumed => (StatusAction::Trading, Yes),
                HaltAction::Unknown(_) => (StatusAction::None, NotAvailable),
            };
            (action, StatusReason::Operational, [is_open, is_open, NotAvailable])
        }
        Message::MwcbStatus(breach) => {
            let reason = match breach.breached_level() {
                BreachedLevel::Level1 => StatusReason::MarketWideHaltLevel1,
                BreachedLevel::Level2 => StatusReason::MarketWideHaltLevel2,
                BreachedLevel::Level3 => StatusReason::MarketWideHaltLevel3,
                BreachedLevel::Unknown(_) => StatusReason::None,
            };
            (StatusAction::None, reason, [NotAvailable; 3])
        }
        _ => return None,
    };
    Some(StatusMsg {
        hd: RecordHeader::new::<StatusMsg>(
            dbn::rtype::STATUS,
            PUBLISHER_ID,
            common.instrument_id,
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        action: action as u16,
        reason: reason as u16,
        trading_event: TradingEvent::None as u16,
        is_trading: trading as u8 as _,
        is_quoting: quoting as u8 as _,
        is_short_sell_restricted: restricted as u8 as _,
        _reserved: [0; 7],
    })
}

/// What an event of the whole market means for it, and whether stocks may trade from then on.
fn market_event(code: EventCode) -> (StatusAction, TriState) {
    use TriState::{No, NotAvailable, Yes};
    match code {
        EventCode::StartOfMessages | EventCode::EndOfMessages | EventCode::Unknown(_) => {
            (StatusAction::None, NotAvailable)
        }
        EventCode::StartOfSystemHours => (StatusAction::PreOpen, Yes),
        EventCode::StartOfMarketHours => (StatusAction::Trading, Yes),
        EventCode::EndOfMarketHours => (StatusAction::PostClose, Yes),
        EventCode::EndOfSystemHours => (StatusAction::Close, No),
    }
}

/// The reasons that Nasdaq lists, in DBN's words.
fn reason(code: Alpha<4>) -> StatusReason {
    match code.trimmed() {
        b"T1" => StatusReason::NewsPending,
        b"T2" => StatusReason::NewsReleased,
        b"T3" => StatusReason::NewsAndResumptionTimes,
        b"R1" => StatusReason::NewIssue,
        b"R2" => StatusReason::IssueAvailable,
        b"R4" | b"C4" => StatusReason::IssuesReviewed,
        b"R9" | b"C9" => StatusReason::FilingReqsSatisfied,
        b"C3" => StatusReason::NewsNotForthcoming,
        b"T5" | b"T7" | b"LUDP" | b"LUDS" => StatusReason::LuldPause,
        b"T6" => StatusReason::SurveillanceIntervention,
        b"T8" => StatusReason::Etf,
        b"T12" => StatusReason::AdditionalInformationRequested,
        b"H4" => StatusReason::NonCompliance,
        b"H9" => StatusReason::FilingsNotCurrent,
        b"H10" => StatusReason::SecTradingSuspension,
        b"H11" | b"C11" => StatusReason::Regulatory,
        b"O1" => StatusReason::Operational,
        b"IPO1" | b"IPOQ" | b"IPOE" => StatusReason::NewSecurityOffering,
        b"M1" => StatusReason::CorporateAction,
        b"M2" => StatusReason::QuotationNotAvailable,
        b"MWC1" => StatusReason::MarketWideHaltLevel1,
        b"MWC2" => StatusReason::MarketWideHaltLevel2,
        b"MWC3" => StatusReason::MarketWideHaltLevel3,
        b"MWC0" => StatusReason::MarketWideHaltCarryover,
        b"MWCQ" => StatusReason::MarketWideHaltResumption,
        _ => StatusReason::None,
    }
}
