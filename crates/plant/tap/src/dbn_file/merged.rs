//! A DBN file of several sources: its names do not come from one subscriber.

use std::io::{self, Write};

use nanotape_types::{Sentinel as _, StockLocate, Symbol};

use super::{DbnFile, MOST_WAITING_BYTES};

/// What the metadata of a file of several sources has.
#[derive(Clone, Copy, Debug)]
pub struct MergedNames<'a> {
    /// The symbols of stocks, with their numbers in the file.
    pub names: &'a [(StockLocate, Symbol)],
    /// DBN's number of the first source's feed and venue; 0 if it is unknown.
    pub publisher_id: u16,
    /// The exchange's midnight of the trade date, if it is known.
    pub midnight_ns: Option<u64>,
}

impl<W: Write> DbnFile<W> {
    /// [`write`](Self::write) for the events of several sources.
    pub fn write_merged(&mut self, names: &MergedNames<'_>) -> io::Result<()> {
        if !self.has_metadata {
            if !self.is_under_way && self.buffer.len() < MOST_WAITING_BYTES {
                return Ok(());
            }
            self.name_all(names.names.iter().copied());
            self.publisher_id = names.publisher_id;
            self.write_metadata(names.midnight_ns)?;
        }
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// [`finish`](Self::finish) for the events of several sources.
    pub fn finish_merged(mut self, names: &MergedNames<'_>) -> io::Result<W> {
        self.is_under_way = true;
        self.write_merged(names)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Names wanted stocks that have no name yet.
    pub(super) fn name_all(&mut self, names: impl IntoIterator<Item = (StockLocate, Symbol)>) {
        for (locate, symbol) in names {
            let is_wanted = self.is_wanted(symbol);
            let name = &mut self.names[locate];
            if is_wanted && *name == Symbol::ABSENT {
                *name = symbol;
            }
        }
    }
}
