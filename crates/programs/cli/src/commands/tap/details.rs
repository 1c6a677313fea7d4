//! Details of records that fit no column, as text and as members of JSON.

use std::fmt::{self, Write};

use nanotape_plant::{
    dbn,
    dbn::{ImbalanceMsg, InstrumentDefMsg, StatusMsg},
    records::{Notice, Record},
};

use super::rows::write_price;
use crate::rows::Rows;

// Writing to a string cannot fail.

/// `halt (luld pause), no trading, no quoting`.
pub(super) fn of_status(status: &StatusMsg, text: &mut String) {
    let _ = match status.action() {
        Ok(action) => write!(Words(text), "{action:?}"),
        Err(_) => write!(text, "action {}", status.action),
    };
    let _ = match status.reason() {
        Ok(dbn::StatusReason::None) => Ok(()),
        Ok(reason) => {
            text.push_str(" (");
            let _ = write!(Words(text), "{reason:?}");
            text.write_char(')')
        }
        Err(_) => write!(text, " (reason {})", status.reason),
    };
    for (what, is_so) in [
        ("trading", status.is_trading()),
        ("quoting", status.is_quoting()),
        ("short sale restriction", status.is_short_sell_restricted()),
    ] {
        match is_so {
            Some(true) => _ = write!(text, ", {what}"),
            Some(false) => _ = write!(text, ", no {what}"),
            None => {}
        }
    }
}

/// `market category Q, issue classification C, issue sub-type Z, round lot 100`.
pub(super) fn of_definition(definition: &InstrumentDefMsg, text: &mut String) {
    for (what, code) in [
        ("market category", definition.group()),
        ("issue classification", definition.security_type()),
        ("issue sub-type", definition.secsubtype()),
    ] {
        let _ = write!(text, "{what} ");
        code.unwrap_or("?").chars().for_each(|letter| text.push(printable(letter)));
        text.push_str(", ");
    }
    let _ = write!(text, "round lot {}", definition.min_lot_size_round_lot);
}

/// `cross O, paired 1000, near 12.3400, far 12.3500`.
pub(super) fn of_imbalance(imbalance: &ImbalanceMsg, text: &mut String) {
    let cross = printable(char::from(imbalance.auction_type as u8));
    let _ = write!(text, "cross {cross}, paired {}", imbalance.paired_qty);
    for (what, price) in
        [("near", imbalance.cont_book_clr_price), ("far", imbalance.auct_interest_clr_price)]
    {
        if price != dbn::UNDEF_PRICE {
            let _ = write!(text, ", {what} ");
            let mut digits = Vec::new();
            write_price(&mut digits, price);
            text.extend(digits.into_iter().map(char::from));
        }
    }
}

/// Appends the members of a status, a definition or an imbalance, under the names of DBN.
pub(super) fn write_members(rows: &mut Rows, record: &Record<'_>) {
    match record {
        Record::Status(status) => {
            let words = |name: Result<String, u16>| {
                let mut text = String::new();
                let _ = match name {
                    Ok(name) => Words(&mut text).write_str(&name),
                    Err(number) => write!(text, "{number}"),
                };
                text
            };
            let action = status.action().map(|action| format!("{action:?}"));
            let reason = status.reason().map(|reason| format!("{reason:?}"));
            rows.member("action", words(action.map_err(|_| status.action)), true);
            rows.member("reason", words(reason.map_err(|_| status.reason)), true);
            for (name, is_so) in [
                ("is_trading", status.is_trading()),
                ("is_quoting", status.is_quoting()),
                ("is_short_sell_restricted", status.is_short_sell_restricted()),
            ] {
                rows.member(
                    name,
                    is_so.map_or("null", |is_so| ["false", "true"][usize::from(is_so)]),
                    false,
                );
            }
        }
        Record::Definition(definition) => {
            for (name, code) in [
                ("raw_symbol", definition.raw_symbol()),
                ("exchange", definition.exchange()),
                ("group", definition.group()),
                ("security_type", definition.security_type()),
                ("secsubtype", definition.secsubtype()),
            ] {
                let text: String = code.unwrap_or("?").chars().map(printable).collect();
                rows.member(name, text, true);
            }
            rows.member("min_lot_size_round_lot", definition.min_lot_size_round_lot, false);
        }
        Record::Imbalance(imbalance) => {
            let letter = |code: std::ffi::c_char| printable(char::from(code as u8));
            rows.member("auction_type", letter(imbalance.auction_type), true);
            rows.member("significant_imbalance", letter(imbalance.significant_imbalance), true);
            rows.member("paired_qty", imbalance.paired_qty, false);
            for (name, price) in [
                ("cont_book_clr_price", imbalance.cont_book_clr_price),
                ("auct_interest_clr_price", imbalance.auct_interest_clr_price),
            ] {
                let mut digits = Vec::new();
                match price {
                    dbn::UNDEF_PRICE => digits.extend_from_slice(b"null"),
                    price => write_price(&mut digits, price),
                }
                rows.member(name, String::from_utf8_lossy(&digits), false);
            }
        }
        _ => {}
    }
}

/// The text of a notice of the plant.
pub(super) fn of_notice(notice: &Notice, text: &mut String) {
    let _ = write!(text, "{notice}");
}

/// Bytes come from shared memory: a byte that could control a terminal becomes a question mark.
fn printable(letter: char) -> char {
    if letter.is_ascii_graphic() { letter } else { '?' }
}

/// Takes `LuldPause` and writes `luld pause`.
struct Words<'a>(&'a mut String);

impl fmt::Write for Words<'_> {
    fn write_str(&mut self, name: &str) -> fmt::Result {
        for (place, letter) in name.char_indices() {
            if letter.is_ascii_uppercase() && place > 0 {
                self.0.push(' ');
            }
            self.0.push(letter.to_ascii_lowercase());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_in_words() {
        let mut text = String::new();
        let mut status = StatusMsg {
            action: dbn::StatusAction::Pause as u16,
            reason: dbn::StatusReason::LuldPause as u16,
            is_trading: dbn::TriState::No as u8 as _,
            is_quoting: dbn::TriState::Yes as u8 as _,
            ..StatusMsg::default()
        };
        of_status(&status, &mut text);
        assert_eq!(text, "pause (luld pause), no trading, quoting");
        (status.action, status.reason) = (999, 998);
        text.clear();
        of_status(&status, &mut text);
        assert_eq!(text, "action 999 (reason 998), no trading, quoting");
    }

    #[test]
    fn crosses_have_the_prices_that_are_known() {
        let mut text = String::new();
        let imbalance = ImbalanceMsg {
            auction_type: b'O' as _,
            paired_qty: 400,
            cont_book_clr_price: 12_340_000_000,
            auct_interest_clr_price: dbn::UNDEF_PRICE,
            ..ImbalanceMsg::default()
        };
        of_imbalance(&imbalance, &mut text);
        assert_eq!(text, "cross O, paired 400, near 12.3400");
    }

    #[test]
    fn codes_that_are_no_letters_do_not_reach_a_terminal() {
        let mut definition = InstrumentDefMsg::default();
        (definition.group[0], definition.security_type[0]) = (b'Q' as _, 27);
        let mut text = String::new();
        of_definition(&definition, &mut text);
        assert!(text.starts_with("market category Q, issue classification ?, "), "{text}");
    }
}
