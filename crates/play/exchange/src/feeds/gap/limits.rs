//! How many requests a session may make, and of what size.

use nanotape_wire::pitch_tcp::GapStatus;

const SECOND_NS: u64 = 1_000_000_000;

/// The limits of a gap server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapLimits {
    /// How many of the last messages of a unit can be requested.
    pub range: u64,
    /// The most messages of a request.
    pub messages: u16,
    /// The most requests of a session.
    pub requests: RequestLimits,
}

/// The most requests of a session. The spans follow each other from the start of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// In a second.
    pub second: u32,
    /// In a minute.
    pub minute: u32,
    /// In a day.
    pub day: u32,
}

impl Default for GapLimits {
    fn default() -> Self {
        let requests = RequestLimits { second: 320, minute: 1_500, day: 100_000 };
        Self { range: 1_000_000, messages: 100, requests }
    }
}

/// The requests of a session so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestUsage {
    second: SpanUsage,
    minute: SpanUsage,
    day: SpanUsage,
}

/// The requests in one span of time.
#[derive(Clone, Copy, Debug, Default)]
struct SpanUsage {
    /// Number of the span.
    span: u64,
    requests: u32,
}

impl SpanUsage {
    fn at(&mut self, now_ns: u64, span_ns: u64) -> &mut u32 {
        let span = now_ns / span_ns;
        if self.span != span {
            *self = Self { span, requests: 0 };
        }
        &mut self.requests
    }
}

impl RequestUsage {
    /// Counts a request of this time if no limit forbids it.
    pub(super) fn request(&mut self, limits: &RequestLimits, now_ns: u64) -> GapStatus {
        let spans = [
            (self.day.at(now_ns, 86_400 * SECOND_NS), limits.day, GapStatus::DayLimit),
            (self.minute.at(now_ns, 60 * SECOND_NS), limits.minute, GapStatus::MinuteLimit),
            (self.second.at(now_ns, SECOND_NS), limits.second, GapStatus::SecondLimit),
        ];
        if let Some((.., status)) = spans.iter().find(|(requests, most, _)| **requests >= *most) {
            return *status;
        }
        spans.into_iter().for_each(|(requests, ..)| *requests += 1);
        GapStatus::Accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_span_has_its_limit_and_refused_requests_do_not_count() {
        let limits = RequestLimits { second: 2, minute: 3, day: 5 };
        let mut usage = RequestUsage::default();
        let mut at = |seconds: u64| usage.request(&limits, seconds * SECOND_NS);
        use GapStatus::{Accepted, DayLimit, MinuteLimit, SecondLimit};
        assert_eq!([at(0), at(0), at(0)], [Accepted, Accepted, SecondLimit]);
        assert_eq!([at(1), at(1), at(2)], [Accepted, MinuteLimit, MinuteLimit]);
        assert_eq!([at(60), at(61), at(120)], [Accepted, Accepted, DayLimit]);
        assert_eq!(at(86_400), Accepted);
    }
}
