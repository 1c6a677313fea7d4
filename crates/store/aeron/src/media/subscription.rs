//! A subscription of Aeron as an inlet.
//!
//! Cost: one copy of a batch, so that nothing of this process runs inside of a call of Aeron.

use std::ffi::CString;

use rusteron_client::{
    AeronFragmentAssembler, AeronFragmentHandlerCallback, AeronHeader, AeronSubscription, Handler,
    Handlers,
};

use super::{AeronError, MediaClient, PATIENCE};
use crate::{address::AeronAddress, source::Inlet};

/// Fragments of one batch in one poll.
const FRAGMENTS_PER_POLL: u32 = 64;

/// A subscription, and its client.
pub struct Subscription {
    subscription: AeronSubscription,
    assembler: Handler<AeronFragmentAssembler>,
    arrived: Handler<Arrived>,
    taken: u64,
    client: MediaClient,
}

/// The last message that was assembled.
#[derive(Debug, Default)]
struct Arrived {
    batch: Vec<u8>,
    count: u64,
}

impl AeronFragmentHandlerCallback for Arrived {
    fn handle_aeron_fragment_handler(&mut self, batch: &[u8], _header: AeronHeader) {
        self.batch.clear();
        self.batch.extend_from_slice(batch);
        self.count += 1;
    }
}

impl Subscription {
    /// Adds a subscription. The driver refuses a channel that it does not understand.
    pub fn add(client: MediaClient, address: &AeronAddress) -> Result<Self, AeronError> {
        let failed = |error| AeronError::of_call("add the subscription", &error);
        let channel = CString::new(address.channel()).unwrap_or_default();
        let adding = client.aeron.async_add_subscription(
            &channel,
            address.stream(),
            Handlers::NONE,
            Handlers::NONE,
        );
        let subscription = adding.map_err(failed)?.poll_blocking(PATIENCE).map_err(failed)?;
        let (assembler, arrived) =
            Handler::with_fragment_assembler(Arrived::default()).map_err(failed)?;
        Ok(Self { subscription, assembler, arrived, taken: 0, client })
    }
}

impl Inlet for Subscription {
    type Error = AeronError;

    #[inline]
    fn poll(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool, AeronError> {
        for _ in 0..FRAGMENTS_PER_POLL {
            let polled = self.subscription.poll(Some(&self.assembler), 1);
            let fragments = match polled {
                Ok(fragments) => fragments,
                Err(error) => {
                    self.client.check()?;
                    return Err(AeronError::of_call("poll the subscription", &error));
                }
            };
            if self.arrived.count != self.taken {
                self.taken = self.arrived.count;
                take(&self.arrived.batch);
                return Ok(true);
            }
            if fragments == 0 {
                break;
            }
        }
        Ok(false)
    }

    fn is_connected(&self) -> bool {
        self.subscription.is_connected()
    }

    fn check(&mut self) -> Result<(), AeronError> {
        self.client.check()
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("client", &self.client).finish_non_exhaustive()
    }
}
