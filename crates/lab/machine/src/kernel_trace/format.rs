//! What an event of the kernel says: its bytes are described by a file `format` for each kind.
//!
//! ```text
//! name: irq_handler_entry
//! ID: 225
//! format:
//!   field:int irq;  offset:8;  size:4;  signed:1;
//!   field:__data_loc char[] name;  offset:12;  size:4;  signed:0;
//! ```
//!
//! A kind whose format lacks a field that is needed is left out, as one that the kernel lacks.

use std::{collections::BTreeMap, sync::Arc};

use nanotape_clock::Stamp;

use super::{
    event::{Event, Left, Switch, What},
    page::{u32_at, u64_at},
};

/// A kind of events that interrupt a thread, or end an interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Switch,
    Move,
    Signal,
    PageFault,
    Interrupt,
    Softirq,
    NonMaskable,
    Work,
    Frequency,
    Timer,
    Vector(&'static str),
    End,
}

/// The kinds, as folders below `events`, and the fields that are needed. A kernel lacks some.
pub(super) const EVENTS: &[(&str, Kind, &[&str])] = &[
    (
        "sched/sched_switch",
        Kind::Switch,
        &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio", "next_comm"],
    ),
    ("sched/sched_migrate_task", Kind::Move, &["pid"]),
    ("signal/signal_deliver", Kind::Signal, &["sig"]),
    ("exceptions/page_fault_user", Kind::PageFault, &[]),
    ("irq/irq_handler_entry", Kind::Interrupt, &["irq", "name"]),
    ("irq/irq_handler_exit", Kind::End, &[]),
    ("irq/softirq_entry", Kind::Softirq, &["vec"]),
    ("irq/softirq_exit", Kind::End, &[]),
    ("nmi/nmi_handler", Kind::NonMaskable, &["delta_ns"]),
    ("workqueue/workqueue_execute_start", Kind::Work, &["function"]),
    ("power/cpu_frequency", Kind::Frequency, &[]),
    ("irq_vectors/local_timer_entry", Kind::Timer, &[]),
    ("irq_vectors/local_timer_exit", Kind::End, &[]),
    ("irq_vectors/reschedule_entry", Kind::Vector("reschedule"), &[]),
    ("irq_vectors/reschedule_exit", Kind::End, &[]),
    ("irq_vectors/call_function_entry", Kind::Vector("call_function"), &[]),
    ("irq_vectors/call_function_exit", Kind::End, &[]),
    ("irq_vectors/call_function_single_entry", Kind::Vector("call_function_single"), &[]),
    ("irq_vectors/call_function_single_exit", Kind::End, &[]),
    ("irq_vectors/irq_work_entry", Kind::Vector("irq_work"), &[]),
    ("irq_vectors/irq_work_exit", Kind::End, &[]),
    ("irq_vectors/x86_platform_ipi_entry", Kind::Vector("x86_platform_ipi"), &[]),
    ("irq_vectors/x86_platform_ipi_exit", Kind::End, &[]),
    ("irq_vectors/threshold_apic_entry", Kind::Vector("threshold_apic"), &[]),
    ("irq_vectors/threshold_apic_exit", Kind::End, &[]),
    ("irq_vectors/deferred_error_apic_entry", Kind::Vector("deferred_error_apic"), &[]),
    ("irq_vectors/deferred_error_apic_exit", Kind::End, &[]),
    ("irq_vectors/thermal_apic_entry", Kind::Vector("thermal_apic"), &[]),
    ("irq_vectors/thermal_apic_exit", Kind::End, &[]),
    ("irq_vectors/error_apic_entry", Kind::Vector("error_apic"), &[]),
    ("irq_vectors/error_apic_exit", Kind::End, &[]),
    ("irq_vectors/spurious_apic_entry", Kind::Vector("spurious_apic"), &[]),
    ("irq_vectors/spurious_apic_exit", Kind::End, &[]),
];

/// The kernel's softirqs, in the order of their numbers.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Names of handlers of interrupts that are kept; more are `unknown`.
const MOST_NAMES: usize = 1_024;

/// Bits of the state of a thread that loses the processor: stopped, and stopped by a debugger.
const STOPPED: u64 = 4 | 8;
/// All of the bits that say why. A higher one is set if the thread was preempted.
const REASONS: u64 = 0xff;

/// Where the values are.
#[derive(Clone, Debug)]
struct Layout {
    kind: Kind,
    thread: usize,
    /// In the order of the needed fields.
    fields: Vec<usize>,
}

/// Reads the events of one machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Formats {
    by_number: BTreeMap<u16, Layout>,
    names: BTreeMap<Vec<u8>, Arc<str>>,
}

impl Formats {
    /// Adds the file of a kind; does nothing if it lacks something.
    pub(super) fn add(&mut self, kind: Kind, needed: &[&str], text: &str) {
        let number = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let (declared, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
                let declared = declared.rsplit(' ').next()?.split('[').next()?;
                let offset = rest.trim().strip_prefix("offset:")?.split(';').next()?;
                (declared == name).then(|| offset.parse::<usize>().ok()).flatten()
            })
        };
        let fields: Option<Vec<usize>> = needed.iter().map(|name| field(name)).collect();
        if let (Some(number), Some(thread), Some(fields)) = (number, field("common_pid"), fields) {
            self.by_number.insert(number, Layout { kind, thread, fields });
        }
    }

    /// Whether no kind can be read.
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// The event in some bytes; `None` for kinds that are not read, and for cut ones.
    pub(super) fn event(&mut self, at: u64, data: &[u8]) -> Option<Event> {
        let number = u16::from_le_bytes(*data.first_chunk()?);
        let Layout { kind, thread, fields } = self.by_number.get(&number)?;
        let thread = u32_at(data, *thread)?;
        let place = |index: usize| fields.get(index).copied().unwrap_or(usize::MAX);
        let small = |index| u32_at(data, place(index));
        let large = |index| u64_at(data, place(index));
        let what = match kind {
            Kind::Switch => What::Switch(Switch {
                from: small(0)?,
                from_priority: small(1)?,
                state: left(large(2)?),
                to: small(3)?,
                to_priority: small(4)?,
                to_name: *data.get(place(5)..)?.first_chunk()?,
            }),
            Kind::Move => What::Move { thread: small(0)? },
            Kind::Signal => What::Signal(small(0)?),
            Kind::PageFault => What::PageFault,
            Kind::Interrupt => {
                let name = text_at(data, small(1)?);
                What::Interrupt(name_of(&mut self.names, name))
            }
            Kind::Softirq => {
                What::Softirq(SOFTIRQS.get(small(0)? as usize).copied().unwrap_or("unknown"))
            }
            Kind::NonMaskable => What::NonMaskable { nanos: large(0)? },
            Kind::Work => What::Work(large(0)?),
            Kind::Frequency => What::Frequency,
            Kind::Timer => What::Timer,
            Kind::Vector(name) => What::Vector(name),
            Kind::End => What::End,
        };
        Some(Event { at: Stamp::from_ticks(at), thread, what })
    }
}

fn left(state: u64) -> Left {
    match state {
        state if state & STOPPED != 0 => Left::Stopped,
        state if state & REASONS != 0 => Left::Blocked,
        _ => Left::Runnable,
    }
}

/// The text at a place that is written as its offset and, in the upper half, its length.
fn text_at(data: &[u8], place: u32) -> &[u8] {
    let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
    let text = data.get(offset..offset.saturating_add(length)).unwrap_or(&[]);
    text.split(|&byte| byte == 0).next().unwrap_or(&[])
}

/// One copy of each name.
fn name_of(names: &mut BTreeMap<Vec<u8>, Arc<str>>, name: &[u8]) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    if names.len() >= MOST_NAMES {
        return Arc::from("unknown");
    }
    let text: Arc<str> = String::from_utf8_lossy(name).into();
    names.insert(name.to_owned(), Arc::clone(&text));
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
    const INTERRUPT: &str = "name: irq_handler_entry\nID: 225\nformat:\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n";

    fn formats() -> Formats {
        let mut formats = Formats::default();
        for (text, name) in [(SWITCH, "sched/sched_switch"), (INTERRUPT, "irq/irq_handler_entry")] {
            let (_, kind, needed) = EVENTS.iter().find(|(known, ..)| *known == name).unwrap();
            formats.add(*kind, needed, text);
        }
        formats
    }

    /// The bytes of an event of a thread, behind its number.
    fn event(number: u16, thread: u32, rest: &[&[u8]]) -> Vec<u8> {
        [&number.to_le_bytes()[..], &[0; 2], &thread.to_le_bytes(), &rest.concat()].concat()
    }

    fn switch(state: u64) -> Vec<u8> {
        let number = |number: u32| number.to_le_bytes();
        let names = (*b"a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", *b"kworker/1:2\0\0\0\0\0");
        let (from, to) = ([number(7), number(49)].concat(), [number(9), number(120)].concat());
        event(372, 7, &[&names.0, &from, &state.to_le_bytes(), &names.1, &to])
    }

    #[test]
    fn a_switch_has_both_threads_and_the_reason() {
        for (state, expected) in [
            (0, Left::Runnable),
            (0x100, Left::Runnable),
            (1, Left::Blocked),
            (2, Left::Blocked),
            (4, Left::Stopped),
            (8, Left::Stopped),
        ] {
            let found = formats().event(55, &switch(state)).unwrap();
            let What::Switch(switch) = found.what else { panic!("a switch: {found:?}") };
            assert_eq!((found.at.ticks(), found.thread, switch.state), (55, 7, expected));
            assert_eq!((switch.from, switch.from_priority), (7, 49));
            assert_eq!(
                (switch.to, switch.to_priority, switch.to_name()),
                (9, 120, "kworker/1:2".to_owned())
            );
        }
    }

    #[test]
    fn an_interrupt_has_the_name_of_its_handler() {
        let name = b"virtio0-input.0\0";
        let place = ((name.len() as u32) << 16 | 16).to_le_bytes();
        let found = formats().event(55, &event(225, 0, &[&25_u32.to_le_bytes(), &place, name]));
        assert_eq!(found.unwrap().what, What::Interrupt("virtio0-input.0".into()));
    }

    #[test]
    fn a_kind_that_lacks_a_field_is_left_out() {
        let mut formats = Formats::default();
        formats.add(Kind::Softirq, &["vec"], INTERRUPT);
        assert!(formats.is_empty());
        assert_eq!(formats.event(1, &event(225, 0, &[&[0; 64]])), None);
    }

    proptest! {
        #[test]
        fn cut_and_damaged_events_are_no_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            end in 0_usize..70,
        ) {
            let mut formats = formats();
            let _ = formats.event(1, &bytes);
            let whole = switch(0);
            let cut = whole.get(..end).unwrap_or(&whole);
            prop_assert_eq!(formats.event(1, cut).is_some(), cut.len() == whole.len());
            let _ = formats.event(1, &event(225, 0, &[&bytes]));
        }
    }
}
