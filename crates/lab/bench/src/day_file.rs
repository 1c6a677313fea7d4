//! A day file through every structure of the books, compared with the limits of the machine, and
//! through plants that publish its records, through the journal of such a plant, as the packets of
//! a live feed, and through plants with spans.
//!
//! Where: `nanotape lab bench book`, `plant`, `replay`, `feed` and `trace`. Every reading is a
//! process of its own, so that heaps are fresh and the peak of memory is that of one variant.
//! [`Survey`] finds damage in the file before anything is measured.
//!
//! To add a structure, add a line to `variants.rs`; to add a plant, one to `plant_variants.rs`.

mod beside;
mod book;
mod books;
mod feed;
mod limits;
mod loads;
mod one_by_one;
mod plant;
mod plant_variants;
mod profile;
mod publish;
mod reading;
mod replay;
mod survey;
mod trace;
mod usage;
mod variants;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use nanotape_console::progress::Progress;
use nanotape_feed::{Compression, DaySource, SourceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::survey::Survey;
pub(crate) use self::{
    book::Book,
    feed::Feed,
    plant::Plant,
    profile::{COUNT, count},
    reading::{DayReading, compare},
    replay::{RecorderJob, Replay},
    trace::Trace,
};
use crate::error::Error;

/// A day, and what its books need.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Day {
    /// ITCH 5.0 day file (plain, gzip or zstd); of books also a capture of any feed
    #[arg(value_name = "FILE", required_unless_present = "list")]
    file: Option<PathBuf>,

    /// Live orders to allocate memory for [default: a twentieth of the messages, at most 2^21]
    #[arg(long = "live-orders", value_name = "N", alias = "orders", value_parser = nanotape_console::values::count::<u32>(1..=1 << 28))]
    orders: Option<u32>,

    /// How often it goes through the same books.
    #[arg(skip = 1_u32)]
    repeat: u32,

    /// The bytes of its messages and their lengths.
    #[arg(skip)]
    bytes: u64,

    /// Its messages.
    #[arg(skip)]
    messages: u64,

    /// Whether it is a capture.
    #[arg(skip)]
    #[serde(default)]
    is_capture: bool,

    /// The stock with the most messages.
    #[arg(skip)]
    busiest: Option<String>,
}

/// What one reading measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Pass {
    /// Time and memory of the whole file.
    #[default]
    Measure,
    /// Times of single messages.
    Single,
    /// Times of single messages, by message type.
    Types,
    /// The processor's counters, per message.
    Counters,
}

impl Day {
    fn path(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(""))
    }

    /// Opens the file again.
    fn open(&self) -> Result<DaySource, SourceError> {
        DaySource::open(self.path())
    }

    /// The file as JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "path": self.path().display().to_string(),
            "bytes": self.bytes,
            "messages": self.messages,
        })
    }

    pub(crate) fn orders(&self) -> usize {
        self.orders.unwrap_or(0) as usize
    }

    /// The mean size of a message; `None` before the survey.
    fn message_bytes(&self) -> Option<f64> {
        (self.messages > 0).then(|| self.bytes as f64 / self.messages as f64)
    }

    /// Messages of all repetitions together.
    pub(crate) fn operations(&self) -> u64 {
        self.messages * u64::from(self.repeat)
    }

    /// Reads a whole day file once and adds notes about it.
    fn survey(&mut self, cpu: Option<u32>, notes: &mut Vec<String>) -> anyhow::Result<()> {
        self.check_file()?;
        survey::refuse_capture(self.path()).map_err(Error::judged)?;
        self.read_once(cpu, notes)
    }

    /// Reads a whole day file or capture once and adds notes about it.
    fn survey_input(&mut self, cpu: Option<u32>, notes: &mut Vec<String>) -> anyhow::Result<()> {
        self.check_file()?;
        self.read_once(cpu, notes)
    }

    /// Whether every reading can open it again.
    fn check_file(&self) -> anyhow::Result<()> {
        if self.path() == Path::new("-") {
            bail!(
                "every measurement reads the input again, which standard input does not allow: \
                 use a file"
            );
        }
        // Checked before opening: opening a pipe waits for a writer.
        let found = std::fs::metadata(self.path()).ok();
        if found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
            let path = self.path().display();
            bail!("{path}: not a regular file, which every reading could read again");
        }
        Ok(())
    }

    /// Adds notes that are not there yet: a second file has some in common with the first.
    fn read_once(&mut self, cpu: Option<u32>, notes: &mut Vec<String>) -> anyhow::Result<()> {
        let mut note = |text: String| {
            if !notes.contains(&text) {
                notes.push(text);
            }
        };
        let found = std::fs::metadata(self.path()).ok();
        let progress = Progress::with_total(found.map(|found| found.len()));
        let survey = Survey::of(self.path(), |source| progress.set(source.progress().done_bytes));
        let survey = survey.map_err(Error::judged)?;
        self.orders.get_or_insert(survey.orders());
        (self.bytes, self.messages) = (survey.bytes, survey.messages);
        self.is_capture = survey.is_capture;
        self.busiest = survey.busiest.map(|symbol| symbol.to_string());

        note("the file was read once before anything was measured".to_owned());
        // The size of one huge page: the kernel gives the same answer for larger tables.
        let pages = nanotape_shm::Table::new(2 << 20, 0_u8).huge_pages();
        note(format!("tables of packed, pages and buckets are in {pages}"));
        if !survey.stays_in_memory() {
            note(format!(
                "the file has {:.1} GB and {:.1} GB of memory are available: it does not fit in \
                 memory, so times include the disk",
                survey.stored_bytes as f64 / 1e9,
                survey.available_memory_bytes.unwrap_or(0) as f64 / 1e9
            ));
        }
        if survey.missing > 0 {
            let path = self.path().display();
            note(format!("{path}: {} messages are in no packet", survey.missing));
        }
        if survey.compression != Compression::None {
            note(format!(
                "the file is compressed ({}): every time includes decompression",
                survey.compression
            ));
        }
        if cpu.is_none() {
            note(
                "not pinned to a processor: readings may be from different \
                        processors"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
