//! A value after reading: the fields in the words of each value of a map. Line numbers are those of
//! the schema file.

mod check;
mod read;
mod words;

pub(crate) use read::read;

use crate::{FieldType, Literal, MethodField, Target};

/// The most words of a value of a map.
const MOST_WORDS: usize = 1 << 12;

/// One schema file of the kind value.
#[derive(Clone, Debug)]
pub struct ValueSchema {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// Line of its table.
    pub line: usize,
    /// Name of the type: `StockState`.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Description.
    pub doc: String,
    /// The version of the value, from 1.
    pub version: usize,
    /// The Rust path to `nanotape_latest` in the generated module.
    pub runtime: String,
    /// The generated module.
    pub output: Target,
    /// The generated page, if there is one.
    pub document: Option<Target>,
    /// All fields, in the order of their offsets.
    pub fields: Vec<ValueField>,
}

/// A field of a value: a number or a short text, or an array of them.
#[derive(Clone, Debug)]
pub struct ValueField {
    /// Its bytes, name, type and meaning; those of the first element of an array.
    pub of: MethodField,
    /// The number of elements, if it is an array.
    pub count: Option<usize>,
    /// The number that means that there is none.
    pub absent: Option<Literal>,
    /// How its numbers are printed.
    pub form: Form,
    /// Names of its bits, from the lowest one on; empty if it is not a set of them.
    pub flags: Vec<String>,
}

/// How the numbers of a field are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// As they are.
    #[default]
    Number,
    /// As a price: they are in units of 1e-9.
    Price,
    /// As a time: they are nanoseconds since the UNIX epoch.
    Time,
}

impl Form {
    const ALL: [Self; 3] = [Self::Number, Self::Price, Self::Time];

    /// The name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Price => "price",
            Self::Time => "time",
        }
    }
}

impl ValueSchema {
    /// The fields of a version, in the order of their offsets.
    pub fn fields_of(&self, version: usize) -> impl Iterator<Item = &ValueField> {
        self.fields.iter().filter(move |field| field.of.since <= version)
    }

    /// Words of a value of a version.
    pub fn words_of(&self, version: usize) -> usize {
        self.fields_of(version).map(ValueField::end).max().unwrap_or(0).div_ceil(8)
    }

    /// Words of a value of this version.
    pub fn words(&self) -> usize {
        self.words_of(self.version)
    }

    /// What the header of a map has if its values are of a version: the version in the upper 16
    /// bits, and a hash of the names, offsets, types and counts of its fields.
    pub fn layout_of(&self, version: usize) -> u64 {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let text = self.layout_text(version);
        // FNV-1a, folded to 48 bits.
        let hash = text.bytes().fold(OFFSET, |hash, b| (hash ^ u64::from(b)).wrapping_mul(PRIME));
        (version as u64) << 48 | (hash >> 48 ^ hash & 0xffff_ffff_ffff)
    }

    /// The layouts of all versions, the newest last.
    pub fn layouts(&self) -> Vec<u64> {
        (1..=self.version).map(|version| self.layout_of(version)).collect()
    }

    /// The layout of this version.
    pub fn layout(&self) -> u64 {
        self.layout_of(self.version)
    }

    /// The version that has this layout.
    pub fn version_of(&self, layout: u64) -> Option<usize> {
        (1..=self.version).find(|version| self.layout_of(*version) == layout)
    }

    fn layout_text(&self, version: usize) -> String {
        self.fields_of(version).fold(self.name.clone(), |text, field| {
            let of = &field.of.field;
            let (name, offset, kind) = (&of.name, of.offset, of.kind.schema_name());
            text + &format!("\n{name} {offset} {kind} {}", field.elements())
        })
    }
}

impl ValueField {
    /// The name of an element: that of the field, with the number of the element in an array.
    pub fn element_name(&self, number: usize) -> String {
        let name = &self.of.field.name;
        match self.count {
            None => name.clone(),
            Some(_) => format!("{name}_{number}"),
        }
    }

    /// The names of the bits that are set, with plus signs between them. A bit without a name has
    /// its number.
    pub fn flags_text(&self, bits: u64) -> String {
        let there = (0..u64::BITS as usize).filter(|bit| bits >> bit & 1 == 1);
        let names = there.map(|bit| self.flags.get(bit).cloned().unwrap_or(bit.to_string()));
        names.collect::<Vec<_>>().join("+")
    }

    /// The bits of such a text; the name that there is none for is an error.
    pub fn flags_of<'t>(&self, text: &'t str) -> Result<u64, &'t str> {
        text.split('+').filter(|name| !name.is_empty()).try_fold(0, |bits, name| {
            let bit = self.flags.iter().position(|flag| flag == name).ok_or(name)?;
            Ok(bits | 1 << bit)
        })
    }

    /// How many elements it has: 1 if it is no array.
    pub fn elements(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// The type without `Maybe`.
    pub fn kind(&self) -> &FieldType {
        match &self.of.field.kind {
            FieldType::Maybe(inner) => inner,
            kind => kind,
        }
    }

    /// Bytes of an element: 1, 2, 4 or 8.
    pub fn width(&self) -> usize {
        self.of.field.kind.width().unwrap_or(8)
    }

    /// The byte after its last element.
    pub fn end(&self) -> usize {
        self.of.field.offset + self.width() * self.elements()
    }
}
