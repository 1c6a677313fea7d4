//! The placement of the measuring thread: its processor, its scheduling class, its memory.
//!
//! Where: applied once before a run, on the measuring thread. The record's `scheduling` and
//! `memory_locked` are the texts here.
//! Failure: none. Refusals of the system are sentences in [`Placement::refused`] and in the texts;
//! the run continues with what was granted.
//!
//! Threads and programs that a placed thread starts inherit its placement. That is right for
//! threads of the measured code. It is wrong for helpers, which would compete with it: this crate
//! starts its helpers from threads without a placement.

mod burst;
mod memory;
mod scheduling;

use std::marker::PhantomData;

use nanotape_host::{allow_every_cpu, allowed_cpus, pin_to, run_on};

pub use self::burst::Burst;
use self::scheduling::Class;

/// The requested placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacementRequest {
    /// The processor of the thread.
    pub pin: Pin,
    /// Real-time scheduling, first in first out, with this priority: 1 to 49, below the kernel's
    /// own threads at 50. None leaves the class unchanged.
    ///
    /// Normal threads never interrupt such a thread, but if they wait, the kernel gives them 50 ms
    /// of every second. Measure in a [`Burst`].
    pub real_time_priority: Option<u8>,
    /// Whether to lock all current and future pages in memory.
    pub lock_memory: bool,
}

/// The processor to run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pin {
    /// Any allowed one.
    Free,
    /// The last allowed one: the first ones do most of the machine's own work.
    Last,
    /// This one, if the kernel grants it. It need not be among those of the calling thread:
    /// isolated processors never are, until a thread requests them.
    To(u32),
}

impl Default for PlacementRequest {
    fn default() -> Self {
        Self { pin: Pin::Last, real_time_priority: None, lock_memory: true }
    }
}

/// The placement of a thread. When it is dropped or released, it restores the earlier one. It stays
/// on its thread, because affinity and class belong to that thread.
#[derive(Debug)]
pub struct Placement {
    cpu: Option<u32>,
    scheduling: String,
    memory_locked: String,
    refused: Vec<String>,
    /// The affinity to restore; None if it is unchanged.
    affinity_before: Option<Vec<u32>>,
    class_before: Option<Class>,
    /// Neither `Send` nor `Sync`.
    of_this_thread: PhantomData<*const ()>,
}

impl Placement {
    /// Applies the requested placement to the calling thread, as far as the system allows.
    pub fn apply(request: &PlacementRequest) -> Self {
        let mut placement = Self {
            cpu: None,
            scheduling: String::new(),
            memory_locked: String::new(),
            refused: Vec::new(),
            affinity_before: None,
            class_before: None,
            of_this_thread: PhantomData,
        };
        let place = placement.pin(request.pin);
        let class = placement.set_class(request.real_time_priority);
        placement.scheduling = format!("{place}; {class}");
        placement.memory_locked = placement.lock_memory(request.lock_memory);
        memory::touch_stack();
        placement
    }

    /// The same without memory that is locked.
    pub fn on(pin: Pin, real_time_priority: Option<u8>) -> Self {
        Self::apply(&PlacementRequest { pin, real_time_priority, lock_memory: false })
    }

    /// The only processor that this thread can run on.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// The processor and class of the thread, and refusals.
    pub fn scheduling(&self) -> &str {
        &self.scheduling
    }

    /// Whether memory is locked, and the reason if it is not.
    pub fn memory_locked(&self) -> &str {
        &self.memory_locked
    }

    /// One sentence for each refused request.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Restores the earlier processors and class; returns what could not be restored.
    /// Memory stays locked: this applies to the whole process, and other code might rely on it.
    pub fn release(mut self) -> Vec<String> {
        self.undo()
    }

    fn pin(&mut self, pin: Pin) -> String {
        let allowed = allowed_cpus();
        let cpu = match choose(pin, &allowed) {
            Ok(Some(cpu)) => cpu,
            Ok(None) => {
                // A single allowed processor counts as pinned, even if it was set from outside.
                self.cpu = only(&allowed);
                return match self.cpu {
                    Some(cpu) => format!("not pinned, processor {cpu} is the only one allowed"),
                    None => "not pinned, as asked".to_owned(),
                };
            }
            Err(why) => return self.refuse("pinning", &why),
        };
        if let Err(refusal) = pin_to(cpu) {
            self.refused.push(refusal.clone());
            return refusal;
        }
        self.affinity_before = Some(allowed);
        self.cpu = Some(cpu);
        format!("pinned to processor {cpu}")
    }

    fn set_class(&mut self, priority: Option<u8>) -> String {
        let before = Class::of_this_thread();
        let Some(priority) = priority else {
            return match before {
                Some(class) => format!("{class}, as it was"),
                None => "class of scheduling not known".to_owned(),
            };
        };
        match scheduling::set_real_time(priority) {
            Ok(()) => {
                self.class_before = before;
                format!("first in first out, priority {priority}")
            }
            Err(refusal) => self.refuse("real-time scheduling", &refusal.to_string()),
        }
    }

    fn lock_memory(&mut self, wanted: bool) -> String {
        if !wanted {
            return "not asked for".to_owned();
        }
        match memory::lock() {
            Ok(()) => "all, also what is still to come".to_owned(),
            Err(refusal) => self.refuse("locking of memory", &refusal.to_string()),
        }
    }

    fn refuse(&mut self, what: &str, why: &str) -> String {
        let sentence = format!("{what} was refused: {why}");
        self.refused.push(sentence.clone());
        sentence
    }

    fn undo(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        if let Some(class) = self.class_before.take()
            && let Err(error) = class.restore()
        {
            left.push(format!("cannot restore the scheduling class: {error}"));
        }
        if let Some(cpus) = self.affinity_before.take()
            && let Err(error) = run_on(&cpus)
        {
            left.push(format!("cannot restore the allowed processors: {error}"));
        }
        left
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        // Use `release` to get the failures.
        let _ = self.undo();
    }
}

/// Runs `work` on a new thread with normal scheduling and every processor, whatever the caller's
/// placement, and waits for it. None if no thread can be started, or if `work` panics.
pub(crate) fn unplaced<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    std::thread::scope(|scope| {
        let body = || {
            allow_every_cpu();
            if let Some(Class::RealTime { .. }) = Class::of_this_thread() {
                let _ = Class::normal().restore();
            }
            work()
        };
        std::thread::Builder::new().spawn_scoped(scope, body).ok()?.join().ok()
    })
}

fn choose(pin: Pin, allowed: &[u32]) -> Result<Option<u32>, String> {
    match pin {
        Pin::Free => Ok(None),
        Pin::Last => match allowed.last() {
            Some(&cpu) => Ok(Some(cpu)),
            None => Err("no processor is allowed".to_owned()),
        },
        // The kernel decides.
        Pin::To(cpu) => Ok(Some(cpu)),
    }
}

fn only(allowed: &[u32]) -> Option<u32> {
    if let [cpu] = allowed { Some(*cpu) } else { None }
}

#[cfg(test)]
mod tests {
    use nanotape_host::usable_cpus;

    use super::*;

    #[test]
    fn the_last_allowed_processor_is_chosen() {
        assert_eq!(choose(Pin::Last, &[0, 3, 5]), Ok(Some(5)));
        assert_eq!(choose(Pin::To(3), &[0, 3, 5]), Ok(Some(3)));
        assert_eq!(choose(Pin::To(4), &[0, 3, 5]), Ok(Some(4)), "the kernel decides");
        assert_eq!(choose(Pin::Free, &[0, 3]), Ok(None));
        assert!(choose(Pin::Last, &[]).is_err());
    }

    #[test]
    fn a_processor_that_cannot_exist_is_refused() {
        let request = PlacementRequest {
            pin: Pin::To(1_000_000),
            real_time_priority: None,
            lock_memory: false,
        };
        let placement = Placement::apply(&request);
        let usable: Vec<String> = usable_cpus().iter().map(u32::to_string).collect();
        let usable = usable.join(", ");
        let why = format!("processor 1000000 is not among those allowed ({usable})");
        assert_eq!(placement.refused(), [format!("pinning was refused: {why}")]);
    }

    #[test]
    fn a_helper_does_not_inherit_the_place_and_release_gives_it_back() {
        let (allowed, class) = (allowed_cpus(), Class::of_this_thread());
        let request =
            PlacementRequest { pin: Pin::Last, real_time_priority: Some(10), lock_memory: false };
        let placement = Placement::apply(&request);
        if let [refusal, ..] = placement.refused() {
            nanotape_harness::skipped(refusal);
            return;
        }
        let placed = Class::RealTime {
            policy: thread_priority::RealtimeThreadSchedulePolicy::Fifo,
            priority: 10,
        };
        assert_eq!(Class::of_this_thread(), Some(placed));
        assert_eq!(only(&allowed_cpus()), placement.cpu());
        let helper = unplaced(|| (allowed_cpus(), Class::of_this_thread()));
        assert_eq!(helper, Some((usable_cpus(), Some(Class::normal()))));
        assert_eq!(placement.release(), [""; 0]);
        assert_eq!((allowed_cpus(), Class::of_this_thread()), (allowed, class));
    }

    #[test]
    fn one_allowed_processor_is_a_place() {
        assert_eq!(only(&[3]), Some(3));
        assert_eq!(only(&[3, 4]), None);
        assert_eq!(only(&[]), None);
    }
}
