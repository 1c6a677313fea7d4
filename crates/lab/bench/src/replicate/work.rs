//! The work of each process of a row.

use super::{Replicate, append, catch_up, limits, mirror, round_trip, rows::What};
use crate::{
    engine::{Reading, Worker},
    error::Error,
};

pub(super) fn work(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    match (worker.row.work, worker.reader()) {
        (What::RoundTrip { has_tls, by }, _) => round_trip::run(worker, has_tls, by),
        (What::PingPong, None) => limits::ping(worker),
        (What::PingPong, Some(_)) => limits::pong(worker),
        (What::CatchUp { has_tls }, None) => catch_up::lead(worker, has_tls),
        (What::CatchUp { has_tls }, Some(_)) => catch_up::follow(worker, has_tls),
        (What::Loopback, None) => limits::send_all(worker),
        (What::Loopback, Some(_)) => limits::receive_all(worker),
        (What::NewPages, _) => limits::new_pages(worker),
        (What::Append { followers }, None) => append::append(worker, followers),
        (What::Append { followers }, Some(reader)) => append::follow(worker, reader, followers),
        (What::Mirror, _) => mirror::work(worker, true),
        (What::Ring, _) => mirror::work(worker, false),
        #[cfg(feature = "aeron")]
        (What::Aeron { has_rings }, _) => super::aeron::run(worker, has_rings),
    }
}
