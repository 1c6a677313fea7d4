//! The servers of the simulated exchange: what they do with the bytes of the clients.

use nanotape_feed::{
    pitch_tcp::{ProxyEvent, RefusedFor, SpinExchange},
    session::PacketOrigin,
};
use nanotape_wire::pitch_tcp::{GapStatus, LoginStatus, SpinStatus};

use super::{
    super::{
        super::{delivery::Wish, set::Refusal},
        exchange::{
            FromClient, answers, available, gap_response, heartbeat, login_response, spin,
            take_messages,
        },
    },
    Due, MS, PacketSource, SECOND, Simulation, Spin, day,
};

impl Simulation {
    pub(super) fn proxy_sent(&mut self, bytes: &[u8]) {
        let (mut refused, mut packets) = (Vec::new(), Vec::new());
        self.proxy.receive(bytes, self.now_ns, |event| match event {
            ProxyEvent::Refused { key, first, status } => {
                refused.push(Refusal { key, first, lasts: RefusedFor::of(status) });
            }
            ProxyEvent::Packet(unit) => packets.push(unit.to_vec()),
            ProxyEvent::LoggedIn => {}
        });
        let times = (self.now_ns, self.now_ns);
        let mut handler = self.engine.live(&mut self.watcher);
        for packet in packets {
            self.set.packet(PacketOrigin::Retransmission, times, &packet, &mut handler);
        }
        for refused in refused {
            self.set.refused(refused, self.now_ns, &mut handler);
        }
    }

    /// Does what the channels wish, and passes bytes to the servers.
    pub(super) fn act(&mut self) {
        for wish in core::mem::take(&mut self.set.common.wishes) {
            match wish {
                Wish::Request { key, first, count } => {
                    if !self.proxy.request(key, first, count) {
                        let mut handler = self.engine.live(&mut self.watcher);
                        let refusal = Refusal { key, first, lasts: RefusedFor::Now };
                        self.set.refused(refusal, self.now_ns, &mut handler);
                    }
                }
                Wish::Image { key, next } => self.fetch(key, next),
            }
        }
        self.proxy.poll(self.now_ns);
        let output = self.proxy.output().to_vec();
        self.proxy.sent(output.len(), self.now_ns);
        self.from_client.extend(output);
        let mut bytes = core::mem::take(&mut self.from_client);
        for message in take_messages(&mut bytes) {
            self.proxy_received(message);
        }
        self.from_client = bytes;
    }

    pub(super) fn proxy_received(&mut self, message: FromClient) {
        let number = self.connection;
        match message {
            FromClient::Login => {
                let response = login_response(LoginStatus::Accepted);
                self.at(MS, Due::FromProxy(number, response));
                // It shows that it is alive.
                for second in 1..60 {
                    self.at(second * SECOND, Due::FromProxy(number, heartbeat(0, 0)));
                }
            }
            FromClient::Gap { unit, first, count } => {
                let place = usize::from(unit) - 1;
                if self.faults.has_bad_servers && self.chance(50) {
                    // The connection is lost, and made again.
                    self.connection += 1;
                    self.proxy.disconnected();
                    let number = self.connection;
                    return self.at(300 * MS, Due::ProxyConnects(number));
                }
                let is_there = (first as usize) <= self.sent[place];
                let status = match is_there {
                    false => GapStatus::OutOfRange,
                    true if self.faults.has_bad_servers && self.chance(150) => {
                        let all = [
                            GapStatus::OutOfRange,
                            GapStatus::CountLimit,
                            GapStatus::DayLimit,
                            GapStatus::MinuteLimit,
                            GapStatus::SecondLimit,
                            GapStatus::Unavailable,
                            GapStatus::InvalidUnit,
                        ];
                        all[self.random.below(all.len() as u64) as usize]
                    }
                    true => GapStatus::Accepted,
                };
                let response = gap_response((unit, first, count), status);
                self.at(MS, Due::FromProxy(number, response));
                if status != GapStatus::Accepted {
                    return;
                }
                let sent = &day().messages[place][..self.sent[place]];
                let is_on_tcp = self.random.below(4) == 0;
                for answer in answers(unit, first.into(), count.into(), sent) {
                    let delay_ns = 2 * MS + self.random.below(MS);
                    if is_on_tcp {
                        self.at(delay_ns, Due::FromProxy(number, answer));
                    } else if !self.chance(100) {
                        self.at(delay_ns, Due::Packet(PacketSource::Answer, answer));
                    }
                }
            }
            FromClient::Spin(_) | FromClient::Heartbeat => {}
        }
    }

    pub(super) fn fetch(&mut self, key: u8, next: u64) {
        self.spins.retain(|spin| spin.key != key);
        self.spin_count += 1;
        let number = self.spin_count;
        let mut exchange = SpinExchange::new(next, None);
        exchange.connected(self.now_ns);
        let is_faulty = self.faults.has_bad_servers && self.chance(300);
        self.spins.push(Spin { number, key, exchange, from_client: Vec::new(), is_faulty });
        self.at(5 * MS, Due::SpinAnnounces(number));
        if is_faulty && self.chance(500) {
            self.at(20 * MS, Due::SpinBreaks(number));
        } else {
            self.at(2_900 * MS, Due::SpinBreaks(number));
        }
    }

    pub(super) fn announce(&mut self, number: u32) {
        let Some(spin) = self.spins.iter().find(|spin| spin.number == number) else { return };
        let last = self.sent[usize::from(spin.key) - 1] as u32;
        self.at(MS, Due::FromSpin(number, available(last)));
        self.at(300 * MS, Due::SpinAnnounces(number));
    }

    pub(super) fn spin_sent(&mut self, number: u32, bytes: &[u8]) {
        let Some(place) = self.spins.iter().position(|spin| spin.number == number) else { return };
        let spin = &mut self.spins[place];
        match spin.exchange.receive(bytes, self.now_ns) {
            Ok(Some((image, next))) => {
                let key = spin.key;
                self.spins.remove(place);
                let mut handler = self.engine.live(&mut self.watcher);
                self.set.image(key, Some((image, next)), self.now_ns, &mut handler);
            }
            Ok(None) => {
                let output = spin.exchange.output().to_vec();
                spin.exchange.sent(output.len(), self.now_ns);
                spin.from_client.extend(output);
                for message in take_messages(&mut spin.from_client) {
                    if let FromClient::Spin(last) = message {
                        self.spin_received(number, last);
                        break;
                    }
                }
            }
            Err(_) => self.spin_failed(number),
        }
    }

    pub(super) fn spin_received(&mut self, number: u32, last: u32) {
        let Some(of) = self.spins.iter().find(|of| of.number == number) else { return };
        let (unit, is_faulty) = (usize::from(of.key) - 1, of.is_faulty);
        if is_faulty && self.chance(400) {
            let status = match self.random.below(2) {
                0 => SpinStatus::OutOfRange,
                _ => SpinStatus::InProgress,
            };
            return self.at(MS, Due::FromSpin(number, spin(last, status, &[])));
        }
        let Some(reference) = self.exchange.get_mut(unit) else { return };
        if (last as usize) < reference.done {
            let status = SpinStatus::OutOfRange;
            return self.at(MS, Due::FromSpin(number, spin(last, status, &[])));
        }
        reference.advance(&day().messages[unit], last as usize);
        let mut image = reference.image();
        if is_faulty && self.chance(300) {
            image.truncate(image.len() / 2);
            image.push(vec![6, 0x97, 0, 0, 0, 0]);
        }
        let bytes = spin(last, SpinStatus::Accepted, &image);
        let (mut rest, mut after_ns) = (bytes.as_slice(), MS);
        while !rest.is_empty() {
            let length = (1 + self.random.below(900) as usize).min(rest.len());
            let (part, others) = rest.split_at(length);
            self.at(after_ns, Due::FromSpin(number, part.to_vec()));
            after_ns += 50_000;
            rest = others;
        }
    }

    pub(super) fn spin_failed(&mut self, number: u32) {
        let Some(place) = self.spins.iter().position(|spin| spin.number == number) else { return };
        let key = self.spins.remove(place).key;
        let mut handler = self.engine.live(&mut self.watcher);
        self.set.image(key, None, self.now_ns, &mut handler);
    }
}
