//! A ring with a history, its readers, and their results after a writer was killed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use nanotape_harness::survives;
use nanotape_ring::{Publish as _, Read, RingMonitor, Start, Subscribe as _};
use nanotape_shm::{Origin, OwnerState, RegionOptions};

use super::{HISTORY, Operation, RING_WORDS, bytes_of, lengths_of};
use crate::processes::{
    children::command,
    rings::{Ring, SMALL, Stream, WAYS, Way, next, payload},
};

/// A ring, its published messages, and its readers.
pub(super) struct Scene<R: Ring> {
    pub(super) path: PathBuf,
    /// Writer and length of each published message, from 1 on.
    pub(super) published: Vec<(u16, usize)>,
    pub(super) readers: Vec<(&'static str, R::Reader)>,
}

impl<R: Ring> Clone for Scene<R> {
    fn clone(&self) -> Self {
        let Self { path, published, readers } = self;
        let (path, published, readers) = (path.clone(), published.clone(), readers.clone());
        Self { path, published, readers }
    }
}

impl<R: Ring> Scene<R> {
    /// A ring after some laps, with its end where the operation needs it.
    pub(super) fn prepare(path: &Path, operation: Operation) -> Self {
        let (mut writer, origin) =
            R::create(path, bytes_of::<R>(path), &RegionOptions::default()).unwrap();
        assert_eq!(origin, Origin::Created);
        let mut published = Vec::new();
        let mut place = 0;
        let mut publish = |length: usize| {
            let sequence = published.len() as u64 + 1;
            writer.publish(HISTORY, &payload(sequence, HISTORY, length)).unwrap();
            published.push((HISTORY, length));
            let words = 2 + length.div_ceil(8);
            place = if place + words > RING_WORDS { words } else { place + words };
            (place, published.len())
        };
        // Some laps of slots too.
        let history = bytes_of::<R>(path) / 32 + 2;
        for length in [24, 100, 3, 60, 0, 200, 17].into_iter().cycle().take(history) {
            publish(length);
        }
        // In a slot ring the batch also crosses the end, and all else begins at the first slot.
        let slot = if operation == Operation::BatchBehindPadding { 15 } else { 0 };
        let mut lengths = [0, 8, 0, 0, 8].into_iter().cycle();
        loop {
            let (place, count) = publish(lengths.next().unwrap_or(0));
            let is_there = match R::NAME {
                Stream::NAME => operation.begins_at(place % RING_WORDS),
                _ => count % (SMALL / 256) == slot,
            };
            if is_there {
                break;
            }
        }
        drop(writer);
        let at = |start| R::open(path, start).unwrap();
        let oldest = at(Start::Oldest);
        let next = published.len() as u64 + 1;
        let middle = Start::Sequence((oldest.next_sequence() + next) / 2);
        let mut behind = at(middle);
        behind.set_rejoin(nanotape_ring::Rejoin::Oldest);
        let readers = vec![
            ("at the end", at(Start::Newest)),
            ("in the middle", at(middle)),
            ("in the middle, and going on at the oldest", behind),
            ("about to be lapped", oldest),
            ("lapped already", at(Start::Sequence(1))),
        ];
        Self { path: path.to_owned(), published, readers }
    }

    pub(super) fn end(&self) -> u64 {
        self.published.len() as u64
    }

    /// Reads all messages; returns the number of the last one. Checks them with `content`, and that
    /// only the oldest are lost.
    pub(super) fn drain(
        reader: &mut R::Reader,
        way: Way,
        content: &dyn Fn(u64) -> Option<(u16, usize)>,
    ) -> (u64, BTreeMap<u64, (u16, usize)>) {
        let mut seen = BTreeMap::new();
        // More than the messages of a ring of 4 KiB.
        for _ in 0..1_000 {
            let read = next(reader, way, |received| {
                let found = (received.type_id, received.length as usize);
                assert_eq!(Some(found), content(received.sequence), "{received:?}");
                assert_eq!(seen.insert(received.sequence, found), None, "none comes twice");
            });
            match read.unwrap() {
                Read::Empty => return (reader.next_sequence() - 1, seen),
                // A reader of an unchanging ring cannot lose messages that it has reached.
                Read::Lapped(_) => assert!(seen.is_empty(), "a lap in a ring that stands still"),
                Read::Message(()) => {}
            }
        }
        panic!("the ring has no end");
    }

    /// Reads in every way, without a writer: all of `maybe` is published, or none of it. Messages
    /// that exist count as published from now on, and every reader keeps its position or is at the
    /// end.
    pub(super) fn examine(&mut self, maybe: &[(u16, usize)], previous: OwnerState) {
        let before = self.end();
        let all = before + maybe.len() as u64;
        let content = |sequence: u64| {
            let index = usize::try_from(sequence).unwrap().checked_sub(1)?;
            self.published.iter().chain(maybe).nth(index).copied()
        };
        let mut visible = None;
        let mut drained = Vec::new();
        let opened = [
            ("new, at the oldest", Start::Oldest),
            ("new, at the newest", Start::Newest),
            ("new, at the last message", Start::Sequence(before)),
            ("new, behind the last message", Start::Sequence(before + 1)),
            ("new, at the first message", Start::Sequence(1)),
        ]
        .map(|(name, start)| {
            let reader = R::open(&self.path, start);
            (name, reader.unwrap_or_else(|error| panic!("{name}: {error}")))
        });
        for (name, reader) in self.readers.iter().chain(&opened) {
            for way in WAYS {
                let mut reader = reader.clone();
                let from = reader.next_sequence();
                let (end, seen) = Self::drain(&mut reader, way, &content);
                let place = format!("{name}, from {from}, {way:?}");
                assert!([before, all].contains(&end), "{place}: {end}");
                assert_eq!(*visible.get_or_insert(end), end, "{place}");
                let is_lapped = seen.first_key_value().is_some_and(|(first, _)| *first > from);
                assert!(!is_lapped || from + 4 < before, "{place}: lost what cannot be lost");
                drained.push((*name, reader));
            }
        }
        let stat = RingMonitor::open(&self.path).unwrap().sample().unwrap();
        assert_eq!(stat.owner.state, previous);
        assert_eq!(Some(stat.next_sequence - 1), visible);
        let newest = R::open(&self.path, Start::Newest).unwrap();
        assert_eq!(Some(newest.next_sequence() - 1), visible);
        assert!(stat.oldest_sequence < before, "{stat:?}");
        if visible == Some(all) {
            self.published.extend(maybe);
        }
        self.readers.extend(drained);
    }

    /// Another writer published: every reader gets exactly its messages.
    pub(super) fn went_on(&mut self, number: u16) {
        self.published.extend(lengths_of(number).iter().map(|&length| (number, length)));
        let content = |sequence: u64| self.published.get(sequence as usize - 1).copied();
        for (name, reader) in &self.readers {
            for way in WAYS {
                let mut reader = reader.clone();
                let (end, _) = Self::drain(&mut reader, way, &content);
                assert_eq!(end, self.end(), "{name}, {way:?}");
            }
        }
        let stat = RingMonitor::open(&self.path).unwrap().sample().unwrap();
        assert_eq!(stat.next_sequence, self.end() + 1);
    }

    /// Starts a child that takes over, and might be killed; returns whether it survived.
    pub(super) fn taken_over(&self, fatal: u64, number: u16) -> bool {
        survives(command::<R>("take over", &self.path, fatal, &number.to_string()))
    }
}
