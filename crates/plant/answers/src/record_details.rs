//! What a record has and no column does: as text, and as named cells.

use std::fmt::{self, Write};

use nanotape_plant::{
    dbn,
    dbn::{ImbalanceMsg, InstrumentDefMsg, StatusMsg},
    records::{Notice, Record},
};

use nanotape_types::rows::{Cell, write_price9};

// Writing to a string cannot fail.

/// `halt (luld pause), no trading, no quoting`.
pub(crate) fn of_status(status: &StatusMsg, text: &mut String) {
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
pub(crate) fn of_definition(definition: &InstrumentDefMsg, text: &mut String) {
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
pub(crate) fn of_imbalance(imbalance: &ImbalanceMsg, text: &mut String) {
    let cross = printable(char::from(imbalance.auction_type as u8));
    let _ = write!(text, "cross {cross}, paired {}", imbalance.paired_qty);
    for (what, price) in
        [("near", imbalance.cont_book_clr_price), ("far", imbalance.auct_interest_clr_price)]
    {
        if price != dbn::UNDEF_PRICE {
            let _ = write!(text, ", {what} {}", decimal(price));
        }
    }
}

/// Calls `member` with each value of a status, a definition or an imbalance, under its name in DBN.
pub fn members(record: &Record<'_>, mut member: impl FnMut(&'static str, Cell<'_>)) {
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
            member("action", Cell::Text(&words(action.map_err(|_| status.action))));
            member("reason", Cell::Text(&words(reason.map_err(|_| status.reason))));
            for (name, is_so) in [
                ("is_trading", status.is_trading()),
                ("is_quoting", status.is_quoting()),
                ("is_short_sell_restricted", status.is_short_sell_restricted()),
            ] {
                member(name, is_so.map_or(Cell::Absent, Cell::Flag));
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
                member(name, Cell::Text(&text));
            }
            let lot = i64::from(definition.min_lot_size_round_lot);
            member("min_lot_size_round_lot", Cell::I64(lot));
        }
        Record::Imbalance(imbalance) => {
            member("auction_type", Cell::Letter(imbalance.auction_type as u8));
            let significant = Cell::Letter(imbalance.significant_imbalance as u8);
            member("significant_imbalance", significant);
            member("paired_qty", Cell::U64(imbalance.paired_qty.into()));
            for (name, price) in [
                ("cont_book_clr_price", imbalance.cont_book_clr_price),
                ("auct_interest_clr_price", imbalance.auct_interest_clr_price),
            ] {
                let is_known = price != dbn::UNDEF_PRICE;
                member(name, if is_known { Cell::Price9(price) } else { Cell::Absent });
            }
        }
        _ => {}
    }
}

fn decimal(price: i64) -> String {
    let mut digits = Vec::new();
    write_price9(&mut digits, price);
    String::from_utf8_lossy(&digits).into_owned()
}

/// The text of a notice of the plant.
pub(crate) fn of_notice(notice: &Notice, text: &mut String) {
    let _ = write!(text, "{notice}");
}

/// Bytes come from shared memory: a byte that could control a terminal becomes a question mark.
fn printable(letter: char) -> char {
    if letter.is_ascii_graphic() { letter } else { '?' }
}

/// Takes `LuldPause` and writes `luld pause`.
pub(crate) struct Words<'a>(pub(crate) &'a mut String);

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
    fn states_are_shown_in_words() {
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
