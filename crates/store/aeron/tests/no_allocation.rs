//! A message allocates nothing on its way into a batch and out of one.
//!
//! The harness counts: see `CountingAllocator`.

use std::{cell::RefCell, convert::Infallible, hint::black_box, ops::ControlFlow, rc::Rc};

use nanotape_aeron::{AeronSink, AeronSource, Inlet, Offered, Outlet};
use nanotape_clock::UtcNanos;
use nanotape_harness::{CountingAllocator, allocations, check_the_counter};
use nanotape_tape::{Item, Progress, Sink as _, Source as _};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MESSAGES: u64 = 200_000;

/// Room for one batch.
struct Slot {
    batch: Rc<RefCell<(Vec<u8>, bool)>>,
}

impl Outlet for Slot {
    type Error = Infallible;

    fn offer(&mut self, batch: &[u8]) -> Result<Offered, Infallible> {
        let (bytes, is_full) = &mut *self.batch.borrow_mut();
        if *is_full {
            return Ok(Offered::HeldBack);
        }
        bytes.clear();
        bytes.extend_from_slice(batch);
        *is_full = true;
        Ok(Offered::Sent)
    }

    fn usual_bytes(&self) -> usize {
        1_376
    }

    fn most_bytes(&self) -> usize {
        1 << 20
    }
}

impl Inlet for Slot {
    type Error = Infallible;

    fn poll(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool, Infallible> {
        let (bytes, is_full) = &mut *self.batch.borrow_mut();
        if std::mem::take(is_full) {
            take(bytes);
            return Ok(true);
        }
        Ok(false)
    }

    fn is_connected(&self) -> bool {
        true
    }

    fn check(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn a_message_allocates_nothing_on_either_side() {
    check_the_counter();
    let batch = Rc::default();
    let mut source = AeronSource::new(Slot { batch: Rc::clone(&batch) });
    let mut sink = AeronSink::new(Slot { batch }, 42, 1);
    let (mut before, mut seen) = (0, 0);
    for number in 1..=MESSAGES {
        // The buffers have grown by then.
        if number == 1_000 {
            before = allocations();
        }
        let length = (number % 120) as usize;
        while sink.append(7, UtcNanos::of_unix_ns(number), &[9; 120][..length]).is_err() {
            read(&mut source, &mut seen);
        }
    }
    while sink.unsent() > 0 {
        let _ = sink.flush();
        read(&mut source, &mut seen);
    }
    assert_eq!((seen, allocations() - before), (MESSAGES, 0));
}

fn read(source: &mut AeronSource<Slot>, seen: &mut u64) {
    let polled = source.poll(|item| {
        let Item::Message(message) = item else { panic!("{item:?}") };
        *seen += 1;
        assert_eq!(message.sequence, *seen);
        black_box(message.payload);
        ControlFlow::Continue(())
    });
    assert_ne!(polled, Ok(Progress::Stopped));
}
