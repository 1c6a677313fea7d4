//! Removals are forgotten when every node has them.
//!
//! Protocol, in two steps: when every other node has acknowledged the number of a removal, its
//! stamp gets the bit settled, and this change is sent as any other. When every node has
//! acknowledged that one too, the key is removed from the map. A node to which a settled removal
//! comes, and that does not have the key, has forgotten it already. So each removal is forgotten
//! once on each node, and none comes back (`docs/decisions/0076-many-writers-of-a-map.md`).

use nanotape_latest::{LatestError, is_one_change};
use nanotape_link::Now;

use crate::{
    error::PeersError,
    index::{ChangeIndex, GroupChange},
    membership::MemberStore,
    node::{PeerNode, unless_busy},
    write_stamp::WriteStamp,
};

impl<I: ChangeIndex, M: MemberStore> PeerNode<I, M> {
    /// Takes the next step of each removal of a group for which it is time, if every node has
    /// acknowledged the last number of the group.
    pub(crate) fn forget_in(
        &mut self,
        group: usize,
        acknowledged: u64,
        now: Now,
    ) -> Result<(), PeersError> {
        let change = self.index.change(group);
        let held_ns = self.held.get(&group).copied().unwrap_or(0);
        if change.number > acknowledged || now.monotonic_ns < held_ns {
            return Ok(());
        }
        match self.forget_entries(group, change, now) {
            // A writer keeps the group.
            Err(LatestError::Busy { .. }) => {
                self.stop_waiting();
                let again_ns = now.monotonic_ns.saturating_add(self.options.retry_ns);
                self.held.insert(group, again_ns);
            }
            done => {
                done?;
                self.held.remove(&group);
            }
        }
        Ok(())
    }

    fn forget_entries(
        &mut self,
        group: usize,
        change: GroupChange,
        now: Now,
    ) -> Result<(), LatestError> {
        self.reader.copy_group(group, &mut self.copy)?;
        // A later change has no number yet.
        if self.copy.version() != change.seen {
            return Ok(());
        }
        let mut is_left = false;
        for (_, key, value) in self.copy.entries() {
            let stamp = WriteStamp::of(value);
            if !stamp.is_removed() {
                continue;
            }
            is_left = true;
            // Writes of this node that follow a forgotten removal have later times from now on.
            if stamp.time_ns.saturating_add(self.options.clock_bound_ns) >= now.utc_ns {
                continue;
            }
            if stamp.is_settled() {
                self.writer.remove_if(key, |own| WriteStamp::of(own) == stamp)?;
                // It is no change for other nodes.
                let seen = unless_busy(self.reader.group_version(group))?;
                let own = self.index.change(group);
                if let Some(seen) = seen
                    && is_one_change(own.seen, seen)
                {
                    self.index.set_change(group, GroupChange { seen, ..own });
                }
            } else {
                self.writer.update_if(key, |own| {
                    let is_same = WriteStamp::of(own) == stamp;
                    if is_same {
                        stamp.settled().store(own);
                    }
                    is_same
                })?;
            }
        }
        if !is_left {
            self.removed[group / 64] &= !(1 << (group % 64));
        }
        Ok(())
    }
}
