//! Both ends of SoupBinTCP, connected without a socket: what one sends, the other receives in
//! pieces of any size, at times that the test chooses.

mod hostile;
mod logins;
mod streams;
mod times;

use nanotape_feed::soupbintcp::{
    Client, ClientEvent, ClientOptions, MessageStore, Resume, Server, ServerEvent, ServerOptions,
};
use nanotape_types::Alpha;

pub(super) const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");

/// A day whose message `n` is a text with its number.
#[derive(Debug, Default)]
pub(super) struct Day {
    pub(super) count: u64,
    pub(super) is_over: bool,
    pub(super) missing: Option<u64>,
    pub(super) opened: u32,
    message: Vec<u8>,
}

impl Day {
    pub(super) fn of(count: u64) -> Self {
        Self { count, ..Self::default() }
    }

    pub(super) fn ended(self) -> Self {
        Self { is_over: true, ..self }
    }

    pub(super) fn text(number: u64) -> Vec<u8> {
        let mut text = format!("message {number} ").into_bytes();
        text.extend(vec![b'.'; (number % 50) as usize]);
        text
    }
}

impl MessageStore for Day {
    fn session(&self) -> Alpha<10> {
        SESSION
    }

    fn next(&self) -> u64 {
        self.count + 1
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn message(&mut self, number: u64) -> Option<&[u8]> {
        assert!((1..=self.count).contains(&number), "message {number} was not announced");
        self.message = Self::text(number);
        (self.missing != Some(number)).then_some(&self.message)
    }

    fn opened(&mut self) {
        self.opened += 1;
    }
}

/// A client, a server and the time that both are given.
pub(super) struct Pair {
    pub(super) client: Client,
    pub(super) server: Server,
    pub(super) now_ns: u64,
    /// The events of both, as text, with the numbers of messages checked.
    pub(super) client_events: Vec<String>,
    pub(super) server_events: Vec<String>,
}

impl Pair {
    pub(super) fn new(client: ClientOptions, resume: Resume, server: ServerOptions) -> Self {
        let mut client = Client::new(client, resume);
        client.connected(0);
        let server = Server::new(server, 0);
        let (client_events, server_events) = (Vec::new(), Vec::new());
        Self { client, server, now_ns: 0, client_events, server_events }
    }

    pub(super) fn plain(resume: Resume) -> Self {
        Self::new(ClientOptions::default(), resume, ServerOptions::default())
    }

    /// Moves up to `most` bytes of the client to the server.
    pub(super) fn carry_to_server(&mut self, most: usize, day: &mut Day) -> usize {
        let piece = self.client.output()[..most.min(self.client.output().len())].to_vec();
        let events = &mut self.server_events;
        self.server.receive(&piece, self.now_ns, day, |event| events.push(server_text(event)));
        self.client.sent(piece.len(), self.now_ns);
        self.server.poll(self.now_ns, day);
        piece.len()
    }

    /// Moves up to `most` bytes of the server to the client.
    pub(super) fn carry_to_client(&mut self, most: usize, day: &mut Day) -> usize {
        let piece = self.server.output()[..most.min(self.server.output().len())].to_vec();
        let events = &mut self.client_events;
        self.client.receive(&piece, self.now_ns, |event| events.push(client_text(event)));
        self.server.sent(piece.len(), self.now_ns);
        self.server.poll(self.now_ns, day);
        piece.len()
    }

    /// Moves bytes in both directions until both sides have nothing to send.
    pub(super) fn settle(&mut self, day: &mut Day) {
        while self.carry_to_server(usize::MAX, day) + self.carry_to_client(usize::MAX, day) > 0 {}
    }

    /// Passes the time to both.
    pub(super) fn wait(&mut self, nanos: u64, day: &mut Day) {
        self.now_ns += nanos;
        self.client.poll(self.now_ns);
        self.server.poll(self.now_ns, day);
    }
}

pub(super) fn client_text(event: ClientEvent<'_>) -> String {
    match event {
        ClientEvent::Accepted { session, requested, next } => {
            format!("accepted {session}: requested {requested}, next {next}")
        }
        ClientEvent::Sequenced { number, message } => {
            assert_eq!(message, Day::text(number), "message {number}");
            number.to_string()
        }
        ClientEvent::Unsequenced(message) => format!("U {}", message.escape_ascii()),
        ClientEvent::Debug(text) => format!("+ {}", text.escape_ascii()),
        ClientEvent::Unknown(packet_type) => format!("unknown {}", packet_type as char),
    }
}

pub(super) fn server_text(event: ServerEvent<'_>) -> String {
    match event {
        ServerEvent::Accepted { requested, next } => format!("requested {requested}, next {next}"),
        ServerEvent::Unsequenced(message) => format!("U {}", message.escape_ascii()),
        ServerEvent::Debug(text) => format!("+ {}", text.escape_ascii()),
        ServerEvent::Unknown(packet_type) => format!("unknown {}", packet_type as char),
    }
}
