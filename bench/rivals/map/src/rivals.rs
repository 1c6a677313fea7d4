//! The compiled maps: a file for each, and a row here for the report.

#[cfg(feature = "dashmap")]
mod dashmap;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "nanotape")]
mod nanotape;
#[cfg(feature = "papaya")]
mod papaya;
#[cfg(feature = "scc")]
mod scc;
#[cfg(feature = "subetha-cxc")]
mod subetha;

use rivals_measure::Failure;
use serde_json::Value;

use crate::options::Options;

/// Runs one mode. Returns `None` in another process of the run.
type Program = fn(&Options) -> Result<Option<Value>, Failure>;

/// A map as the report shows it.
#[derive(Debug)]
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    /// The crate in the lock file; `None`: part of this checkout.
    package: Option<&'static str>,
    /// Who shares it: threads or processes.
    pub(crate) scope: &'static str,
    pub(crate) run: Program,
}

pub(crate) const ALL: &[Rival] = &[
    #[cfg(feature = "nanotape")]
    Rival { name: "nanotape", package: None, scope: "processes", run: nanotape::run },
    #[cfg(feature = "dashmap")]
    Rival { name: "dashmap", package: Some("dashmap"), scope: "threads", run: dashmap::run },
    #[cfg(feature = "scc")]
    Rival { name: "scc", package: Some("scc"), scope: "threads", run: scc::run },
    #[cfg(feature = "papaya")]
    Rival { name: "papaya", package: Some("papaya"), scope: "threads", run: papaya::run },
    #[cfg(feature = "lmdb")]
    Rival { name: "lmdb", package: Some("heed"), scope: "processes", run: lmdb::run },
    #[cfg(feature = "subetha-cxc")]
    Rival {
        name: "subetha-cxc",
        package: Some("subetha-cxc"),
        scope: "processes",
        run: subetha::run,
    },
];

impl Rival {
    /// The version in the committed lock file.
    pub(crate) fn version(&self) -> String {
        let Some(package) = self.package else { return "this checkout".to_owned() };
        rivals_measure::locked_version(package).unwrap_or("?").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_manifest() {
        let manifest = include_str!("../Cargo.toml");
        for rival in ALL {
            let Some(package) = rival.package else { continue };
            let wanted = format!("{package} = {{ version = \"={}\"", rival.version());
            assert!(manifest.contains(&wanted), "{wanted}");
        }
    }
}
