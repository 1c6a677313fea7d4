//! Every message about orders and trades with its exact records. Other types are in `states`.

use nanotape_plant::records::{RecordKind, RecordKinds};
use nanotape_wire::itch50::YesNo;

use crate::published::{
    messages::{
        add, add_mpid, broken, cancel, cross, delete, executed, executed_at, replace, trade,
    },
    tape::{OTHER, STOCK, Tape},
};

/// A tape with orders 1 and 3 to buy, and 2 to sell: 100 at 10.00, 5 at 9.90, and 50 at 10.10.
fn three_orders() -> Tape {
    let mut tape = Tape::of_everything();
    tape.apply(&add(STOCK, 1, b'B', 100, 100_000));
    tape.apply(&add(STOCK, 2, b'S', 50, 101_000));
    tape.apply(&add(STOCK, 3, b'B', 5, 99_000));
    tape
}

#[test]
fn orders_that_enter() {
    let mut tape = Tape::of_everything();
    assert_eq!(
        tape.apply(&add(STOCK, 1, b'B', 100, 100_000)),
        ["mbo A B 100 at 10.0000 #1 [L]", "bbo A B 100 at 10.0000 [L] 100x1 at 10.0000 / -",]
    );
    assert_eq!(
        tape.apply(&add_mpid(STOCK, 2, b'S', 50, 101_000)),
        [
            "mbo A A 50 at 10.1000 #2 [L]",
            "bbo A A 50 at 10.1000 [L] 100x1 at 10.0000 / 50x1 at 10.1000",
        ]
    );
    // Worse than the best price.
    assert_eq!(tape.apply(&add(STOCK, 3, b'B', 5, 99_000)), ["mbo A B 5 at 9.9000 #3 [L]"]);
    // An order of another stock changes its own book.
    assert_eq!(
        tape.apply(&add(OTHER, 4, b'B', 1, 1)),
        [
            "stock 9: mbo A B 1 at 0.0001 #4 [L]",
            "stock 9: bbo A B 1 at 0.0001 [L] 1x1 at 0.0001 / -",
        ]
    );
    // A stock that this message names first, at the highest price.
    assert_eq!(
        tape.apply(&add(11, 5, b'S', 1, u32::MAX)),
        [
            "stock 11: mbo A A 1 at 429496.7295 #5 [L]",
            "stock 11: bbo A A 1 at 429496.7295 [L] - / 1x1 at 429496.7295",
        ]
    );
}

#[test]
fn executions_are_a_trade_a_fill_and_a_cancel() {
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&executed(STOCK, 1, 40)),
        [
            "mbo T A 40 at 10.0000 #0 []",
            "mbo F B 40 at 10.0000 #1 []",
            "mbo C B 40 at 10.0000 #1 [L]",
            "trade T A 40 at 10.0000 [L]",
            "bbo C B 40 at 10.0000 [L] 60x1 at 10.0000 / 50x1 at 10.1000",
        ]
    );
    // All remaining shares.
    assert_eq!(
        tape.apply(&executed(STOCK, 1, 60)),
        [
            "mbo T A 60 at 10.0000 #0 []",
            "mbo F B 60 at 10.0000 #1 []",
            "mbo C B 60 at 10.0000 #1 [L]",
            "trade T A 60 at 10.0000 [L]",
            "bbo C B 60 at 10.0000 [L] 5x1 at 9.9000 / 50x1 at 10.1000",
        ]
    );
    // No shares, which is malformed: no effect.
    assert!(tape.apply(&executed(STOCK, 2, 0)).is_empty());
}

#[test]
fn executions_at_another_price_leave_the_book_at_the_orders_own() {
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&executed_at(STOCK, 2, 20, 100_500, YesNo::Yes)),
        [
            "mbo T B 20 at 10.0500 #0 []",
            "mbo F A 20 at 10.0500 #2 []",
            "mbo C A 20 at 10.1000 #2 [L]",
            "trade T B 20 at 10.0500 [L]",
            "bbo C A 20 at 10.1000 [L] 100x1 at 10.0000 / 30x1 at 10.1000",
        ]
    );
    // A cross prints the unprintable executions later.
    assert_eq!(
        tape.apply(&executed_at(STOCK, 2, 10, 100_500, YesNo::No)),
        [
            "mbo F A 10 at 10.0500 #2 []",
            "mbo C A 10 at 10.1000 #2 [L]",
            "bbo C A 10 at 10.1000 [L] 100x1 at 10.0000 / 20x1 at 10.1000",
        ]
    );
    // Worse than the best price, as in a cross: no inside.
    assert_eq!(
        tape.apply(&executed_at(STOCK, 3, 5, 100_000, YesNo::No)),
        ["mbo F B 5 at 10.0000 #3 []", "mbo C B 5 at 9.9000 #3 [L]"]
    );
}

#[test]
fn orders_that_shrink_and_leave() {
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&cancel(STOCK, 1, 30)),
        [
            "mbo C B 30 at 10.0000 #1 [L]",
            "bbo C B 30 at 10.0000 [L] 70x1 at 10.0000 / 50x1 at 10.1000",
        ]
    );
    assert!(tape.apply(&cancel(STOCK, 1, 0)).is_empty());
    assert_eq!(
        tape.apply(&delete(STOCK, 2)),
        ["mbo C A 50 at 10.1000 #2 [L]", "bbo C A 50 at 10.1000 [L] 70x1 at 10.0000 / -"]
    );
    assert_eq!(tape.apply(&cancel(STOCK, 3, 5)), ["mbo C B 5 at 9.9000 #3 [L]"]);
}

#[test]
fn a_replace_is_a_cancel_and_an_add_and_the_inside_says_modify() {
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&replace(STOCK, (1, 4), 80, 100_100)),
        [
            "mbo C B 100 at 10.0000 #1 []",
            "mbo A B 80 at 10.0100 #4 [L]",
            "bbo M B 80 at 10.0100 [L] 80x1 at 10.0100 / 50x1 at 10.1000",
        ]
    );
    // The inside has the same price and shares as before: no record.
    assert_eq!(
        tape.apply(&replace(STOCK, (4, 5), 80, 100_100)),
        ["mbo C B 80 at 10.0100 #4 []", "mbo A B 80 at 10.0100 #5 [L]"]
    );
    // A message with only this record.
    assert_eq!(
        tape.apply(&replace(STOCK, (3, 3), 6, 99_000)),
        ["mbo C B 5 at 9.9000 #3 []", "mbo A B 6 at 9.9000 #3 [L]"]
    );
}

#[test]
fn trades_that_touch_no_displayed_order_have_no_side() {
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&trade(STOCK, 10, 100_500)),
        ["mbo T N 10 at 10.0500 #0 [L]", "trade T N 10 at 10.0500 [L]"]
    );
    assert_eq!(
        tape.apply(&cross(STOCK, 4_000, 100_500)),
        ["mbo T N 4000 at 10.0500 #0 [L]", "trade T N 4000 at 10.0500 [L]"]
    );
    // More than a record can hold.
    assert_eq!(
        tape.apply(&cross(STOCK, 1 << 32, 100_500)),
        ["mbo T N ? at 10.0500 #0 [L]", "trade T N ? at 10.0500 [L]"]
    );
    for nothing in [trade(STOCK, 0, 100_500), cross(STOCK, 0, 100_500), broken(STOCK)] {
        assert!(tape.apply(&nothing).is_empty());
    }
}

#[test]
fn shares_that_do_not_fit_a_level_are_undefined() {
    let mut tape = Tape::of_everything();
    tape.apply(&add(STOCK, 1, b'S', u32::MAX - 1, 100_000));
    assert_eq!(
        tape.apply(&add(STOCK, 2, b'S', 2, 100_000)),
        ["mbo A A 2 at 10.0000 #2 [L]", "bbo A A 2 at 10.0000 [L] - / ?x2 at 10.0000"]
    );
    assert_eq!(
        tape.apply(&cancel(STOCK, 2, 1))[1],
        "bbo C A 1 at 10.0000 [L] - / ?x2 at 10.0000",
        "exactly 2^32 - 1 is how DBN says undefined"
    );
    assert_eq!(
        tape.apply(&delete(STOCK, 2))[1],
        "bbo C A 1 at 10.0000 [L] - / 4294967294x1 at 10.0000"
    );
}

#[test]
fn messages_that_the_books_refuse_have_no_order_records() {
    for (message, anomaly) in [
        (executed(STOCK, 99, 1), "unknown_reference"),
        (executed_at(STOCK, 99, 1, 100_000, YesNo::Yes), "unknown_reference"),
        (cancel(STOCK, 99, 1), "unknown_reference"),
        (delete(STOCK, 99), "unknown_reference"),
        (replace(STOCK, (99, 4), 1, 100_000), "unknown_reference"),
        (add(STOCK, 1, b'B', 1, 100_000), "duplicate_reference"),
        (add(STOCK, 4, b'B', 0, 100_000), "zero_shares"),
        (add_mpid(STOCK, 4, b'?', 1, 100_000), "unknown_side"),
    ] {
        let mut tape = three_orders();
        assert_eq!(tape.apply(&message), [format!("taint {anomaly} of stock 7 by 6")]);
        // Once per stock; but from now on every record of this stock has the flag, and of no other.
        assert!(tape.apply(&message).is_empty());
        assert_eq!(tape.apply(&cancel(STOCK, 3, 1)), ["mbo C B 1 at 9.9000 #3 [LB]"]);
        assert_eq!(
            tape.apply(&trade(STOCK, 1, 100_000)),
            ["mbo T N 1 at 10.0000 #0 [LB]", "trade T N 1 at 10.0000 [LB]"]
        );
        assert!(tape.apply(&add(OTHER, 8, b'B', 1, 1))[0].ends_with("#8 [L]"));
        let board = tape.publisher.board();
        let tainted: Vec<_> =
            board.tainted().map(|(locate, count)| (locate.get(), count)).collect();
        assert_eq!(tainted, [(STOCK, 2)]);
    }
}

#[test]
fn messages_that_the_books_correct_are_published_as_corrected() {
    let taint = |anomaly: &str| format!("taint {anomaly} of stock 7 by 6");
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&executed(STOCK, 2, 51)),
        [
            &taint("over_execution"),
            "mbo T B 50 at 10.1000 #0 [B]",
            "mbo F A 50 at 10.1000 #2 [B]",
            "mbo C A 50 at 10.1000 #2 [LB]",
            "trade T B 50 at 10.1000 [LB]",
            "bbo C A 50 at 10.1000 [LB] 100x1 at 10.0000 / -",
        ]
    );
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&cancel(STOCK, 3, u32::MAX)),
        [&taint("over_cancel"), "mbo C B 5 at 9.9000 #3 [LB]"]
    );
    // The order's own stock counts, not that of the message.
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&delete(OTHER, 2)),
        [
            &taint("locate_mismatch"),
            "mbo C A 50 at 10.1000 #2 [LB]",
            "bbo C A 50 at 10.1000 [LB] 100x1 at 10.0000 / -",
        ]
    );
    let mut tape = three_orders();
    assert_eq!(
        tape.apply(&replace(OTHER, (3, 4), 6, 99_100)),
        [&taint("locate_mismatch"), "mbo C B 5 at 9.9000 #3 [B]", "mbo A B 6 at 9.9100 #4 [LB]"]
    );
}

#[test]
fn a_replace_whose_new_order_is_refused_is_a_cancel() {
    for (message, anomaly) in [
        (replace(STOCK, (1, 2), 80, 100_100), "duplicate_reference"),
        (replace(STOCK, (1, 4), 0, 100_100), "zero_shares"),
    ] {
        assert_eq!(
            three_orders().apply(&message),
            [
                &format!("taint {anomaly} of stock 7 by 6"),
                "mbo C B 100 at 10.0000 #1 [LB]",
                "bbo C B 100 at 10.0000 [LB] 5x1 at 9.9000 / 50x1 at 10.1000",
            ]
        );
    }
}

/// Each kind alone equals the selection from all kinds: flags belong to their kind.
#[test]
fn leaving_out_a_kind_leaves_out_its_records_and_nothing_else() {
    let messages = [
        add(STOCK, 1, b'B', 100, 100_000),
        executed(STOCK, 1, 10),
        executed_at(STOCK, 1, 10, 100_500, YesNo::Yes),
        executed_at(STOCK, 1, 10, 100_500, YesNo::No),
        replace(STOCK, (1, 2), 50, 100_100),
        cancel(STOCK, 2, 10),
        trade(STOCK, 10, 100_000),
        cross(STOCK, 10, 100_000),
        delete(STOCK, 2),
    ];
    for bits in 0..8 {
        let kinds = RecordKinds::of_bits(bits);
        let (mut all, mut some) = (Tape::of_everything(), Tape::new(kinds));
        for message in &messages {
            let mut expected = all.apply(message);
            expected.retain(|line| {
                let kind = match line.split(' ').next().unwrap() {
                    "mbo" => RecordKind::Mbo,
                    "bbo" => RecordKind::Bbo,
                    _ => RecordKind::Trades,
                };
                kinds.has(kind)
            });
            assert_eq!(some.apply(message), expected, "{kinds:?}");
        }
    }
}
