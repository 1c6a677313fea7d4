//! What a node keeps beside its map, on the same disk: who it is, the life of its map, and the
//! members of the cluster.
//!
//! Layout: a line with a title, then lines with a key and a value; the members are hexadecimal
//! digits. A text, because an operator reads it when a node does not start.
//! Failure: a new file is complete on the disk before it has the name. A file of another map, or
//! damaged, is refused.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::membership::{MemberStore, Membership};

/// The first line.
const TITLE: &str = "nanotape node 1";

/// Who a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeIdentity {
    /// The cluster.
    pub cluster: u64,
    /// The number of the node.
    pub node: u16,
    /// The life of its map.
    pub life: u64,
    /// When its map was created: another map has another life.
    pub map_created_ns: u64,
    /// The boot of the machine in which the map was used last.
    pub boot: u64,
}

/// Why the file of a node cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeFileError {
    /// It cannot be read or written.
    #[error(
        "cannot {operation} {}: {source}{}",
        path.display(),
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; make room there, and start the node again"
            }
            _ => "",
        }
    )]
    Io {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It belongs to another user than the map.
    #[error("{}: of another user than the map: remove it", path.display())]
    OtherUser {
        /// The file.
        path: PathBuf,
    },
    /// A line that no node writes.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
}

/// The file.
#[derive(Debug)]
pub struct NodeFile {
    path: PathBuf,
    mode: u32,
    identity: NodeIdentity,
    members: Option<Vec<u8>>,
}

/// The file of the node beside a map.
pub fn node_path(map: &Path) -> PathBuf {
    nanotape_shm::beside(map, ".node")
}

/// Whether a file beside a map is of the user of the map: others can put files beside one in
/// /dev/shm.
pub(crate) fn is_of_owner(map: &Path, beside: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(beside)?;
    Ok(found.is_file() && found.uid() == fs::symlink_metadata(map)?.uid())
}

/// Puts a new file with this text in place, when it is on the disk.
pub(crate) fn put(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let beside = nanotape_shm::beside(path, ".new");
    // What is there can be of a killed process, or a link that somebody else has put there.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
}

impl NodeFile {
    /// Reads the file beside a map; `None` if there is none.
    pub fn of_map(map: &Path, mode: u32) -> Result<Option<Self>, NodeFileError> {
        let path = node_path(map);
        match is_of_owner(map, &path) {
            Ok(true) => Self::read(&path, mode),
            Ok(false) => Err(NodeFileError::OtherUser { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(NodeFileError::Io { operation: "read", path, source }),
        }
    }

    /// Reads the file at a path; `None` if there is none.
    pub fn read(path: &Path, mode: u32) -> Result<Option<Self>, NodeFileError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let (operation, path) = ("read", path.to_owned());
                return Err(NodeFileError::Io { operation, path, source });
            }
        };
        let wrong = |line: usize, what: String| {
            let path = path.to_owned();
            NodeFileError::Line { path, line, what }
        };
        let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
        if lines.next().map(|(_, line)| line) != Some(TITLE) {
            return Err(wrong(1, format!("expected '{TITLE}'")));
        }
        let mut number = |key: &str| {
            let (line, text) = lines.next().unwrap_or((0, ""));
            let value = text.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
            let digits = value.filter(|digits| digits.len() == 16);
            let parsed = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            parsed.ok_or_else(|| wrong(line, format!("expected '{key}' and 16 hexadecimal digits")))
        };
        let cluster = number("cluster")?;
        let node = number("node")?;
        let life = number("life")?;
        let map_created_ns = number("map_created_ns")?;
        let boot = number("boot")?;
        let node = u16::try_from(node).ok().filter(|node| *node != 0);
        let node = node.ok_or_else(|| wrong(3, "expected a node from 1 to 65535".to_owned()))?;
        let members = match lines.next() {
            None => None,
            Some((line, text)) => {
                let digits = text.strip_prefix("members ").unwrap_or("");
                Some(bytes_of(digits).ok_or_else(|| {
                    wrong(line, "expected 'members' and hexadecimal digits".to_owned())
                })?)
            }
        };
        let identity = NodeIdentity { cluster, node, life, map_created_ns, boot };
        Ok(Some(Self { path: path.to_owned(), mode, identity, members }))
    }

    /// A new file for a node without members.
    pub fn create(path: &Path, mode: u32, identity: NodeIdentity) -> Result<Self, NodeFileError> {
        let file = Self { path: path.to_owned(), mode, identity, members: None };
        file.save().map_err(|source| file.failed("write", source))?;
        Ok(file)
    }

    /// Who the node is.
    pub fn identity(&self) -> NodeIdentity {
        self.identity
    }

    /// The members of the cluster, if the node has any yet, and they can be read.
    pub fn membership(&self) -> Option<Membership> {
        Membership::decode(self.members.as_deref()?)
    }

    /// The map is used in another boot of the machine.
    pub fn set_boot(&mut self, boot: u64) -> Result<(), NodeFileError> {
        self.identity.boot = boot;
        self.save().map_err(|source| self.failed("write", source))
    }

    fn failed(&self, operation: &'static str, source: io::Error) -> NodeFileError {
        NodeFileError::Io { operation, path: self.path.clone(), source }
    }

    fn text(&self) -> String {
        let NodeIdentity { cluster, node, life, map_created_ns, boot } = self.identity;
        let mut text = format!("{TITLE}\n");
        for (key, value) in [
            ("cluster", cluster),
            ("node", node.into()),
            ("life", life),
            ("map_created_ns", map_created_ns),
            ("boot", boot),
        ] {
            text.push_str(&format!("{key} {value:016x}\n"));
        }
        if let Some(members) = &self.members {
            let digits: String = members.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("members {digits}\n"));
        }
        text
    }

    fn save(&self) -> io::Result<()> {
        put(&self.path, self.mode, &self.text())
    }
}

impl MemberStore for NodeFile {
    fn load(&self) -> Option<Vec<u8>> {
        self.members.clone()
    }

    fn store(&mut self, members: &[u8]) -> io::Result<()> {
        let before = self.members.replace(members.to_vec());
        let saved = self.save();
        if saved.is_err() {
            self.members = before;
        }
        // The error of the node has no path.
        let named = |source: io::Error| {
            io::Error::new(source.kind(), self.failed("write", source).to_string())
        };
        saved.map_err(named)
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    const IDENTITY: NodeIdentity =
        NodeIdentity { cluster: 5, node: 3, life: u64::MAX, map_created_ns: 7, boot: 9 };

    #[test]
    fn a_node_reads_what_it_wrote() {
        let place = Scratch::new("node-file");
        assert!(NodeFile::read(place.path(), 0o600).unwrap().is_none());
        let mut file = NodeFile::create(place.path(), 0o600, IDENTITY).unwrap();
        assert_eq!(file.load(), None);
        file.store(&[0, 255, 16]).unwrap();
        file.set_boot(10).unwrap();
        let read = NodeFile::read(place.path(), 0o600).unwrap().unwrap();
        assert_eq!(read.identity(), NodeIdentity { boot: 10, ..IDENTITY });
        assert_eq!(read.load(), Some(vec![0, 255, 16]));
    }

    #[test]
    fn an_error_names_the_file_and_what_helps_against_a_full_disk() {
        let place = Scratch::folder("node-file-full");
        let path = place.path().join("map.node");
        let mut file = NodeFile::create(&path, 0o600, IDENTITY).unwrap();
        let full = file.failed("write", io::ErrorKind::StorageFull.into()).to_string();
        assert!(full.contains("map.node: "), "{full}");
        assert!(full.ends_with("; make room there, and start the node again"), "{full}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = file.store(&[1]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", path.display())), "{error}");
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_line() {
        let place = Scratch::new("node-file-damaged");
        let file = NodeFile::create(place.path(), 0o600, IDENTITY).unwrap();
        let good = file.text();
        for (line, from, to) in [
            (1, "node 1", "node 2"),
            (2, "cluster 0", "cluster x"),
            (3, "node 0000000000000003", "node 0000000000000000"),
            (4, "life ffff", "life fff"),
            (6, "boot ", "root "),
        ] {
            fs::write(place.path(), good.replacen(from, to, 1)).unwrap();
            let error = NodeFile::read(place.path(), 0o600).unwrap_err();
            assert!(error.to_string().contains(&format!(", line {line}: expected ")), "{error}");
        }
        fs::write(place.path(), format!("{good}members 0g\n")).unwrap();
        let error = NodeFile::read(place.path(), 0o600).unwrap_err();
        assert!(error.to_string().contains("line 7: expected 'members'"), "{error}");
    }

    #[test]
    fn a_file_of_another_user_beside_a_map_is_refused() {
        let place = Scratch::folder("node-file-user");
        let map = place.path().join("map");
        fs::write(&map, "").unwrap();
        assert!(NodeFile::of_map(&map, 0o600).unwrap().is_none());
        NodeFile::create(&node_path(&map), 0o600, IDENTITY).unwrap();
        assert!(NodeFile::of_map(&map, 0o600).unwrap().is_some());
        if std::os::unix::fs::chown(node_path(&map), Some(65_534), None).is_err() {
            nanotape_harness::skipped("files can be given to another user by root only");
            return;
        }
        let error = NodeFile::of_map(&map, 0o600).unwrap_err();
        assert!(error.to_string().ends_with("of another user than the map: remove it"), "{error}");
        // A link to a file of the right user is no such file.
        fs::remove_file(node_path(&map)).unwrap();
        std::os::unix::fs::symlink(&map, node_path(&map)).unwrap();
        assert!(matches!(NodeFile::of_map(&map, 0o600), Err(NodeFileError::OtherUser { .. })));
        // What another process has put at the place of the next file is not written through.
        let beside = nanotape_shm::beside(&node_path(&map), ".new");
        std::os::unix::fs::symlink(&map, &beside).unwrap();
        put(&node_path(&map), 0o600, "text").unwrap();
        assert_eq!(fs::read_to_string(&map).unwrap(), "");
    }
}
