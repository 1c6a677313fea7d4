//! The number of messages of each kind: a real day's census, scaled, and the feedback that meets
//! it.
//!
//! The census is that of the Nasdaq day of 2019-12-30, 268,744,780 messages. Replaces, cancels,
//! executions, hidden trades and imbalances have quotas. A kind that is impossible when drawn is
//! made up for later, because its chance is always the rest of its quota divided by the rest of its
//! time. All other slots are adds and deletes. Since the books begin and end empty, adds equal
//! deletes plus completed orders.

/// All messages of the census.
const CENSUS: f64 = 268_744_780.0;
/// The census count of `R S H Y L V K J Q`, which have separate rules here.
const CENSUS_UNORDERED: f64 = 259_926.0;
/// Share of adds with attribution among all adds.
pub(super) const ATTRIBUTED: f64 = 1_485_888.0 / (117_145_568.0 + 1_485_888.0);
/// Share of executions that complete their order: adds less deletes.
const COMPLETED: f64 = (117_145_568.0 + 1_485_888.0 - 114_360_997.0) / (5_722_824.0 + 99_917.0);
/// Share of executions with a price that belong to a cross; the others are printed at once.
const CROSS_EXECUTIONS: f64 = 0.6;
/// Share of market participant positions among all messages, and their maximum per stock.
const PARTICIPANT_POSITIONS: f64 = 215_161.0 / CENSUS;
const PARTICIPANT_POSITIONS_MAX: u64 = 24;
/// Share of imbalances before the opening cross among all imbalances.
const OPENING_IMBALANCES: f64 = 0.35;

/// Days with fewer spare messages than this have no halts, breaks and other rarities.
const ROOM_FOR_RARITIES: u64 = 20_000;

/// The kind of a slot, if it is not an add or a delete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Replace,
    Cancel,
    Execute,
    ExecuteWithPrice,
    Trade,
}

const KINDS: usize = 5;
const ALL_KINDS: [Kind; KINDS] =
    [Kind::Replace, Kind::Cancel, Kind::Execute, Kind::ExecuteWithPrice, Kind::Trade];

/// For each kind: its census count, its likelihood before the open relative to the day's mean, and
/// the share of it that is kept for after the close.
const KIND_CENSUS: [(f64, f64, f64); KINDS] = [
    (21_639_067.0, 0.8, 0.010),
    (2_787_676.0, 0.6, 0.005),
    (5_722_824.0, 0.3, 0.003),
    (99_917.0 * (1.0 - CROSS_EXECUTIONS), 0.0, 0.0),
    (1_218_602.0, 0.3, 0.003),
];

/// How the spare messages of a day are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Messages beyond those that every day has.
    pub(super) spare: u64,
    /// Number of `L`.
    pub(super) participant_positions: u64,
    /// Number of `C` in opening and closing crosses.
    pub(super) cross_executions: u64,
    /// Whether there are halts, breaks and similar events.
    pub(super) rarities: bool,
}

impl Room {
    pub(super) fn new(messages: u64, minimum: u64, symbols: u16) -> Self {
        let spare = messages - minimum;
        let rarities = spare >= ROOM_FOR_RARITIES;
        let positions = (messages as f64 * PARTICIPANT_POSITIONS) as u64;
        Self {
            spare,
            participant_positions: positions
                .min(u64::from(symbols) * PARTICIPANT_POSITIONS_MAX)
                .min(spare / 20),
            cross_executions: (spare as f64 * 99_917.0 / CENSUS * CROSS_EXECUTIONS) as u64,
            rarities,
        }
    }
}

/// The parts of the day that the mix of messages depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    BeforeOpen,
    Regular,
    AfterClose,
}

/// Quotas and the chances that follow from them.
#[derive(Debug)]
pub(super) struct Mix {
    slots: u64,
    quota: [u64; KINDS],
    left: [u64; KINDS],
    opening_imbalances: u64,
    closing_imbalances: u64,
    executions_left: u64,
    completions_left: u64,
    /// Chance that a slot becomes this kind or one before it.
    cumulative: [f64; KINDS],
}

impl Mix {
    /// The quotas of a day with this many slots for orders.
    pub(super) fn new(slots: u64) -> Self {
        let scale = slots as f64 / (CENSUS - CENSUS_UNORDERED);
        let quota = KIND_CENSUS.map(|(count, ..)| (count * scale) as u64);
        let imbalances = 4_024_315.0 * scale;
        let opening_imbalances = (imbalances * OPENING_IMBALANCES) as u64;
        let executions = (quota[Kind::Execute as usize], quota[Kind::ExecuteWithPrice as usize]);
        Self {
            slots,
            quota,
            left: quota,
            opening_imbalances,
            closing_imbalances: imbalances as u64 - opening_imbalances,
            executions_left: executions.0 + executions.1,
            completions_left: ((executions.0 + executions.1) as f64 * COMPLETED) as u64,
            cumulative: [0.0; KINDS],
        }
    }

    /// Computes the chances again. `horizon` slots are left until the phase ends.
    pub(super) fn refresh(&mut self, phase: Phase, horizon: u64) {
        let mut sum = 0.0;
        for (kind, &(_, early, late)) in KIND_CENSUS.iter().enumerate() {
            let (quota, left) = (self.quota[kind] as f64, self.left[kind] as f64);
            sum += match phase {
                Phase::BeforeOpen => early * quota / self.slots as f64,
                Phase::Regular => {
                    let horizon = horizon.saturating_sub(self.closing_imbalances).max(1);
                    ((left - late * quota) / horizon as f64).clamp(0.0, 0.5)
                }
                // Early rather than evenly: towards the end every slot is needed for deletes.
                Phase::AfterClose => (3.0 * left / horizon.max(1) as f64).min(0.05),
            };
            self.cumulative[kind] = sum;
        }
    }

    /// The kind for a uniform draw; `None` for an add or a delete.
    #[inline]
    pub(super) fn draw(&self, uniform: f64) -> Option<Kind> {
        let kind = self.cumulative.iter().position(|&until| uniform < until)?;
        (self.left[kind] > 0).then_some(ALL_KINDS[kind])
    }

    /// Counts a message of this kind.
    pub(super) fn spend(&mut self, kind: Kind) {
        self.left[kind as usize] -= 1;
    }

    /// The chance that an execution should complete its order.
    pub(super) fn completion_chance(&self) -> f64 {
        self.completions_left as f64 / self.executions_left.max(1) as f64
    }

    /// Counts an execution, and whether it completed its order.
    pub(super) fn executed(&mut self, completed: bool) {
        self.executions_left = self.executions_left.saturating_sub(1);
        self.completions_left = self.completions_left.saturating_sub(u64::from(completed));
    }

    /// The chance that a slot in the minutes before the open is an imbalance.
    pub(super) fn opening_imbalance_chance(&self, slots_left: u64) -> f64 {
        self.opening_imbalances as f64 / slots_left.max(1) as f64
    }

    /// The chance that a slot in the minutes before the close is an imbalance.
    pub(super) fn closing_imbalance_chance(&self, slots_left: u64) -> f64 {
        self.closing_imbalances as f64 / slots_left.max(1) as f64
    }

    pub(super) fn spend_opening_imbalance(&mut self) {
        self.opening_imbalances = self.opening_imbalances.saturating_sub(1);
    }

    pub(super) fn spend_closing_imbalance(&mut self) {
        self.closing_imbalances = self.closing_imbalances.saturating_sub(1);
    }
}
