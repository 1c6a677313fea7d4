//! Something that does not work for a while: a socket, or a server. It is reported once when that
//! begins and once when it ends, and tried again after pauses that grow.

/// The first pause, and the longest.
const PAUSES_NS: (u64, u64) = (1_000_000, 1_000_000_000);

/// The state of a socket or a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outage {
    /// When it stopped to work; 0 while it works.
    since_ns: u64,
    /// When it is tried again.
    retry_ns: u64,
    pause_ns: u64,
}

impl Outage {
    /// An attempt failed. Whether it worked before.
    pub(crate) fn begin(&mut self, now_ns: u64) -> bool {
        self.pause_ns = (self.pause_ns * 2).clamp(PAUSES_NS.0, PAUSES_NS.1);
        self.retry_ns = now_ns.saturating_add(self.pause_ns);
        let is_new = self.since_ns == 0;
        if is_new {
            self.since_ns = now_ns.max(1);
        }
        is_new
    }

    /// It works. For how long it did not, in ns, if that is so.
    pub(crate) fn end(&mut self, now_ns: u64) -> Option<u64> {
        let since_ns = core::mem::take(self).since_ns;
        (since_ns != 0).then(|| now_ns.saturating_sub(since_ns))
    }

    /// Whether it does not work.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.since_ns != 0
    }

    /// Whether to try it.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.retry_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_new_once_and_its_pauses_grow_to_a_bound() {
        let (mut outage, mut now_ns, mut pauses) = (Outage::default(), 7, Vec::new());
        assert!(outage.is_due(0) && !outage.is_open());
        for attempt in 0..14 {
            assert_eq!(outage.begin(now_ns), attempt == 0);
            pauses.push(outage.retry_ns - now_ns);
            assert!(!outage.is_due(outage.retry_ns - 1));
            now_ns = outage.retry_ns;
            assert!(outage.is_due(now_ns));
        }
        assert_eq!(pauses[..3], [1_000_000, 2_000_000, 4_000_000]);
        assert_eq!(pauses.last(), Some(&1_000_000_000));
        assert_eq!(outage.end(now_ns), Some(now_ns - 7));
        assert_eq!(outage.end(now_ns), None);
        assert!(outage.is_due(0));
    }
}
