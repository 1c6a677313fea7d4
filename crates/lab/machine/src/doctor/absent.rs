//! What a file that is not there says.
//!
//! A container hides most of its machine: other processes, other cards, parts of /proc and /sys. A
//! file that is missing is no proof that the machine is good. It is [`Verdict::Unknown`] with the
//! path and the reason, unless something that can be read proves that there is nothing: the
//! configuration of the kernel lacks the option, or the folder that would have it is there.

use super::{Check, Finding, Verdict, View};

/// What the first process of the kernel's own threads is called: only who sees it sees all.
const KERNEL_THREADS: (&str, &str) = ("/proc/2/comm", "kthreadd");

/// Files that only the first network namespace has.
const FIRST_NETWORK: [&str; 2] =
    ["/proc/sys/net/core/dev_weight", "/proc/sys/net/core/netdev_budget"];

impl View<'_> {
    /// A check whose file is not there. `option`: what the kernel's configuration has if the kernel
    /// has the file; an empty one if it always has.
    pub(super) fn absent(&self, check: Check, path: &str, option: &str) -> Finding {
        let error = match self.system.read_or_error(path) {
            Err(error) => error.to_string(),
            Ok(_) => "it has no value".to_owned(),
        };
        match self.configured(option) {
            Some((source, false)) if !option.is_empty() => {
                check.found(Verdict::Ok, format!("this kernel has no {option} in {source}"))
            }
            _ => check.unknown(format!("cannot read {path}: {error}")),
        }
    }

    /// The same for what is good if a folder that can be read lacks it.
    pub(super) fn absent_in(&self, check: Check, folder: &str, path: &str) -> Finding {
        match self.system.names(folder).is_empty() || self.system.has(path) {
            true => self.absent(check, path, ""),
            false => check.found(Verdict::Ok, format!("there is no {path}")),
        }
    }

    /// Why the threads of others cannot be seen; `None` if they can.
    pub(super) fn hidden_processes(&self) -> Option<String> {
        let (path, name) = KERNEL_THREADS;
        (self.read(path).as_deref() != Some(name)).then(|| {
            format!(
                "{path} is not {name}: this is a container, or /proc hides the processes of others"
            )
        })
    }

    /// Why the network cards of the machine cannot be seen; `None` if they can.
    pub(super) fn hidden_cards(&self) -> Option<String> {
        (!FIRST_NETWORK.iter().any(|path| self.system.has(path))).then(|| {
            format!("there is no {}: this is a network namespace of its own", FIRST_NETWORK[0])
        })
    }
}
