//! Maps as other commands read and write them, also those of a node of a cluster: their values have
//! a stamp, and removed keys stay for a while. Neither is shown, and both are kept right.

use std::{ops::ControlFlow, path::Path};

use nanotape_clock::UtcNanos;
use nanotape_latest::{Insertion, LatestError, LatestReader, LatestSpec, LatestWriter};
use nanotape_peers::{NodeFile, NodeIdentity, PeerReader, PeerWriter, STAMP_WORDS};

use super::of_latest;

/// The node that a map belongs to, if it is one of a cluster.
pub(super) fn node_of(path: &Path, reader: &LatestReader) -> anyhow::Result<Option<NodeIdentity>> {
    let file = NodeFile::of_map(path, 0o600)?;
    let identity = file.map(|file| file.identity());
    // A file that is left of an earlier map is of no node.
    Ok(identity.filter(|identity| identity.map_created_ns == reader.region().created_ns()))
}

/// Refuses what would change a map behind the other nodes.
pub(super) fn refuse_node(path: &Path, reader: &LatestReader) -> anyhow::Result<()> {
    match node_of(path, reader)? {
        Some(identity) => Err(of_node(path, identity)),
        None => Ok(()),
    }
}

/// The error of what would change a map behind the other nodes.
pub(super) fn of_node(path: &Path, NodeIdentity { node, .. }: NodeIdentity) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: the map of node {node} of a cluster, which would get another life: drop the node on another \
         one (nanotape latest nodes), remove its map and join again",
        path.display()
    )
}

/// A map to read.
pub(super) struct MapReader {
    reader: LatestReader,
    is_shared: bool,
}

impl MapReader {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let reader = super::open(path)?;
        let is_shared = node_of(path, &reader)?.is_some();
        Ok(Self { reader, is_shared })
    }

    /// The whole map.
    pub(super) fn latest(&self) -> &LatestReader {
        &self.reader
    }

    /// The sizes, without the words of stamps.
    pub(super) fn spec(&self) -> LatestSpec {
        user_spec(self.reader.spec(), self.is_shared)
    }

    /// Space for a value.
    pub(super) fn value(&self) -> Vec<u64> {
        vec![0; self.reader.spec().value_words]
    }

    /// The part of a value that its user has written; `None` if it was removed.
    fn user<'v>(&self, value: &'v [u64]) -> Option<&'v [u64]> {
        match self.is_shared {
            false => Some(value),
            true if PeerReader::is_removed(value) => None,
            true => Some(&value[..value.len() - STAMP_WORDS]),
        }
    }

    /// The version and the value of a key.
    pub(super) fn get<'v>(
        &self,
        key: &[u64],
        value: &'v mut [u64],
    ) -> Result<Option<(u32, &'v [u64])>, LatestError> {
        let version = self.reader.get(key, value)?;
        Ok(version.and_then(|version| Some((version, self.user(value)?))))
    }

    /// Every key that is there, until `each` breaks off.
    pub(super) fn for_each_while(
        &self,
        mut each: impl FnMut(&[u64], &[u64], u32) -> ControlFlow<()>,
    ) -> Result<(), LatestError> {
        self.reader.for_each_while(|key, value, version| match self.user(value) {
            Some(value) => each(key, value, version),
            None => ControlFlow::Continue(()),
        })
    }
}

/// A map to write.
pub(super) enum MapWriter {
    Own(LatestWriter),
    Node(PeerWriter),
}

impl MapWriter {
    pub(super) fn of(path: &Path, writer: LatestWriter) -> anyhow::Result<Self> {
        Ok(match node_of(path, &writer.reader())? {
            None => Self::Own(writer),
            Some(NodeIdentity { node, .. }) => {
                let writer = PeerWriter::new(writer, node);
                Self::Node(writer.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?)
            }
        })
    }

    /// The sizes, without the words of stamps.
    pub(super) fn spec(&self) -> LatestSpec {
        match self {
            Self::Own(writer) => writer.spec(),
            Self::Node(writer) => user_spec(writer.reader().latest().spec(), true),
        }
    }

    pub(super) fn insert(&mut self, key: &[u64], value: &[u64]) -> Result<Insertion, LatestError> {
        match self {
            Self::Own(writer) => writer.insert(key, value),
            Self::Node(writer) => {
                let mut there = vec![0; value.len() + STAMP_WORDS];
                let was_there = writer.reader().get(key, &mut there)?;
                writer.insert(key, value, UtcNanos::now().unix_ns())?;
                Ok(if was_there { Insertion::Replaced } else { Insertion::New })
            }
        }
    }

    /// The error of an insertion. In the map of a node, removed keys take room until all nodes have
    /// removed them.
    pub(super) fn of_insert(&self, path: &Path, error: LatestError) -> anyhow::Error {
        match (self, error) {
            (Self::Node(_), error @ LatestError::Full { .. }) => {
                let name = path.display();
                anyhow::anyhow!(
                    "{name}: {error}, with removed ones that a node lacks; stop nanotape latest share, \
                     make the map larger (nanotape latest upgrade {name} --entries N), and start it \
                     again"
                )
            }
            (_, error) => of_latest(path, error),
        }
    }

    pub(super) fn remove(&mut self, key: &[u64]) -> Result<bool, LatestError> {
        match self {
            Self::Own(writer) => writer.remove(key),
            Self::Node(writer) => writer.remove(key, UtcNanos::now().unix_ns()),
        }
    }

    /// Keys that are there.
    pub(super) fn len(&self, path: &Path) -> anyhow::Result<u64> {
        match self {
            Self::Own(writer) => Ok(writer.reader().len()),
            Self::Node(writer) => writer.reader().len().map_err(|error| of_latest(path, error)),
        }
    }
}

fn user_spec(spec: LatestSpec, is_shared: bool) -> LatestSpec {
    let stamp = if is_shared { STAMP_WORDS } else { 0 };
    LatestSpec { value_words: spec.value_words.saturating_sub(stamp), ..spec }
}
