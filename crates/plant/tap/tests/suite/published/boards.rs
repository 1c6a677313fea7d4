//! A subscriber reports the board of the run that it reads, even if it joined while a plant
//! started.

use std::{fs, path::Path};

use nanotape_board::board_path;
use nanotape_plant::records::{Notice, Record};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};

use crate::published::support::{Folder, run};

#[test]
fn a_board_that_is_left_from_another_ring_is_not_taken_for_that_of_the_run() {
    let folder = Folder::new();
    let day = folder.day(2_000, 4);
    run(&folder.config(&day));
    let board = board_path(Path::new(&folder.ring()));
    let (left, new) = (folder.path("left"), folder.path("new"));
    fs::copy(&board, &left).unwrap();

    // A new ring, whose first record has number 1 again, with the board of the old one.
    let next_day = folder.path("20191231.itch50");
    fs::rename(&day, &next_day).unwrap();
    let mut config = folder.config(&next_day);
    config.ring.replace = true;
    run(&config);
    fs::rename(&board, &new).unwrap();
    fs::rename(&left, &board).unwrap();
    let mut subscriber = Subscription::to(&folder.ring()).from(Start::Oldest).open().unwrap();
    assert_eq!(subscriber.board().unwrap().run().date, 20_191_230);
    fs::rename(&new, &board).unwrap();

    let mut started = None;
    subscriber
        .poll(|event| {
            if let Event::Record(delivery) = event
                && let Record::Notice(Notice::Start(start)) = delivery.record
            {
                started = Some((delivery.sequence, start.date));
            }
        })
        .unwrap();
    assert_eq!(started, Some((1, 20_191_231)));
    assert_eq!(subscriber.board().unwrap().run().date, 20_191_231);
}
