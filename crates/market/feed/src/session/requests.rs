//! Requests to a re-request server: which messages, how often, and when to stop.
//!
//! Protocol: missing messages of declared gaps are requested in chunks, some at a time. An answer
//! may be shorter than its request; the rest is requested at once. A request without an answer is
//! repeated after its timeout. The server does not refuse: after the last repetition the requests
//! pause, longer each time, and begin again. They have failed when nothing was answered for the
//! whole budget, or at the first pause if a snapshot may be had instead.

use super::{gaps::Gaps, ranges::Numbers, settings::RequestSettings};

#[derive(Debug)]
pub(super) struct Requests {
    settings: RequestSettings,
    /// In order of their numbers.
    chunks: Vec<Chunk>,
    /// Since when nothing was answered, in ns; `None` without a request.
    unanswered_ns: Option<u64>,
    /// Until when no request is sent, and how long the next pause is, in ns.
    paused_to_ns: u64,
    pause_ns: u64,
}

#[derive(Debug)]
struct Chunk {
    numbers: Numbers,
    sent_ns: u64,
    repeated: u32,
}

/// The result of a check of the requests.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Pumped {
    /// Nothing failed.
    Fine,
    /// The last repetition of the request for this message has no answer: the last of those that
    /// failed together.
    Failed(u64),
}

impl Requests {
    pub(super) fn new(settings: RequestSettings) -> Self {
        let (chunks, pause_ns) = (Vec::with_capacity(settings.in_flight), settings.pause_ns);
        Self { settings, chunks, unanswered_ns: None, paused_to_ns: 0, pause_ns }
    }

    /// When the next request is repeated or has failed.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        if self.chunks.is_empty() && self.paused_to_ns > 0 {
            return Some(self.paused_to_ns);
        }
        let timeout_ns = self.settings.timeout_ns;
        self.chunks.iter().map(|chunk| chunk.sent_ns.saturating_add(timeout_ns)).min()
    }

    /// Forgets requests that were answered, repeats those that are due, and sends new ones.
    /// `is_last`: nothing but requests can bring the messages.
    pub(super) fn pump(
        &mut self,
        gaps: &mut Gaps,
        is_last: bool,
        now_ns: u64,
        mut send: impl FnMut(u64, u16),
    ) -> Pumped {
        if self.chunks.is_empty() && now_ns < self.paused_to_ns {
            return Pumped::Fine;
        }
        self.paused_to_ns = 0;
        let RequestSettings { timeout_ns, retries, messages, in_flight, .. } = self.settings;
        let (mut failed, mut has_answer, mut waits) = (None, false, false);
        self.chunks.retain_mut(|chunk| {
            let Some(part) = gaps.parts(chunk.numbers.clone()).next() else {
                has_answer = true;
                return false;
            };
            let is_answered = part.start > chunk.numbers.start;
            has_answer |= is_answered;
            if !is_answered && now_ns.saturating_sub(chunk.sent_ns) < timeout_ns {
                waits = true;
                return true;
            }
            chunk.repeated = if is_answered { 0 } else { chunk.repeated + 1 };
            if chunk.repeated > retries {
                // Several at once: a dead server costs its time once, not for each gap.
                failed = failed.filter(|_| waits).or(Some(part.start));
                return false;
            }
            waits = true;
            (chunk.numbers.start, chunk.sent_ns) = (part.start, now_ns);
            gaps.count_request(part.start);
            send(part.start, count_of(&part, messages));
            true
        });
        if has_answer {
            self.note_answer();
        } else if let Some(number) = failed {
            let since_ns = *self.unanswered_ns.get_or_insert(now_ns);
            self.chunks.clear();
            if !is_last || now_ns.saturating_sub(since_ns) >= self.settings.budget_ns {
                return Pumped::Failed(number);
            }
            self.paused_to_ns = now_ns.saturating_add(self.pause_ns);
            self.pause_ns = (2 * self.pause_ns).min(RequestSettings::MOST_PAUSE_NS);
            return Pumped::Fine;
        }
        while self.chunks.len() < in_flight {
            let Some(numbers) = self.next_chunk(gaps) else { break };
            let first = numbers.start;
            gaps.count_request(first);
            send(first, count_of(&numbers, messages));
            let place = self.chunks.partition_point(|chunk| chunk.numbers.start < first);
            self.chunks.insert(place, Chunk { numbers, sent_ns: now_ns, repeated: 0 });
        }
        Pumped::Fine
    }

    /// The server sent messages that were missing, also if it is long after their request.
    pub(super) fn note_answer(&mut self) {
        (self.unanswered_ns, self.pause_ns) = (None, self.settings.pause_ns);
    }

    /// Forgets all requests.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        // A server that has not answered for the whole budget gets no other one for the next gap.
        (self.paused_to_ns, self.pause_ns) = (0, self.settings.pause_ns);
    }

    /// Forgets all requests, and that any of them had no answer: they could not have one.
    pub(super) fn restart(&mut self) {
        self.clear();
        self.unanswered_ns = None;
    }

    /// The first missing messages that are not requested.
    fn next_chunk(&self, gaps: &Gaps) -> Option<Numbers> {
        let most = u64::from(self.settings.messages).max(1);
        for part in gaps.parts(0..gaps.declared_to()) {
            let Numbers { start: mut from, end: mut to } = part;
            for Chunk { numbers, .. } in &self.chunks {
                if numbers.start <= from {
                    from = from.max(numbers.end);
                } else {
                    to = to.min(numbers.start);
                }
            }
            if from < to {
                return Some(from..to.min(from.saturating_add(most)));
            }
        }
        None
    }
}

fn count_of(numbers: &Numbers, most: u16) -> u16 {
    (numbers.end - numbers.start).min(u64::from(most.max(1))) as u16
}
