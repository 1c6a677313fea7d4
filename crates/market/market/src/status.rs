//! Trading states and the reasons for their changes.
//!
//! The numbers are those of DBN's `StatusAction` and `StatusReason`, so that a record stores them
//! as they are; a test in the records crate compares the two.

/// A trading state changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusChange {
    /// The change.
    pub action: TradingAction,
    /// The reason for the change.
    pub reason: StatusReason,
    /// Whether the instrument trades from now on; `None` if not reported.
    pub is_trading: Option<bool>,
    /// Whether quotes are accepted from now on; `None` if not reported.
    pub is_quoting: Option<bool>,
    /// Whether short sales are restricted from now on; `None` if not reported.
    pub is_short_sell_restricted: Option<bool>,
}

impl StatusChange {
    /// A change without what is not reported.
    #[inline]
    pub const fn unreported(action: TradingAction, reason: StatusReason) -> Self {
        let (is_trading, is_quoting, is_short_sell_restricted) = (None, None, None);
        Self { action, reason, is_trading, is_quoting, is_short_sell_restricted }
    }

    /// The same with whether the instrument trades, and whether quotes are accepted.
    #[inline]
    #[must_use]
    pub const fn with_trading(self, is_trading: Option<bool>, is_quoting: Option<bool>) -> Self {
        Self { is_trading, is_quoting, ..self }
    }
}

/// A kind of change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum TradingAction {
    /// Unspecified.
    None = 0,
    /// The period before the market opens began.
    PreOpen = 1,
    /// Quotes are accepted, trades are not.
    Quoting = 3,
    /// Trading began or resumed.
    Trading = 7,
    /// Trading was halted.
    Halt = 8,
    /// Trading was paused.
    Pause = 9,
    /// The market closed.
    Close = 12,
    /// The period after the market's hours began.
    PostClose = 13,
    /// The restriction of short sales changed.
    SsrChange = 14,
}

/// The reason for a change of a trading state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum StatusReason {
    /// No reason was reported.
    None = 0,
    /// The schedule of the day.
    Scheduled = 1,
    /// Surveillance intervened.
    SurveillanceIntervention = 2,
    /// A regulator's concern.
    Regulatory = 10,
    /// The issuer does not comply with listing requirements.
    NonCompliance = 12,
    /// The issuer's filings are not current.
    FilingsNotCurrent = 13,
    /// The SEC suspended trading.
    SecTradingSuspension = 14,
    /// A new issue.
    NewIssue = 15,
    /// The issue is available again.
    IssueAvailable = 16,
    /// The issues were reviewed.
    IssuesReviewed = 17,
    /// Filing requirements are satisfied.
    FilingReqsSatisfied = 18,
    /// News is pending.
    NewsPending = 30,
    /// News was released.
    NewsReleased = 31,
    /// News was released and the times of resumption are set.
    NewsAndResumptionTimes = 32,
    /// News is not forthcoming.
    NewsNotForthcoming = 33,
    /// A pause because a price limit was reached.
    LuldPause = 50,
    /// An operational halt.
    Operational = 60,
    /// Additional information was requested.
    AdditionalInformationRequested = 70,
    /// A halt of an exchange traded fund.
    Etf = 90,
    /// A corporate action.
    CorporateAction = 100,
    /// A new security offering.
    NewSecurityOffering = 110,
    /// A market-wide halt of level 1.
    MarketWideHaltLevel1 = 120,
    /// A market-wide halt of level 2.
    MarketWideHaltLevel2 = 121,
    /// A market-wide halt of level 3.
    MarketWideHaltLevel3 = 122,
    /// A market-wide halt carried over from the day before.
    MarketWideHaltCarryover = 123,
    /// The end of a market-wide halt.
    MarketWideHaltResumption = 124,
    /// Quotations are not available.
    QuotationNotAvailable = 130,
}

impl TradingAction {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::PreOpen,
        Self::Quoting,
        Self::Trading,
        Self::Halt,
        Self::Pause,
        Self::Close,
        Self::PostClose,
        Self::SsrChange,
    ];

    /// That of a number in a record.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == number)
    }
}

impl StatusReason {
    /// All of them.
    pub const ALL: [Self; 27] = [
        Self::None,
        Self::Scheduled,
        Self::SurveillanceIntervention,
        Self::Regulatory,
        Self::NonCompliance,
        Self::FilingsNotCurrent,
        Self::SecTradingSuspension,
        Self::NewIssue,
        Self::IssueAvailable,
        Self::IssuesReviewed,
        Self::FilingReqsSatisfied,
        Self::NewsPending,
        Self::NewsReleased,
        Self::NewsAndResumptionTimes,
        Self::NewsNotForthcoming,
        Self::LuldPause,
        Self::Operational,
        Self::AdditionalInformationRequested,
        Self::Etf,
        Self::CorporateAction,
        Self::NewSecurityOffering,
        Self::MarketWideHaltLevel1,
        Self::MarketWideHaltLevel2,
        Self::MarketWideHaltLevel3,
        Self::MarketWideHaltCarryover,
        Self::MarketWideHaltResumption,
        Self::QuotationNotAvailable,
    ];

    /// That of a number in a record.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == number)
    }
}
