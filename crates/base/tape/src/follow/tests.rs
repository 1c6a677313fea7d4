//! A follower of a scripted stream: events between a poll and the check of the writer.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, time::Duration};

use super::*;
use crate::{Message, Start};

/// The event at each check of the writer, in order.
enum Act {
    /// No event.
    Rest,
    /// The writer appends messages and continues.
    Append(u64),
    /// The writer appends messages and ends in this state.
    End(u64, WriterState),
    /// A successor appends messages and stays alive.
    Succeed(u64),
    /// The stream is removed while the writer continues.
    Remove,
}

#[derive(Default)]
struct Script {
    /// The number of the newest message.
    newest: u64,
    epoch: u64,
    state: Option<WriterState>,
    is_removed: bool,
    /// The writer appends a message for each poll.
    is_busy: bool,
    acts: VecDeque<Act>,
    next: u64,
}

#[derive(Clone)]
struct Scripted(Rc<RefCell<Script>>);

impl Scripted {
    fn new(newest: u64, acts: impl IntoIterator<Item = Act>) -> Self {
        let acts = acts.into_iter().collect();
        Self(Rc::new(RefCell::new(Script { newest, acts, next: 1, ..Script::default() })))
    }

    fn act(&self) {
        let mut script = self.0.borrow_mut();
        match script.acts.pop_front() {
            None | Some(Act::Rest) => {}
            Some(Act::Append(count)) => script.newest += count,
            Some(Act::End(count, state)) => {
                (script.newest, script.state) = (script.newest + count, Some(state));
            }
            Some(Act::Succeed(count)) => {
                (script.newest, script.state) = (script.newest + count, None);
                script.epoch += 1;
            }
            Some(Act::Remove) => script.is_removed = true,
        }
    }

    fn follow(&self) -> Follow<Self> {
        Follow::new(self.clone()).strategy(WaitStrategy::Sleep(Duration::from_millis(20)))
    }
}

impl Tape for Scripted {
    type Error = &'static str;

    fn next_sequence(&self) -> u64 {
        self.0.borrow().next
    }

    fn end(&self) -> Result<u64, Self::Error> {
        Ok(self.0.borrow().newest + 1)
    }

    fn writer(&self) -> Writer {
        self.act();
        let Script { epoch, state, .. } = *self.0.borrow();
        Writer { epoch, state: state.unwrap_or(WriterState::Alive) }
    }

    fn check(&mut self) -> Result<(), Self::Error> {
        if self.0.borrow().is_removed { Err("removed") } else { Ok(()) }
    }
}

impl Source for Scripted {
    fn poll(
        &mut self,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Self::Error> {
        let mut script = self.0.borrow_mut();
        script.newest += u64::from(script.is_busy);
        let mut progress = Progress::Nothing;
        while script.next <= script.newest && progress != Progress::Stopped {
            let sequence = script.next;
            script.next += 1;
            let payload = &sequence.to_ne_bytes();
            let message = Message { sequence, type_id: 1, ts: None, payload };
            progress = Progress::of(visit(Item::Message(message)));
        }
        Ok(progress)
    }

    fn seek(&mut self, _: Start) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Follows to the first step that is neither a read nor idle; returns it and the numbers read.
fn read_on(follow: &mut Follow<Scripted>) -> (Result<Step, &'static str>, Vec<u64>) {
    let mut seen = Vec::new();
    loop {
        let step = follow.step(|item| {
            if let Item::Message(message) = item {
                seen.push(message.sequence);
            }
            ControlFlow::Continue(())
        });
        if !matches!(step, Ok(Step::Read | Step::Idle)) {
            return (step, seen);
        }
    }
}

#[test]
fn what_a_writer_leaves_between_the_last_poll_and_its_end_is_read() {
    for state in [WriterState::Closed, WriterState::Dead] {
        let acts = || [Act::Rest, Act::Append(2), Act::Rest, Act::End(3, state)];
        let mut follow = Scripted::new(4, acts()).follow();
        assert_eq!(read_on(&mut follow), (Ok(Step::Gone(state)), (1..=9).collect()));

        // The test detects a follower without the last drain.
        let mut hasty = Scripted::new(4, acts()).follow();
        hasty.skips_last_drain = true;
        assert_eq!(read_on(&mut hasty), (Ok(Step::Gone(state)), (1..=6).collect()));
    }
}

#[test]
fn a_step_that_does_not_wait_reads_what_a_writer_leaves_at_its_end() {
    for state in [WriterState::Closed, WriterState::Dead] {
        let script = Scripted::new(4, [Act::Append(2), Act::End(3, state), Act::Succeed(1)]);
        let mut follow = script.follow();
        let mut seen = Vec::new();
        let mut try_step = || {
            follow.try_step_by(|source| {
                source.poll(|item| {
                    if let Item::Message(message) = item {
                        seen.push(message.sequence);
                    }
                    ControlFlow::Continue(())
                })
            })
        };
        // The first idle poll checks at once: the writer has appended two more by then.
        let first: Vec<_> = (0..3).map(|_| try_step()).collect();
        assert_eq!(first, [Ok(Step::Read), Ok(Step::Idle), Ok(Step::Read)]);
        // Later ones check again only after a while; the last drain comes before the end.
        let mut rest = Vec::new();
        while rest.last() != Some(&Ok(Step::Gone(state))) {
            rest.push(try_step());
        }
        assert!(rest.len() > 3, "no check is due at each idle step: {rest:?}");
        rest.retain(|step| *step != Ok(Step::Idle));
        assert_eq!(rest, [Ok(Step::Read), Ok(Step::Gone(state))]);
        // The successor is followed.
        while !matches!(try_step(), Ok(Step::Read)) {}
        assert_eq!(seen, (1..=10).collect::<Vec<_>>());
    }
}

#[test]
fn each_writer_is_reported_once_and_its_successor_is_followed() {
    let acts = [
        Act::End(1, WriterState::Dead),
        Act::Rest,
        Act::Succeed(2),
        Act::End(1, WriterState::Closed),
        Act::Rest,
        Act::Succeed(0),
        Act::End(0, WriterState::Closed),
    ];
    let mut follow = Scripted::new(0, acts).follow();
    assert_eq!(read_on(&mut follow), (Ok(Step::Gone(WriterState::Dead)), vec![1]));
    assert_eq!(read_on(&mut follow), (Ok(Step::Gone(WriterState::Closed)), vec![2, 3, 4]));
    assert_eq!(read_on(&mut follow), (Ok(Step::Gone(WriterState::Closed)), vec![]));
}

#[test]
fn a_stream_that_was_removed_is_read_to_its_end_although_its_writer_never_pauses() {
    let tape = Scripted::new(0, [Act::Append(5), Act::Remove]);
    let (step, seen) = read_on(&mut tape.follow());
    assert_eq!((step, seen.len()), (Err("removed"), 5));

    tape.0.borrow_mut().is_busy = true;
    let (step, seen) = read_on(&mut tape.follow());
    assert_eq!((step, seen.len()), (Err("removed"), READS_PER_CHECK as usize));
}

#[test]
fn a_writer_that_has_not_started_is_waited_for_up_to_the_deadline() {
    let acts = || [Act::End(0, WriterState::Closed), Act::Rest, Act::Rest, Act::Succeed(2)];
    let ended = || Act::End(0, WriterState::Closed);
    let wait = |seconds| Deadline::after(Duration::from_secs(seconds));
    let tape = Scripted::new(0, acts().into_iter().chain([ended()]));
    let mut patient = tape.follow().deadline(wait(3_600));
    assert_eq!(read_on(&mut patient), (Ok(Step::Gone(WriterState::Closed)), vec![1, 2]));
    let mut hasty = Scripted::new(0, acts()).follow().deadline(wait(0));
    assert_eq!(read_on(&mut hasty), (Ok(Step::Gone(WriterState::Closed)), vec![]));
}

#[test]
fn a_follower_stops_at_the_requested_end() {
    let flag = ShutdownFlag::new();
    let mut follow = Scripted::new(9, []).follow().shutdown(&flag).until(7);
    let mut first = 0;
    let step = follow.step(|item| {
        if let Item::Message(message) = item {
            first = message.sequence;
        }
        ControlFlow::Break(())
    });
    assert_eq!((step, first), (Ok(Step::Stopped), 1));
    assert_eq!(read_on(&mut follow), (Ok(Step::Complete), (2..=6).collect()));
    flag.request();
    assert_eq!(read_on(&mut follow), (Ok(Step::Shutdown), vec![]));
}

#[test]
fn items_come_one_by_one_and_end_with_the_writer() {
    let mut follow = Scripted::new(2, [Act::End(1, WriterState::Dead)]).follow();
    for expected in 1..=3_u64 {
        let Some(Item::Message(message)) = follow.next().unwrap() else { panic!("{expected}") };
        assert_eq!((message.sequence, message.payload), (expected, &expected.to_ne_bytes()[..]));
    }
    assert_eq!(follow.next(), Ok(None));
}

#[test]
fn a_follower_of_one_writer_ends_when_another_has_taken_the_stream_over() {
    for acts in [vec![Act::Append(1), Act::Succeed(2)], vec![Act::End(1, WriterState::Dead)]] {
        let is_succeeded = acts.len() == 2;
        let mut follow = Scripted::new(2, acts).follow();
        follow.set_only_writer(0);
        let state = if is_succeeded { WriterState::Alive } else { WriterState::Dead };
        let read = if is_succeeded { 1..=5 } else { 1..=3 };
        assert_eq!(read_on(&mut follow), (Ok(Step::Gone(state)), read.collect()));
    }
    // The successor is then followed as any other writer.
    let acts = [Act::Succeed(0), Act::Append(1), Act::End(1, WriterState::Closed)];
    let mut follow = Scripted::new(1, acts).follow();
    follow.set_only_writer(0);
    assert_eq!(read_on(&mut follow), (Ok(Step::Gone(WriterState::Alive)), vec![1]));
    assert_eq!(read_on(&mut follow), (Ok(Step::Gone(WriterState::Closed)), vec![2, 3]));
}

#[test]
fn a_follower_of_one_writer_that_never_pauses_notices_its_successor() {
    let stream = Scripted::new(0, [Act::Succeed(0)]);
    stream.0.borrow_mut().is_busy = true;
    let mut follow = stream.follow();
    follow.set_only_writer(0);
    let (step, seen) = read_on(&mut follow);
    assert_eq!((step, seen.len()), (Ok(Step::Gone(WriterState::Alive)), READS_PER_CHECK as usize));
}

#[test]
fn a_quiet_stream_is_reported_once_until_the_next_read() {
    let acts = [Act::Rest, Act::Rest, Act::Rest, Act::Append(1), Act::Rest];
    let script = Scripted::new(1, acts.into_iter().chain([Act::End(0, WriterState::Closed)]));
    // Each check of the writer is after 20 ms of sleep.
    let mut follow = script.follow().quiet_after(Duration::from_millis(1));
    let mut steps = Vec::new();
    while !matches!(steps.last(), Some(Step::Gone(_))) {
        steps.push(follow.step(|_| ControlFlow::Continue(())).unwrap());
    }
    let once = [Step::Read, Step::Idle, Step::Quiet];
    assert_eq!(steps, [&once[..], &once, &[Step::Gone(WriterState::Closed)]].concat());

    let mut follow = Scripted::new(1, [Act::End(0, WriterState::Closed)]).follow();
    let steps: Vec<_> =
        (0..3).map(|_| follow.step(|_| ControlFlow::Continue(())).unwrap()).collect();
    assert_eq!(steps, [Step::Read, Step::Idle, Step::Gone(WriterState::Closed)]);
}
