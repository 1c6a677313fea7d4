//! The texts of a column as keys of a dictionary that grows.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray, types::Int32Type};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use nanotape_types::{
    Symbol,
    rows::{StockName, printable_letter},
};

/// Words that are compared one by one before the table of all is searched.
const FEW: usize = 8;

/// The dictionary of a column, over all of its batches.
#[derive(Debug, Default)]
pub(crate) struct Words {
    words: Vec<Box<str>>,
    keys: HashMap<Box<str>, i32>,
    /// The keys of letters; 0 for one without a key, otherwise the key and 1.
    letters: Vec<i32>,
    /// The name of each instrument that has a key, by its number.
    stocks: Vec<Option<(Option<Symbol>, i32)>>,
    /// The array of the words, until one more comes.
    array: Option<Arc<StringArray>>,
    text: String,
}

impl Words {
    /// The key of a text.
    #[inline]
    pub(crate) fn key(&mut self, text: &str) -> i32 {
        let few = self.words.iter().take(FEW).position(|word| **word == *text);
        match few {
            Some(place) => place as i32,
            None => self.key_among_all(text),
        }
    }

    fn key_among_all(&mut self, text: &str) -> i32 {
        match self.keys.get(text) {
            Some(key) => *key,
            None => self.add(text),
        }
    }

    #[cold]
    fn add(&mut self, text: &str) -> i32 {
        // A table of 2^31 words does not fit in memory.
        let key = self.words.len() as i32;
        self.words.push(text.into());
        self.keys.insert(text.into(), key);
        self.array = None;
        key
    }

    /// The key of a letter.
    #[inline]
    pub(crate) fn letter(&mut self, letter: u8) -> i32 {
        match self.letters.get(usize::from(letter)) {
            Some(&known) if known > 0 => known - 1,
            _ => self.new_letter(letter),
        }
    }

    #[cold]
    fn new_letter(&mut self, letter: u8) -> i32 {
        let key = self.key_among_all(char::from(printable_letter(letter)).encode_utf8(&mut [0; 4]));
        self.letters.resize(256, 0);
        self.letters[usize::from(letter)] = key + 1;
        key
    }

    /// The key of the name of a stock.
    #[inline]
    pub(crate) fn stock(&mut self, stock: StockName) -> i32 {
        match self.stocks.get(stock.instrument_id() as usize) {
            Some(Some((symbol, key))) if *symbol == stock.symbol() => *key,
            _ => self.other_stock(stock),
        }
    }

    #[cold]
    fn other_stock(&mut self, stock: StockName) -> i32 {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        // Writing to a string cannot fail.
        let _ = write!(text, "{stock}");
        let key = self.key_among_all(&text);
        self.text = text;
        // Records of other writers can have any number: those are searched for each time.
        if let Ok(number) = u16::try_from(stock.instrument_id()) {
            let number = usize::from(number);
            if self.stocks.len() <= number {
                self.stocks.resize(number + 1, None);
            }
            self.stocks[number] = Some((stock.symbol(), key));
        }
        key
    }

    /// The column of these keys.
    pub(crate) fn column(
        &mut self,
        keys: Vec<i32>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        let words = &self.words;
        let values = self.array.get_or_insert_with(|| {
            Arc::new(words.iter().map(|word| Some(&**word)).collect::<StringArray>())
        });
        let keys = Int32Array::try_new(ScalarBuffer::from(keys), nulls)?;
        let values: ArrayRef = values.clone();
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
    }
}
