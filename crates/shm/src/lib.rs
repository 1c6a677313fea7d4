//! Mapped memory: windows over files now, shared regions later.
