//! Forwards the operations of a test's disk to the disk that it wraps.
//!
//! The macro refers to types of the calling crate, so that this crate does not depend on them.

/// In `impl Disk` of a test: forwards the operations that no test changes to this field.
#[macro_export]
macro_rules! forward_to {
    ($disk:ident) => {
        fn path(&self, name: &str) -> std::path::PathBuf {
            self.$disk.path(name)
        }

        fn make(&self) -> std::io::Result<()> {
            self.$disk.make()
        }

        fn lock(&self) -> Result<Self::Lock, nanotape_shm::RegionError> {
            self.$disk.lock()
        }

        fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
            self.$disk.write(name, bytes)
        }

        fn remove(&self, name: &str) -> std::io::Result<()> {
            self.$disk.remove(name)
        }

        fn shrink(&self, name: &str, bytes: u64) -> std::io::Result<()> {
            self.$disk.shrink(name, bytes)
        }

        fn store(&self, name: &str, word: usize, value: u64) -> std::io::Result<()> {
            self.$disk.store(name, word, value)
        }

        fn sync_names(&self) -> std::io::Result<()> {
            self.$disk.sync_names()
        }

        fn free_bytes(&self) -> u64 {
            self.$disk.free_bytes()
        }

        fn boot(&self) -> u64 {
            self.$disk.boot()
        }
    };
}
