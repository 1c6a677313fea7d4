//! The account of a writer: what it has begun, the rooms that it may fill, and the entries that it
//! inserted less those that it removed. It is one word, so that each step of an operation counts
//! with one store.
//!
//! Layout: bits 0 and 1: what was begun; bits 2 to 7: rooms; bits 8 to 49: the balance, with its
//! sign; bits 50 to 63: a number that grows with each end, so that two equal accounts are of one
//! moment.

/// The unfinished operation of an account.
pub(crate) mod work {
    pub(crate) const NONE: u64 = 0;
    pub(crate) const INSERT: u64 = 1;
    pub(crate) const REMOVE: u64 = 2;
}

const WORK: u64 = 3;
const ROOM: u64 = 4;

/// Bits before the balance, and after it.
const BEFORE: u32 = 8;
const AFTER: u32 = 14;

/// The most rooms of an account.
pub(crate) const MOST_ROOMS: u64 = 63;

/// What was begun.
pub(crate) const fn begun(account: u64) -> u64 {
    account & WORK
}

/// Whether something was begun and has not ended.
pub(crate) const fn is_unfinished(account: u64) -> bool {
    begun(account) != work::NONE
}

/// Entries that the writer may insert.
pub(crate) const fn rooms(account: u64) -> u64 {
    (account / ROOM) & MOST_ROOMS
}

/// The account with this many rooms.
pub(crate) const fn with_rooms(account: u64, rooms: u64) -> u64 {
    account & !(MOST_ROOMS * ROOM) | (rooms * ROOM)
}

/// The account when something begins. An insertion takes a room; `None` if there is none.
pub(crate) fn beginning(account: u64, what: u64) -> Option<u64> {
    let begun = account & !WORK | what;
    match what {
        work::INSERT => Some(with_rooms(begun, rooms(account).checked_sub(1)?)),
        _ => Some(begun),
    }
}

/// The account when it has ended, after this many more entries. The room of an entry that was
/// removed, or not inserted, is the writer's.
pub(crate) const fn ended(account: u64, more: i64) -> u64 {
    let is_free = more < 0 || (more == 0 && begun(account) == work::INSERT);
    let rooms = rooms(account) + if is_free && rooms(account) < MOST_ROOMS { 1 } else { 0 };
    let balance = (own(account).wrapping_add(more).cast_unsigned() << (BEFORE + AFTER)) >> AFTER;
    let number = (account >> (64 - AFTER)).wrapping_add(1) << (64 - AFTER);
    number | balance | (rooms * ROOM) | work::NONE
}

/// The balance of one writer, which is negative if it removes what others insert.
const fn own(account: u64) -> i64 {
    (account << AFTER).cast_signed() >> (BEFORE + AFTER)
}

/// The sum of the balances of all writers.
pub(crate) fn balance(accounts: impl Iterator<Item = u64>) -> u64 {
    u64::try_from(accounts.map(own).fold(0, i64::wrapping_add)).unwrap_or(0)
}

/// Rooms of the map that an account has used, or can use without another question. Only a grant
/// makes it more.
pub(crate) const fn claimed(account: u64) -> i64 {
    let inserts = begun(account) == work::INSERT;
    own(account) + rooms(account).cast_signed() + if inserts { 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_have_a_sign_and_rooms_are_kept() {
        let mut account = with_rooms(0, 3);
        for (what, more, balance, rooms_after) in [
            (work::INSERT, 1, 1, 2),
            (work::INSERT, 0, 1, 2),
            (work::REMOVE, -1, 0, 3),
            (work::REMOVE, 0, 0, 3),
            (work::REMOVE, -1, -1, 4),
            (work::REMOVE, -1, -2, 5),
        ] {
            let before = claimed(account);
            account = beginning(account, what).unwrap();
            assert!(is_unfinished(account));
            assert_eq!(claimed(account), before);
            account = ended(account, more);
            assert_eq!((own(account), rooms(account)), (balance, rooms_after));
            assert_eq!((claimed(account), begun(account)), (before, work::NONE));
        }
        assert_eq!(account >> 50, 6);
        let many = with_rooms(ended(0, -7), MOST_ROOMS);
        let ended_then = ended(beginning(many, work::REMOVE).unwrap(), -1);
        assert_eq!(claimed(ended_then), -8 + 63);
        assert_eq!(beginning(0, work::INSERT), None);
        assert_eq!(balance([ended(0, -3), ended(0, 5)].into_iter()), 2);
    }
}
