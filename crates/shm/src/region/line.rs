//! A word that two processes both write: no protocol here is built so, and it is the limit of all
//! of them. A benchmark bounces it between two processors to learn what moving one line costs.

use std::path::Path;

use super::{
    OwnedRegion, RegionSpec,
    create::RegionOptions,
    file::RegionFile,
    mapping::{Access, Mapping},
    memory::{MappedFile, Memory},
    refusal::{Refusal, RegionError},
};
use crate::word::Word;

/// What the header of such a region says. No other kind can be opened for writing a second time.
const KIND: [u8; 8] = *b"BOUNCE  ";
const LAYOUT: u64 = u64::from_be_bytes(*b"bounce 1");

/// Two cache lines, which processors fetch together, so that nothing else is beside the word.
const WORDS: usize = 16;

/// A word alone on its cache line that two processes write: for measurements only.
#[derive(Debug)]
pub struct BouncedWord(Side);

#[derive(Debug)]
enum Side {
    Creator(OwnedRegion),
    Other(Memory),
}

impl BouncedWord {
    /// Makes one at `path`; it is zero.
    pub fn create(path: &Path) -> Result<Self, RegionError> {
        let spec = RegionSpec { kind: KIND, layout: LAYOUT, parameters: [0; 4], words: WORDS };
        let (region, _) = OwnedRegion::create(path, spec, &RegionOptions::default(), |_| ())?;
        Ok(Self(Side::Creator(region)))
    }

    /// Joins the one at `path` while its creator has it.
    pub fn join(path: &Path) -> Result<Self, RegionError> {
        let file = RegionFile::open(path, Access::Write)?;
        let header = file.header()?.map_err(|refusal| file.refuse(refusal))?;
        let spec = header.spec;
        if spec.kind != KIND || spec.words != WORDS {
            return Err(file.refuse(Refusal::Kind { found: spec.kind, expected: KIND }));
        }
        let region_bytes = spec.region_bytes().unwrap_or(u64::MAX);
        let options = RegionOptions::default();
        let mapped = Mapping::new(file.file(), region_bytes, Access::Write, &options);
        let (mapping, _) = mapped.map_err(|refusal| file.refuse(refusal))?;
        let file = MappedFile { mapping, file, region_bytes };
        Ok(Self(Side::Other(Memory::of_file(file, spec.words))))
    }

    /// The word.
    #[inline(always)]
    pub fn word(&self) -> &Word {
        match &self.0 {
            Side::Creator(region) => &region.words()[0],
            Side::Other(memory) => &memory.words()[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn both_sides_write_and_nothing_else_can_be_written_twice() {
        let scratch = Scratch::new("bounced");
        let path = scratch.path();
        let creator = BouncedWord::create(path).unwrap();
        let other = BouncedWord::join(path).unwrap();
        creator.word().store(1);
        assert_eq!(other.word().load(), 1);
        other.word().store(2);
        assert_eq!(creator.word().load(), 2);
        drop(creator);
        super::super::remove(path).unwrap();

        let spec = RegionSpec { kind: *b"OTHER   ", layout: 1, parameters: [0; 4], words: WORDS };
        let region = OwnedRegion::create(path, spec, &RegionOptions::default(), |_| ()).unwrap();
        assert!(matches!(BouncedWord::join(path).unwrap_err().refusal(), Refusal::Kind { .. }));
        drop(region);
        super::super::remove(path).unwrap();
    }
}
