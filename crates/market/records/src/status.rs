//! A trading state as DBN's status record.

use dbn::{RecordHeader, StatusMsg, TriState, enums::TradingEvent};
use nanotape_market::StatusChange;

use crate::Common;

/// The record of a change.
pub fn status(common: &Common, change: &StatusChange) -> StatusMsg {
    StatusMsg {
        hd: RecordHeader::new::<StatusMsg>(
            dbn::rtype::STATUS,
            common.instrument.publisher_id(),
            common.instrument.id(),
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        action: change.action as u16,
        reason: change.reason as u16,
        trading_event: TradingEvent::None as u16,
        is_trading: tri_state(change.is_trading) as u8 as _,
        is_quoting: tri_state(change.is_quoting) as u8 as _,
        is_short_sell_restricted: tri_state(change.is_short_sell_restricted) as u8 as _,
        _reserved: [0; 7],
    }
}

fn tri_state(state: Option<bool>) -> TriState {
    match state {
        Some(true) => TriState::Yes,
        Some(false) => TriState::No,
        None => TriState::NotAvailable,
    }
}

#[cfg(test)]
mod tests {
    use dbn::{StatusAction, StatusReason as DbnReason};
    use nanotape_market::{StatusReason, TradingAction};

    #[test]
    fn the_numbers_of_actions_and_reasons_are_those_of_dbn() {
        macro_rules! same {
            ($($ours:path = $dbns:path),* $(,)?) => {
                $(assert_eq!($ours as u16, $dbns as u16, stringify!($ours));)*
            };
        }
        same!(
            TradingAction::None = StatusAction::None,
            TradingAction::PreOpen = StatusAction::PreOpen,
            TradingAction::Quoting = StatusAction::Quoting,
            TradingAction::Trading = StatusAction::Trading,
            TradingAction::Halt = StatusAction::Halt,
            TradingAction::Pause = StatusAction::Pause,
            TradingAction::Close = StatusAction::Close,
            TradingAction::PostClose = StatusAction::PostClose,
            TradingAction::SsrChange = StatusAction::SsrChange,
            StatusReason::None = DbnReason::None,
            StatusReason::Scheduled = DbnReason::Scheduled,
            StatusReason::SurveillanceIntervention = DbnReason::SurveillanceIntervention,
            StatusReason::Regulatory = DbnReason::Regulatory,
            StatusReason::NonCompliance = DbnReason::NonCompliance,
            StatusReason::FilingsNotCurrent = DbnReason::FilingsNotCurrent,
            StatusReason::SecTradingSuspension = DbnReason::SecTradingSuspension,
            StatusReason::NewIssue = DbnReason::NewIssue,
            StatusReason::IssueAvailable = DbnReason::IssueAvailable,
            StatusReason::IssuesReviewed = DbnReason::IssuesReviewed,
            StatusReason::FilingReqsSatisfied = DbnReason::FilingReqsSatisfied,
            StatusReason::NewsPending = DbnReason::NewsPending,
            StatusReason::NewsReleased = DbnReason::NewsReleased,
            StatusReason::NewsAndResumptionTimes = DbnReason::NewsAndResumptionTimes,
            StatusReason::NewsNotForthcoming = DbnReason::NewsNotForthcoming,
            StatusReason::LuldPause = DbnReason::LuldPause,
            StatusReason::Operational = DbnReason::Operational,
            StatusReason::AdditionalInformationRequested =
                DbnReason::AdditionalInformationRequested,
            StatusReason::Etf = DbnReason::Etf,
            StatusReason::CorporateAction = DbnReason::CorporateAction,
            StatusReason::NewSecurityOffering = DbnReason::NewSecurityOffering,
            StatusReason::MarketWideHaltLevel1 = DbnReason::MarketWideHaltLevel1,
            StatusReason::MarketWideHaltLevel2 = DbnReason::MarketWideHaltLevel2,
            StatusReason::MarketWideHaltLevel3 = DbnReason::MarketWideHaltLevel3,
            StatusReason::MarketWideHaltCarryover = DbnReason::MarketWideHaltCarryover,
            StatusReason::MarketWideHaltResumption = DbnReason::MarketWideHaltResumption,
            StatusReason::QuotationNotAvailable = DbnReason::QuotationNotAvailable,
        );
    }
}
