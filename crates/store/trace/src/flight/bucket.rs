//! Tokens for copies: they limit a storm, and are shared fairly among the causes.
//!
//! Each cause has a token of its own; the others are for all. A new token goes to a cause without a
//! token: the one whose last token is the oldest. If each has one, it is for all. So a cause that
//! triggers all the time never takes the token of one that triggers rarely, and uses all that is
//! left over.

const NS_PER_MINUTE: u64 = 60_000_000_000;

#[derive(Debug)]
pub(super) struct Tokens {
    /// Whether a cause has its own token.
    own: Vec<bool>,
    /// The cause after the one that got the last token.
    next: usize,
    common: u32,
    most_common: u32,
    per_minute: u32,
    /// Parts of the next token: a token is as many as a minute has ns.
    parts: u64,
    last_ns: Option<u64>,
}

impl Tokens {
    pub(super) fn new(causes: usize, at_once: u32, per_minute: u32) -> Self {
        let most_common = at_once.saturating_sub(u32::try_from(causes).unwrap_or(u32::MAX));
        Self {
            own: vec![true; causes],
            next: 0,
            common: most_common,
            most_common,
            per_minute,
            parts: 0,
            last_ns: None,
        }
    }

    /// Adds the tokens of the time since the last call. A clock that goes back adds none.
    pub(super) fn refill(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns));
        self.last_ns = Some(now_ns);
        let new = passed.saturating_mul(self.per_minute.into());
        self.parts = self.parts.saturating_add(new);
        // As many as there is room for; the rest is lost.
        while self.parts >= NS_PER_MINUTE && self.add() {
            self.parts -= NS_PER_MINUTE;
        }
        self.parts = self.parts.min(NS_PER_MINUTE - 1);
    }

    /// Adds a token; false if there is no room.
    fn add(&mut self) -> bool {
        let causes = self.own.len();
        let without = (0..causes).map(|at| (self.next + at) % causes).find(|&at| !self.own[at]);
        if let Some(cause) = without {
            self.own[cause] = true;
            self.next = (cause + 1) % causes;
            return true;
        }
        let has_room = self.common < self.most_common;
        self.common += u32::from(has_room);
        has_room
    }

    /// Takes a token for a cause, if there is one.
    pub(super) fn take(&mut self, cause: usize) -> bool {
        if std::mem::take(&mut self.own[cause]) {
            return true;
        }
        let has_one = self.common > 0;
        self.common -= u32::from(has_one);
        has_one
    }
}
