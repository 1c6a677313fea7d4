//! Lanes of tasks on a pool of threads: the tasks of a lane run one after the other and in order,
//! those of several lanes at the same time.
//!
//! A column is a lane, since each of its pages follows the one before. So all processors are in use
//! whatever the columns cost, and no column waits for another.
//! Bounds: the caller limits how many tasks wait; see [`Room`].
//! Failure: the panic of a task goes on in [`Lanes::finish`], after the other tasks.

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

type Task = Box<dyn FnOnce() + Send>;

/// A pool of threads with lanes.
pub struct Lanes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A lane has tasks, or the pool ends.
    work: Condvar,
}

#[derive(Default)]
struct State {
    lanes: Vec<Lane>,
    /// Lanes with tasks that no thread runs.
    ready: VecDeque<usize>,
    is_over: bool,
    /// The first panic of a task.
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Default)]
struct Lane {
    tasks: VecDeque<Task>,
    /// Whether a thread runs its tasks, or it is ready.
    is_taken: bool,
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Lanes {
    /// A pool of this many threads.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let threads = (0..threads.max(1)).map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.work())
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    /// A new lane.
    pub(crate) fn lane(&self) -> LaneHandle {
        let mut state = self.shared.lock();
        state.lanes.push(Lane::default());
        LaneHandle { shared: self.shared.clone(), number: state.lanes.len() - 1 }
    }

    /// Waits for all tasks, and ends the threads.
    pub fn finish(mut self) {
        self.end();
        let panic = self.shared.lock().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn end(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // Panics of tasks are caught.
            let _ = thread.join();
        }
    }
}

/// The tasks of a pool that is dropped run to their end: each is short, and owns what it needs.
impl Drop for Lanes {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Tasks run without the lock: a panic leaves the state as it is.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks until the pool ends and none is left.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            let Some(number) = state.ready.pop_front() else {
                if state.is_over {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            while let Some(task) = state.lanes[number].tasks.pop_front() {
                drop(state);
                // Each task owns what it uses.
                let ended = catch_unwind(AssertUnwindSafe(task));
                state = self.lock();
                if let Err(panic) = ended {
                    state.panic.get_or_insert(panic);
                }
            }
            state.lanes[number].is_taken = false;
        }
    }
}

/// A lane.
#[derive(Clone)]
pub(crate) struct LaneHandle {
    shared: Arc<Shared>,
    number: usize,
}

impl fmt::Debug for LaneHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneHandle").field("number", &self.number).finish_non_exhaustive()
    }
}

impl LaneHandle {
    /// Appends a task.
    pub(crate) fn push(&self, task: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        let lane = &mut state.lanes[self.number];
        lane.tasks.push_back(Box::new(task));
        if !std::mem::replace(&mut lane.is_taken, true) {
            state.ready.push_back(self.number);
            drop(state);
            self.shared.work.notify_one();
        }
    }
}

/// Room for a number of things that wait, shared by the one that makes them and those that take
/// them.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<(Mutex<usize>, Condvar)>);

/// A place in a room, which is free when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Room);

impl Room {
    /// Room for this many.
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new((Mutex::new(places.max(1)), Condvar::new())))
    }

    /// Waits for a place.
    pub(crate) fn enter(&self) -> Place {
        let (free, changed) = &*self.0;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = changed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Place(self.clone())
    }

    /// Waits until all places of this many are free.
    pub(crate) fn wait_until_empty(&self, places: usize) {
        let entered: Vec<Place> = (0..places).map(|_| self.enter()).collect();
        drop(entered);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_tasks_of_a_lane_run_in_order_on_any_number_of_threads() {
        for threads in 1..5 {
            let lanes = Lanes::new(threads);
            let (done, order) = mpsc::channel();
            let all: Vec<_> = (0..7).map(|_| lanes.lane()).collect();
            for number in 0..200 {
                for (lane, handle) in all.iter().enumerate() {
                    let done = done.clone();
                    handle.push(move || done.send((lane, number)).unwrap());
                }
            }
            lanes.finish();
            drop(done);
            let mut next = [0; 7];
            for (lane, number) in order {
                assert_eq!(number, next[lane]);
                next[lane] += 1;
            }
            assert_eq!(next, [200; 7]);
        }
    }

    #[test]
    fn a_panic_of_a_task_goes_on_in_the_owner_and_a_place_is_free_after_it() {
        let (lanes, room) = (Lanes::new(2), Room::new(1));
        let place = room.enter();
        lanes.lane().push(move || {
            let _place = place;
            panic!("for a test");
        });
        room.wait_until_empty(1);
        let finished = catch_unwind(AssertUnwindSafe(|| lanes.finish()));
        assert!(finished.is_err());
    }
}
