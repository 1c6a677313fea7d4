//! What a disk of a test leaves to the disk that it wraps.
//!
//! The macro names types of the crate that calls it, so that this crate depends on none of them.

/// In `impl Disk` of a test: the operations that no test changes go to this field.
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
