//! Numbers of the stocks of several sources that are unique in one file.
//!
//! Each source has numbers of its own: number 13 of one is another stock than number 13 of the
//! next. In a merged file the stocks have the numbers 1, 2, 3 and so on, in the order in which they
//! are first met, and the same stock of two sources has two numbers.
//! Bounds: 65,535 stocks, as in every file of this library. Further ones are refused.

use std::collections::HashMap;

use nanotape_records::{Notice, Record};
use nanotape_types::{StockLocate, Symbol};

use crate::{Delivery, Event};

/// Gives stocks of several sources their numbers in one file.
#[derive(Debug, Default)]
pub struct MergedInstruments {
    numbers: HashMap<(usize, u32), u16>,
    names: Vec<(StockLocate, Symbol)>,
}

/// There are more stocks than numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the sources have more than 65,535 stocks together: select some with --symbols")]
pub struct TooManyInstruments;

impl MergedInstruments {
    /// The number of a stock of a source in the file; 0 for records of no stock.
    pub fn number(&mut self, source: usize, instrument_id: u32) -> Result<u16, TooManyInstruments> {
        if instrument_id == 0 {
            return Ok(0);
        }
        let next = self.numbers.len() + 1;
        match self.numbers.entry((source, instrument_id)) {
            std::collections::hash_map::Entry::Occupied(found) => Ok(*found.get()),
            std::collections::hash_map::Entry::Vacant(place) => {
                Ok(*place.insert(u16::try_from(next).map_err(|_| TooManyInstruments)?))
            }
        }
    }

    /// Names a stock of a source before its first record.
    pub fn name(
        &mut self,
        source: usize,
        locate: StockLocate,
        symbol: Symbol,
    ) -> Result<(), TooManyInstruments> {
        let number = self.number(source, locate.get().into())?;
        self.names.push((StockLocate::new(number), symbol));
        Ok(())
    }

    /// The names of all stocks that were named.
    pub fn names(&self) -> &[(StockLocate, Symbol)] {
        &self.names
    }

    /// Calls `take` with an event of a source, with the number of its stock in the file. `bytes`: a
    /// buffer for the record.
    pub fn renumbered<T>(
        &mut self,
        source: usize,
        event: &Event<'_>,
        bytes: &mut Vec<u8>,
        take: impl FnOnce(&Event<'_>) -> T,
    ) -> Result<T, TooManyInstruments> {
        let Event::Record(delivery) = event else { return Ok(take(event)) };
        let mut delivery: Delivery<'_> = *delivery;
        if let Record::Notice(notice) = &mut delivery.record {
            match notice {
                Notice::Taint(taint) => {
                    taint.instrument_id = self.number(source, taint.instrument_id)?.into();
                }
                Notice::Restored(restored) => {
                    restored.instrument_id = self.number(source, restored.instrument_id)?.into();
                }
                _ => {}
            }
            return Ok(take(&Event::Record(delivery)));
        }
        bytes.clear();
        bytes.extend_from_slice(delivery.bytes);
        if let Some(place) = bytes.get_mut(INSTRUMENT_ID) {
            let found = place.try_into().map_or(0, u32::from_le_bytes);
            let number = self.number(source, found)?;
            place.copy_from_slice(&u32::from(number).to_le_bytes());
        }
        // Only the bytes are written to a file, and only the header has the number.
        Ok(take(&Event::Record(Delivery { bytes, ..delivery })))
    }
}

/// The place of the number in the header of each record of DBN.
const INSTRUMENT_ID: std::ops::Range<usize> = 4..8;
