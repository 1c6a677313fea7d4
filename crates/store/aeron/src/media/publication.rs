//! A publication of Aeron as an outlet.

use std::ffi::CString;

use rusteron_client::{AeronExclusivePublication, AeronOfferError};

use super::{AeronError, MediaClient, PATIENCE};
use crate::{
    address::AeronAddress,
    sink::{Offered, Outlet},
};

/// A publication, and its client.
pub struct Publication {
    publication: AeronExclusivePublication,
    usual_bytes: usize,
    most_bytes: usize,
    client: MediaClient,
}

impl Publication {
    /// Adds a publication. The driver refuses a channel that it does not understand.
    pub fn add(client: MediaClient, address: &AeronAddress) -> Result<Self, AeronError> {
        let failed = |error| AeronError::of_call("add the publication", &error);
        let channel = CString::new(address.channel()).unwrap_or_default();
        let adding = client.aeron.async_add_exclusive_publication(&channel, address.stream());
        let publication = adding.map_err(failed)?.poll_blocking(PATIENCE).map_err(failed)?;
        let constants = publication.get_constants().map_err(failed)?;
        let usual_bytes = constants.max_payload_length();
        let most_bytes = constants.max_message_length();
        Ok(Self { publication, usual_bytes, most_bytes, client })
    }

    /// The client.
    pub fn client(&self) -> &MediaClient {
        &self.client
    }
}

impl Outlet for Publication {
    type Error = AeronError;

    #[inline]
    fn offer(&mut self, batch: &[u8]) -> Result<Offered, AeronError> {
        match self.publication.offer(batch) {
            Ok(_) => Ok(Offered::Sent),
            Err(AeronOfferError::BackPressured | AeronOfferError::AdminAction) => {
                Ok(Offered::HeldBack)
            }
            Err(AeronOfferError::NotConnected) => {
                self.client.check()?;
                Ok(Offered::NoSubscriber)
            }
            Err(AeronOfferError::Closed) => Err(self.client.lost()),
            Err(error) => {
                self.client.check()?;
                let reason = error.to_string();
                Err(AeronError::Call { operation: "send a batch", reason })
            }
        }
    }

    fn usual_bytes(&self) -> usize {
        self.usual_bytes
    }

    fn most_bytes(&self) -> usize {
        self.most_bytes
    }
}

impl std::fmt::Debug for Publication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publication").field("client", &self.client).finish_non_exhaustive()
    }
}
