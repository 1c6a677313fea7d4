//! The account of a writer: entries that it inserted less those that it removed, and what it has
//! begun. It is one word, so that an operation ends and counts with one store.
//!
//! Layout: bits 0 and 1: what was begun; bits 2 to 43: the balance, with its sign; bits 44 to 63: a
//! number that grows with each end, so that two equal accounts are of one moment.

/// What an account says about unfinished work.
pub(crate) mod work {
    pub(crate) const NONE: u64 = 0;
    pub(crate) const INSERT: u64 = 1;
    pub(crate) const REMOVE: u64 = 2;
}

const WORK: u64 = 3;

/// Bits before the balance, and after it.
const BEFORE: u32 = 2;
const AFTER: u32 = 20;

/// What was begun.
pub(crate) const fn begun(account: u64) -> u64 {
    account & WORK
}

/// Whether something was begun and has not ended.
pub(crate) const fn is_unfinished(account: u64) -> bool {
    begun(account) != work::NONE
}

/// The account when something begins.
pub(crate) const fn beginning(account: u64, what: u64) -> u64 {
    account & !WORK | what
}

/// The account when it has ended, after so many more entries.
pub(crate) const fn ended(account: u64, more: i64) -> u64 {
    let balance = (own(account).wrapping_add(more).cast_unsigned() << (BEFORE + AFTER)) >> AFTER;
    let number = (account >> (64 - AFTER)).wrapping_add(1) << (64 - AFTER);
    number | balance | work::NONE
}

/// The balance of one writer, which is negative if it removes what others insert.
const fn own(account: u64) -> i64 {
    (account << AFTER).cast_signed() >> (BEFORE + AFTER)
}

/// The sum of the balances of all writers.
pub(crate) fn balance(accounts: impl Iterator<Item = u64>) -> u64 {
    u64::try_from(accounts.map(own).fold(0, i64::wrapping_add)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_have_a_sign_and_each_end_has_a_number() {
        let mut account = 0;
        for (more, expected) in [(1, 1), (-1, 0), (-1, -1), (-1, -2), (1 << 40, (1 << 40) - 2)] {
            account = beginning(account, work::REMOVE);
            assert!(is_unfinished(account));
            account = ended(account, more);
            assert_eq!((own(account), begun(account)), (expected, work::NONE));
        }
        assert_eq!(account >> 44, 5);
        assert_eq!(own(ended(0xfffff << 44, -7)), -7);
        assert_eq!(balance([ended(0, -3), ended(0, 5)].into_iter()), 2);
    }
}
