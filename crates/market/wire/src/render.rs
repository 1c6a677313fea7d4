//! Renders text and JSON of any message, from one iteration over its fields.
//!
//! Generated code passes name and value of every field to a [`FieldVisitor`]; the two renderers are
//! visitors. They write into the caller's output and allocate nothing. Untrusted bytes are escaped,
//! so that both outputs are printable ASCII.

use core::fmt;

use nanotape_types::{
    AnyDecimal, NanosSinceEpoch, NanosSinceMidnight, Price4, Price8, SecondsSinceEpoch,
    SecondsSinceMidnight,
};

/// The value of one field, for display.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A count, a number, or a numeric identifier.
    Integer(u64),
    /// A price with four decimals.
    Price4(Price4),
    /// A price with eight decimals.
    Price8(Price8),
    /// A time of day to the nanosecond.
    NanosSinceMidnight(NanosSinceMidnight),
    /// A time of day to the second.
    SecondsSinceMidnight(SecondsSinceMidnight),
    /// Text, with its padding.
    Text(&'a [u8]),
    /// A one-byte code and its name.
    Code(u8, &'static str),
    /// Bytes that are not text.
    Bytes(&'a [u8]),
    /// No value.
    Absent,
    /// A number that can be negative.
    Signed(i64),
    /// A number with any count of decimals.
    Decimal(AnyDecimal),
    /// A time to the nanosecond.
    NanosSinceEpoch(NanosSinceEpoch),
    /// A time to the second.
    SecondsSinceEpoch(SecondsSinceEpoch),
    /// A code that is a number of one byte, and its name.
    Numbered(u8, &'static str),
    /// A set of bits, and the names of the listed ones.
    Bits(u16, &'static [(u8, &'static str)]),
}

/// A type that is a number. Displayed as specifications write it: with one byte in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeNumber {
    /// The number.
    pub value: u16,
    /// Bytes on the wire: one or two.
    pub width: usize,
}

impl fmt::Display for TypeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            1 => write!(f, "{:#04x}", self.value),
            _ => write!(f, "{}", self.value),
        }
    }
}

/// Receives the fields of a message, in the order of their bytes.
pub trait FieldVisitor<'a> {
    /// Why a visit ends early.
    type Error;

    /// One field.
    fn field(&mut self, name: &'static str, value: Value<'a>) -> Result<(), Self::Error>;

    /// The entries of a group follow.
    fn begin_group(&mut self, name: &'static str) -> Result<(), Self::Error> {
        let _ = name;
        Ok(())
    }

    /// The fields of an entry follow; the first entry has number 1.
    fn begin_entry(&mut self, number: usize) -> Result<(), Self::Error> {
        let _ = number;
        Ok(())
    }

    /// The entry has no more fields.
    fn end_entry(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The group has no more entries.
    fn end_group(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A value with a list of fields. Implemented by generated code.
pub trait Describe<'a>: Copy {
    /// Its type byte, if its protocol has them.
    fn type_byte(self) -> Option<u8>;

    /// Its type, if that is a number.
    fn type_number(self) -> Option<TypeNumber> {
        None
    }

    /// Its name as a type: `AddOrder`.
    fn type_name(self) -> &'static str;

    /// Passes name and value of every field to `visitor`.
    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error>;

    /// Writes one line of text, without an end of line:
    /// `A AddOrder stock_locate=13 ... buy_sell_indicator=B(Buy) ... price=189.9500`.
    /// Absent values are `-`; text that is blank or contains spaces is in quotes. A set of bits is
    /// a hexadecimal number with the names of its bits; entries of a group have a number first.
    fn write_text(self, out: &mut impl fmt::Write) -> fmt::Result {
        if let Some(tag) = self.type_byte() {
            write!(out, "{} ", tag.escape_ascii())?;
        }
        if let Some(number) = self.type_number() {
            write!(out, "{number} ")?;
        }
        out.write_str(self.type_name())?;
        self.for_each_field(&mut TextWriter(out))
    }

    /// Writes one JSON object. Prices are numbers with all their decimals, times are integers in
    /// their own unit, codes are strings of one character, sets of bits are lists of names, absent
    /// values are `null`. Integers beyond 53 bits are strings.
    fn write_json(self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str("{")?;
        if let Some(tag) = self.type_byte() {
            out.write_str("\"type\":")?;
            json_string(out, &[tag])?;
            out.write_str(",")?;
        }
        if let Some(number) = self.type_number() {
            write!(out, "\"type\":{},", number.value)?;
        }
        write!(out, "\"name\":\"{}\"", self.type_name())?;
        self.for_each_field(&mut JsonWriter(out))?;
        out.write_str("}")
    }
}

struct TextWriter<'w, W>(&'w mut W);

impl<W: fmt::Write> FieldVisitor<'_> for TextWriter<'_, W> {
    type Error = fmt::Error;

    fn field(&mut self, name: &'static str, value: Value<'_>) -> fmt::Result {
        let out = &mut *self.0;
        write!(out, " {name}=")?;
        match value {
            Value::Integer(number) => write!(out, "{number}"),
            Value::Price4(price) => out.write_str(price.write_decimal(&mut [0; 12])),
            Value::Price8(price) => write!(out, "{price}"),
            Value::NanosSinceMidnight(time) => write!(out, "{time}"),
            Value::SecondsSinceMidnight(time) => write!(out, "{time}"),
            Value::Text(text) => text_word(out, without_padding(text)),
            Value::Code(code, name) => {
                text_word(out, &[code])?;
                write!(out, "({name})")
            }
            Value::Bytes(bytes) => hexadecimal(out, bytes),
            Value::Absent => out.write_str("-"),
            Value::Signed(number) => write!(out, "{number}"),
            Value::Decimal(number) => write!(out, "{number}"),
            Value::NanosSinceEpoch(time) => write!(out, "{time}"),
            Value::SecondsSinceEpoch(time) => write!(out, "{time}"),
            Value::Numbered(code, name) => write!(out, "{code}({name})"),
            Value::Bits(bits, names) => bits_text(out, bits, names),
        }
    }

    fn begin_group(&mut self, name: &'static str) -> fmt::Result {
        write!(self.0, " {name}=[")
    }

    fn begin_entry(&mut self, number: usize) -> fmt::Result {
        write!(self.0, "{{{number}")
    }

    fn end_entry(&mut self) -> fmt::Result {
        self.0.write_str("}")
    }

    fn end_group(&mut self) -> fmt::Result {
        self.0.write_str("]")
    }
}

struct JsonWriter<'w, W>(&'w mut W);

impl<W: fmt::Write> FieldVisitor<'_> for JsonWriter<'_, W> {
    type Error = fmt::Error;

    fn field(&mut self, name: &'static str, value: Value<'_>) -> fmt::Result {
        let out = &mut *self.0;
        write!(out, ",\"{name}\":")?;
        match value {
            // Many readers of JSON keep 53 bits of a number.
            Value::Integer(number) if number > 1 << 53 => write!(out, "\"{number}\""),
            Value::Integer(number) => write!(out, "{number}"),
            Value::Price4(price) => out.write_str(price.write_decimal(&mut [0; 12])),
            Value::Price8(price) => write!(out, "{price}"),
            Value::NanosSinceMidnight(time) => write!(out, "{}", time.get()),
            Value::SecondsSinceMidnight(time) => write!(out, "{}", time.get()),
            Value::Text(text) => json_string(out, without_padding(text)),
            Value::Code(code, _) => json_string(out, &[code]),
            Value::Bytes(bytes) => {
                out.write_str("\"")?;
                hexadecimal(out, bytes)?;
                out.write_str("\"")
            }
            Value::Absent => out.write_str("null"),
            Value::Signed(number) if number.unsigned_abs() > 1 << 53 => {
                write!(out, "\"{number}\"")
            }
            Value::Signed(number) => write!(out, "{number}"),
            Value::Decimal(number) => write!(out, "{number}"),
            Value::NanosSinceEpoch(time) if time.get() > 1 << 53 => {
                write!(out, "\"{}\"", time.get())
            }
            Value::NanosSinceEpoch(time) => write!(out, "{}", time.get()),
            Value::SecondsSinceEpoch(time) => write!(out, "{}", time.get()),
            Value::Numbered(code, _) => write!(out, "{code}"),
            Value::Bits(bits, names) => bits_json(out, bits, names),
        }
    }

    fn begin_group(&mut self, name: &'static str) -> fmt::Result {
        write!(self.0, ",\"{name}\":[")
    }

    fn begin_entry(&mut self, number: usize) -> fmt::Result {
        let separator = if number == 1 { "" } else { "," };
        write!(self.0, "{separator}{{\"entry\":{number}")
    }

    fn end_entry(&mut self) -> fmt::Result {
        self.0.write_str("}")
    }

    fn end_group(&mut self) -> fmt::Result {
        self.0.write_str("]")
    }
}

/// The bits of a [`Value::Bits`] that are set, each with its name if it is listed.
pub fn set_bits<'n>(
    bits: u16,
    names: &'n [(u8, &'static str)],
) -> impl Iterator<Item = (u8, Option<&'static str>)> + 'n {
    let set = (0..16u8).filter(move |bit| bits >> bit & 1 == 1);
    set.map(|bit| {
        let name = names.iter().find(|(listed, _)| *listed == bit).map(|(_, name)| *name);
        (bit, name)
    })
}

/// `0x41(intermarket_sweep+0)`; `0x00` without a bit.
fn bits_text(out: &mut impl fmt::Write, bits: u16, names: &[(u8, &'static str)]) -> fmt::Result {
    write!(out, "{bits:#04x}")?;
    for (index, (bit, name)) in set_bits(bits, names).enumerate() {
        out.write_str(if index == 0 { "(" } else { "+" })?;
        match name {
            Some(name) => out.write_str(name)?,
            None => write!(out, "{bit}")?,
        }
    }
    if bits == 0 { Ok(()) } else { out.write_str(")") }
}

/// `["intermarket_sweep",0]`: names, and numbers of bits that have none.
fn bits_json(out: &mut impl fmt::Write, bits: u16, names: &[(u8, &'static str)]) -> fmt::Result {
    out.write_str("[")?;
    for (index, (bit, name)) in set_bits(bits, names).enumerate() {
        let separator = if index == 0 { "" } else { "," };
        match name {
            Some(name) => write!(out, "{separator}\"{name}\"")?,
            None => write!(out, "{separator}{bit}")?,
        }
    }
    out.write_str("]")
}

/// Removes padding, which is only trailing spaces.
fn without_padding(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..length]
}

/// In quotes unless it is one plain word.
fn text_word(out: &mut impl fmt::Write, text: &[u8]) -> fmt::Result {
    let is_plain = |&byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'\'');
    if !text.is_empty() && text.iter().all(is_plain) {
        return write!(out, "{}", text.escape_ascii());
    }
    write!(out, "\"{}\"", text.escape_ascii())
}

/// Writes a JSON string. Bytes that are not printable ASCII become the code point of the same
/// number, so that any bytes give valid and distinct JSON.
fn json_string(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    out.write_str("\"")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(out, "\\{}", char::from(byte))?,
            b' '..=b'~' => out.write_char(char::from(byte))?,
            _ => write!(out, "\\u{byte:04x}")?,
        }
    }
    out.write_str("\"")
}

fn hexadecimal(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}
