//! What a thread has of each layer: its tracer, the spans that it has entered, and the sites that
//! it knows.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::BuildHasherDefault,
    sync::{Arc, Weak},
};

use nanotape_clock::Stamp;
use nanotape_trace::spans::{Site, Tracer};
use tracing_core::{Metadata, callsite::Identifier};

use super::{open::Numbers, shared::Shared};
use crate::call_site::AddressHasher;

thread_local! {
    static THREADS: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// A layer that this thread has made spans for.
struct Known {
    layer: u64,
    /// `None`: the thread is left out.
    thread: Option<Thread>,
}

/// A traced thread.
pub(super) struct Thread {
    pub(super) tracer: Tracer,
    /// The spans that are entered, the innermost last.
    entered: Vec<Entered>,
    /// By call site; `None`: there were too many names.
    sites: HashMap<Identifier, Option<Site>, BuildHasherDefault<AddressHasher>>,
    /// Dropped after the tracer: the next thread of this name replaces its files.
    _name: InUse,
}

/// The name of a thread while it is traced.
struct InUse {
    name: String,
    layer: Weak<Shared>,
}

struct Entered {
    id: u64,
    number: u64,
    from: Stamp,
}

/// Spans of a thread that can be entered without an allocation.
const DEPTH: usize = 64;

/// Calls `run` with what this thread has of a layer, unless the thread is left out or is ending.
#[inline]
pub(super) fn with_thread(layer: &Arc<Shared>, run: impl FnOnce(&mut Thread)) {
    // A value that makes spans while it is recorded finds the threads borrowed.
    let _ = THREADS.try_with(|threads| {
        let Ok(mut threads) = threads.try_borrow_mut() else { return };
        let known = threads.iter().position(|known| known.layer == layer.number);
        let place = known.unwrap_or_else(|| begin(layer, &mut threads));
        if let Some(thread) = &mut threads[place].thread {
            run(thread);
        }
    });
}

#[cold]
fn begin(layer: &Arc<Shared>, threads: &mut Vec<Known>) -> usize {
    let thread = layer.trace_this_thread().map(|(name, tracer)| Thread {
        tracer,
        entered: Vec::with_capacity(DEPTH),
        sites: HashMap::default(),
        _name: InUse { name, layer: Arc::downgrade(layer) },
    });
    threads.push(Known { layer: layer.number, thread });
    threads.len() - 1
}

impl Thread {
    /// The site of the spans of a call site.
    #[inline]
    pub(super) fn site(
        &mut self,
        layer: &Shared,
        metadata: &'static Metadata<'static>,
    ) -> Option<Site> {
        let identifier = metadata.callsite();
        if let Some(site) = self.sites.get(&identifier) {
            return *site;
        }
        let site = layer.site(metadata.name(), &mut self.tracer).and_then(Site::at);
        self.sites.insert(identifier, site);
        site
    }

    /// The number of the innermost span that is entered.
    #[inline]
    pub(super) fn innermost(&self) -> Option<u64> {
        self.entered.last().map(|entered| entered.number)
    }

    #[inline]
    pub(super) fn enter(&mut self, layer: &Shared, id: u64, numbers: Numbers) {
        let Numbers { site, number, .. } = numbers;
        self.entered.push(Entered { id, number, from: layer.clock.stamp_unfenced() });
        if site.index() >= self.tracer.sites() {
            // The span was made by another thread.
            layer.name_up_to(site.index(), &mut self.tracer);
        }
    }

    #[inline]
    pub(super) fn exit(&mut self, layer: &Shared, id: u64, numbers: Numbers) {
        let Some(place) = self.entered.iter().rposition(|entered| entered.id == id) else { return };
        let to = layer.clock.stamp_unfenced();
        let Entered { from, .. } = self.entered.remove(place);
        let Numbers { site, number, value } = numbers;
        self.tracer.span(site, number, value, from..to.max(from));
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(layer) = self.layer.upgrade() {
            layer.end_thread(&self.name);
        }
    }
}
