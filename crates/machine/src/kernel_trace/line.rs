//! Lines of the kernel's file `trace`, as it writes them with a clock that counts ticks:
//!
//! ```text
//!            spin-4242    [001] d.h1.  8123456789012: local_timer_entry: vector=236
//! ```
//!
//! The first sixteen columns are the name of the running thread, which may be anything, so nothing
//! is searched for in it. Lines that are not events, and events that are no interruption, are left
//! out.

use nanotape_clock::Stamp;

use super::event::{Event, Switch, What};

/// Columns of the thread's name.
const NAME_BYTES: usize = 16;

/// The events in a file.
pub(super) fn events_in(text: &[u8]) -> Vec<Event> {
    text.split(|&byte| byte == b'\n').filter_map(event_in).collect()
}

fn event_in(line: &[u8]) -> Option<Event> {
    let rest = String::from_utf8_lossy(line.get(NAME_BYTES..)?);
    let rest = rest.strip_prefix('-')?;
    let (thread, rest) = rest.split_once(' ')?;
    let mut words = rest.trim_start().splitn(3, ' ');
    words.next().filter(|cpu| cpu.starts_with('['))?;
    let _flags = words.next()?;
    let (at, rest) = words.next()?.trim_start().split_once(": ")?;
    let (name, detail) = rest.split_once(':')?;
    Some(Event {
        at: Stamp::from_ticks(at.parse().ok()?),
        thread: thread.parse().ok()?,
        what: what(name, detail.trim())?,
    })
}

fn what(name: &str, detail: &str) -> Option<What> {
    Some(match name {
        "local_timer_entry" => What::Timer,
        "sched_switch" => What::Switch(switch_in(detail)?),
        "signal_deliver" => What::Signal(number(value(detail, "sig=")?)?),
        "page_fault_user" => What::PageFault,
        "irq_handler_entry" => What::Interrupt(detail.split_once("name=")?.1.to_owned()),
        "softirq_entry" => {
            let (_, action) = detail.split_once("action=")?;
            What::Softirq(action.trim_end_matches(']').to_owned())
        }
        "nmi_handler" => What::NonMaskable,
        "workqueue_execute_start" => What::Work(detail.rsplit_once("function ")?.1.to_owned()),
        "cpu_frequency" => What::Frequency,
        vector => What::Vector(vector.strip_suffix("_entry")?.to_owned()),
    })
}

/// The names of threads may contain words that look like fields: the last ones count, which the
/// kernel writes behind them.
fn switch_in(detail: &str) -> Option<Switch> {
    let (from, to) = detail.rsplit_once(" ==> ")?;
    let (_, from) = from.rsplit_once("prev_pid=")?;
    let (name, to) = to.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
    Some(Switch {
        from: number(from)?,
        from_priority: number(value(from, "prev_prio=")?)?,
        state: value(from, "prev_state=")?.to_owned(),
        to: number(to)?,
        to_name: name.to_owned(),
        to_priority: number(value(to, "next_prio=")?)?,
    })
}

/// The word behind a key.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key)?.1.split_whitespace().next()
}

/// The digits at the beginning.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(at: u64, thread: u32, what: What) -> Event {
        Event { at: Stamp::from_ticks(at), thread, what }
    }

    #[test]
    fn lines_of_the_kernel_are_events() {
        let line = |name: &str, thread: u32, at: u64, event: &str| {
            format!("{name:>16}-{thread:<7} [001] d.h1. {at}: {event}\n")
        };
        let spin = |at, event| line("spin", 4_242, at, event);
        let text = [
            "# tracer: nop\n#\n".to_owned(),
            line("<idle>", 0, 8_123_456_789_012, "local_timer_entry: vector=236"),
            spin(8_123_456_789_100, "softirq_entry: vec=1 [action=TIMER]"),
            spin(8_123_456_789_200, "irq_handler_entry: irq=25 name=virtio0-input.0"),
            spin(8_123_456_789_300, "signal_deliver: sig=14 errno=0 code=0 sa_handler=1"),
            spin(8_123_456_789_400, "page_fault_user: address=0x7f ip=0x55 error_code=0x6"),
            spin(8_123_456_789_500, "call_function_single_entry: vector=251"),
            spin(8_123_456_789_600, "local_timer_exit: vector=236"),
            line(
                "kworker/1:2",
                77,
                8_123_456_789_700,
                "workqueue_execute_start: work struct 00000000: function vmstat_update",
            ),
        ]
        .concat();
        let expected = [
            event(8_123_456_789_012, 0, What::Timer),
            event(8_123_456_789_100, 4_242, What::Softirq("TIMER".to_owned())),
            event(8_123_456_789_200, 4_242, What::Interrupt("virtio0-input.0".to_owned())),
            event(8_123_456_789_300, 4_242, What::Signal(14)),
            event(8_123_456_789_400, 4_242, What::PageFault),
            event(8_123_456_789_500, 4_242, What::Vector("call_function_single".to_owned())),
            event(8_123_456_789_700, 77, What::Work("vmstat_update".to_owned())),
        ];
        assert_eq!(events_in(text.as_bytes()), expected);
    }

    #[test]
    fn a_thread_with_a_hostile_name_hides_nothing() {
        let name = "a ==> prev_pid=";
        let line = format!(
            "{name:>16}-7       [000] d..2. 55: sched_switch: prev_comm={name} prev_pid=7 \
             prev_prio=50 prev_state=R+ ==> next_comm=x next_pid=1 y next_pid=9 next_prio=120\n"
        );
        let [Event { what: What::Switch(switch), .. }] = &events_in(line.as_bytes())[..] else {
            panic!("one switch");
        };
        assert_eq!((switch.from, switch.from_priority, &*switch.state), (7, 50, "R+"));
        assert_eq!((switch.to, switch.to_priority, &*switch.to_name), (9, 120, "x next_pid=1 y"));
    }

    proptest! {
        #[test]
        fn rubbish_is_no_event_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = events_in(&bytes);
        }

        #[test]
        fn a_cut_line_is_no_panic(end in 0_usize..180) {
            let line = "            spin-4242    [001] d.h1. 81234: sched_switch: prev_comm=a \
                        prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=2 next_prio=3";
            let _ = events_in(line.as_bytes().get(..end).unwrap_or_default());
        }
    }
}
