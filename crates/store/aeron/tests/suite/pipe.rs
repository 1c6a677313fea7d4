//! An outlet and an inlet with a queue between them, which holds batches back as a test wants.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    convert::Infallible,
    rc::Rc,
};

use nanotape_aeron::{Inlet, Offered, Outlet};

/// The lengths of the batches.
pub(crate) const USUAL: usize = 256;
pub(crate) const MOST: usize = 1_024;

/// Both ends share it.
pub(crate) struct Pipe {
    pub(crate) batches: RefCell<VecDeque<Vec<u8>>>,
    /// How many further batches it takes.
    pub(crate) room: Cell<usize>,
    pub(crate) has_subscriber: Cell<bool>,
    /// Called for each batch that is held back.
    pub(crate) held_back: RefCell<Box<dyn FnMut()>>,
}

#[derive(Clone)]
pub(crate) struct End(pub(crate) Rc<Pipe>);

impl End {
    /// A pipe that takes this number of batches.
    pub(crate) fn with_room(room: usize) -> Self {
        Self(Rc::new(Pipe {
            batches: RefCell::default(),
            room: Cell::new(room),
            has_subscriber: Cell::new(true),
            held_back: RefCell::new(Box::new(|| ())),
        }))
    }

    pub(crate) fn push(&self, batch: &[u8]) {
        self.0.batches.borrow_mut().push_back(batch.to_vec());
    }
}

impl Outlet for End {
    type Error = Infallible;

    fn offer(&mut self, batch: &[u8]) -> Result<Offered, Infallible> {
        if !self.0.has_subscriber.get() {
            return Ok(Offered::NoSubscriber);
        }
        let Some(room) = self.0.room.get().checked_sub(1) else {
            (self.0.held_back.borrow_mut())();
            return Ok(Offered::HeldBack);
        };
        self.0.room.set(room);
        self.push(batch);
        Ok(Offered::Sent)
    }

    fn usual_bytes(&self) -> usize {
        USUAL
    }

    fn most_bytes(&self) -> usize {
        MOST
    }
}

impl Inlet for End {
    type Error = Infallible;

    fn poll(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool, Infallible> {
        let batch = self.0.batches.borrow_mut().pop_front();
        if let Some(batch) = &batch {
            take(batch);
        }
        Ok(batch.is_some())
    }

    fn is_connected(&self) -> bool {
        self.0.has_subscriber.get()
    }

    fn check(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
