//! Damage to compressed files, and the bytes that the programs `gzip` and `zstd` can still extract.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
};

use nanotape_harness::{Bounded as _, Random};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wound {
    /// One bit is flipped.
    Bit,
    /// 512 bytes become zeros.
    Zeros,
    /// The end is missing.
    Cut,
}

impl Packing {
    fn program(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    pub(crate) fn is_there(self) -> bool {
        let version =
            Command::new(self.program()).arg("--version").stdout(Stdio::null()).bounded_status();
        version.is_ok_and(|status| status.success())
    }

    /// The file as compressed by the program.
    pub(crate) fn pack(self, plain: &Path) -> Vec<u8> {
        self.run(&["-c"], plain)
    }

    /// The bytes that the program extracts from a file, damaged or not.
    pub(crate) fn unpack(self, packed: &Path) -> Vec<u8> {
        self.run(&["-dc"], packed)
    }

    fn run(self, arguments: &[&str], input: &Path) -> Vec<u8> {
        let input = File::open(input).unwrap();
        let mut command = Command::new(self.program());
        command.args(arguments);
        command.bounded_output_fed(input.into()).unwrap().stdout
    }
}

impl Wound {
    pub(crate) fn inflict(self, packed: &[u8], random: &mut Random) -> Vec<u8> {
        let mut bytes = packed.to_vec();
        // Not in the first bytes, from which the format is detected.
        let at = random.between(24, bytes.len() - 1);
        match self {
            Self::Bit => bytes[at] ^= 1 << random.index(8),
            Self::Zeros => {
                let end = (at + 512).min(bytes.len());
                bytes[at..end].fill(0);
            }
            Self::Cut => bytes.truncate(at),
        }
        bytes
    }
}
