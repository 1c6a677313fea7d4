//! Formats values as text that is safe to print: one line, without control sequences of a terminal.

use std::fmt::{self, Display, Write};

use crate::decode::{CallSite, DecodeError, Value, Values};

/// Marks text that was cut.
pub(super) const CUT: &str = "...(cut)";

/// Text with control characters escaped and invalid UTF-8 replaced.
pub(super) fn escaped(text: &[u8]) -> impl Display + '_ {
    fmt::from_fn(move |f| {
        for chunk in text.utf8_chunks() {
            let mut plain = chunk.valid();
            while let Some(at) = plain.find(needs_escape) {
                let (before, rest) = plain.split_at(at);
                f.write_str(before)?;
                let mut rest = rest.chars();
                rest.next().map_or(Ok(()), |odd| write!(f, "{}", odd.escape_default()))?;
                plain = rest.as_str();
            }
            f.write_str(plain)?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    })
}

/// Control characters, line separators, and characters that change the text direction.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Writes a value; a message has no quotes.
pub(super) fn put_value(out: &mut dyn Write, value: &Value<'_>, is_message: bool) -> fmt::Result {
    let is_cut = match value {
        Value::Bool(value) => return write!(out, "{value}"),
        Value::U64(value) => return write!(out, "{value}"),
        Value::I64(value) => return write!(out, "{value}"),
        Value::F64(value) => return write!(out, "{value}"),
        Value::U128(value) => return write!(out, "{value}"),
        Value::I128(value) => return write!(out, "{value}"),
        Value::LeftOut(count) => return write!(out, "({count} values omitted)"),
        Value::Str { text, is_cut } if !is_message => {
            write!(out, "{:?}", String::from_utf8_lossy(text))?;
            is_cut
        }
        Value::Str { text, is_cut } | Value::Debug { text, is_cut } => {
            write!(out, "{}", escaped(text))?;
            is_cut
        }
        Value::Bytes { bytes, is_cut } => {
            out.write_str("0x")?;
            for byte in *bytes {
                write!(out, "{byte:02x}")?;
            }
            is_cut
        }
        Value::Error { errors, is_cut } => {
            for (index, error) in errors.enumerate() {
                let between = if index == 0 { "" } else { ": " };
                write!(out, "{between}{}", escaped(error))?;
            }
            is_cut
        }
    };
    if *is_cut { out.write_str(CUT) } else { Ok(()) }
}

/// Writes values with their names, except that of one field, with separators before the first and
/// between them.
pub(super) fn put_values(
    out: &mut dyn Write,
    site: Option<&CallSite<'_>>,
    values: Values<'_>,
    except: Option<usize>,
    first: &str,
    between: &str,
) -> fmt::Result {
    let mut space = first;
    for decoded in values {
        let (field, value) = match decoded {
            Ok((field, _)) if Some(usize::from(field)) == except => continue,
            Ok(decoded) => decoded,
            Err(error) => return put_error(out, space, error),
        };
        out.write_str(space)?;
        space = between;
        if !matches!(value, Value::LeftOut(_)) {
            match site.and_then(|site| site.fields().nth(usize::from(field))) {
                Some(name) => write!(out, "{}=", escaped(name))?,
                None => write!(out, "field {field}=")?,
            }
        }
        put_value(out, &value, false)?;
    }
    Ok(())
}

fn put_error(out: &mut dyn Write, space: &str, error: DecodeError) -> fmt::Result {
    write!(out, "{space}(unreadable values: {error})")
}
