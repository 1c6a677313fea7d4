//! The meaning of A and B in `nanotape lab compare A B`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use nanotape_lab::compare::{
    Pair, Subject, names_of,
    revision::{Repository, WORKTREE, short},
};

/// Where to search for benchmarks.
pub(super) struct Search<'a> {
    /// A program to search for the names of benchmarks, instead of this one.
    pub(super) program: Option<&'a Path>,
    /// The package with the benchmark target, for revisions.
    pub(super) package: Option<&'a str>,
    /// The benchmark target, for revisions.
    pub(super) target: &'a str,
    /// Parts of the names of selected benchmarks; empty: all benchmarks.
    pub(super) only: &'a [String],
}

/// The meanings of a word.
enum Meaning {
    Benchmark(String),
    Program(PathBuf),
    Revision(String),
}

fn own_name(program: Option<&Path>) -> String {
    program.map_or("this program".to_owned(), |program| program.display().to_string())
}

impl Search<'_> {
    /// The pairs to compare. `progress` receives the builds.
    pub(super) fn pairs(
        &self,
        base: &str,
        candidate: &str,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Vec<Pair>> {
        let own = match self.program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe().context("this program's own path")?,
        };
        let names = names_of(&own, &[])?;
        match (self.meaning(base, &names)?, self.meaning(candidate, &names)?) {
            (Meaning::Benchmark(base), Meaning::Benchmark(candidate)) => {
                let name = format!("{candidate} against {base}");
                let subject = |benchmark: String| Subject {
                    label: benchmark.clone(),
                    revision: None,
                    program: own.clone(),
                    arguments: Vec::new(),
                    benchmark,
                };
                Ok(vec![Pair { name, base: subject(base), candidate: subject(candidate) }])
            }
            (Meaning::Program(base), Meaning::Program(candidate)) => {
                let label = |path: &Path| path.display().to_string();
                let base = (label(&base), None, base);
                self.common(base, (label(&candidate), None, candidate))
            }
            (Meaning::Revision(base), Meaning::Revision(candidate)) => {
                let repository = Repository::open(Path::new("."), self.package, self.target)?;
                let mut built = |word: &str, commit: &str| -> anyhow::Result<_> {
                    let built = repository.build(commit, progress)?;
                    let label = format!("{word} ({})", short(commit));
                    Ok((label, Some(built.revision), built.program))
                };
                let commit = |word: &str| {
                    repository.resolve(word).with_context(|| format!("{word} is not a revision"))
                };
                let (base_commit, candidate_commit) = (commit(&base)?, commit(&candidate)?);
                let base = built(&base, &base_commit)?;
                self.common(base, built(&candidate, &candidate_commit)?)
            }
            _ => bail!(
                "{base} and {candidate} are of different kinds; compare two benchmarks, two \
                 programs or two revisions"
            ),
        }
    }

    fn meaning(&self, word: &str, names: &[String]) -> anyhow::Result<Meaning> {
        if let Some((kind, rest)) = word.split_once(':') {
            match kind {
                "bench" => return Ok(Meaning::Benchmark(rest.to_owned())),
                "file" => return Ok(Meaning::Program(PathBuf::from(rest))),
                "commit" => return Ok(Meaning::Revision(rest.to_owned())),
                _ => {}
            }
        }
        if names.iter().any(|name| name == word) {
            return Ok(Meaning::Benchmark(word.to_owned()));
        }
        if Path::new(word).is_file() {
            return Ok(Meaning::Program(PathBuf::from(word)));
        }
        let repository = Repository::open(Path::new("."), self.package, self.target);
        if word == WORKTREE || repository.is_ok_and(|found| found.resolve(word).is_some()) {
            return Ok(Meaning::Revision(word.to_owned()));
        }
        bail!(
            "{word} is not a benchmark of {} ({}), a program or a revision; use --program FILE to \
             name the program of the benchmarks, or put bench:, file: or commit: in front of the \
             word",
            own_name(self.program),
            names.join(", ")
        )
    }

    /// The benchmarks that exist in both programs.
    fn common(
        &self,
        base: (String, Option<String>, PathBuf),
        candidate: (String, Option<String>, PathBuf),
    ) -> anyhow::Result<Vec<Pair>> {
        let names = names_of(&base.2, &[])?;
        let candidates = names_of(&candidate.2, &[])?;
        let wanted = |name: &&String| {
            self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
        };
        let subject = |arm: &(String, Option<String>, PathBuf), name: &str| Subject {
            label: arm.0.clone(),
            revision: arm.1.clone(),
            program: arm.2.clone(),
            arguments: Vec::new(),
            benchmark: name.to_owned(),
        };
        let pairs: Vec<Pair> = names
            .iter()
            .filter(|name| candidates.contains(name))
            .filter(wanted)
            .map(|name| Pair {
                name: name.clone(),
                base: subject(&base, name),
                candidate: subject(&candidate, name),
            })
            .collect();
        if pairs.is_empty() {
            bail!(
                "no common benchmark: {} has {}; {} has {}",
                base.0,
                names.join(", "),
                candidate.0,
                candidates.join(", ")
            );
        }
        Ok(pairs)
    }
}
