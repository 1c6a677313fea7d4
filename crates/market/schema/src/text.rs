//! Writes source text: templates, comments, rows and lists.

/// Replaces each `@name@` in `template` by its value.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = template.to_owned();
    for (name, value) in values {
        out = out.replace(&format!("@{name}@"), value);
    }
    out
}

/// `text` as a comment of lines no longer than 100 columns, each beginning with `prefix`.
pub(crate) fn comment(prefix: &str, text: &str) -> String {
    let mut out = String::new();
    for paragraph in text.split('\n') {
        let mut line = String::from(prefix);
        for word in paragraph.split(' ').filter(|word| !word.is_empty()) {
            if line.len() + 1 + word.len() > 100 {
                out.push_str(&line);
                out.push('\n');
                line = String::from(prefix);
            }
            line.push(' ');
            line.push_str(word);
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// A byte as a Rust byte literal.
pub(crate) fn byte_literal(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("b'\\{}'", char::from(byte)),
        b' '..=b'~' => format!("b'{}'", char::from(byte)),
        _ => format!("0x{byte:02x}"),
    }
}

/// A row of a table: `start`, then `doc` as a literal, on one line if it fits in 100 columns.
pub(crate) fn row(indent: usize, start: &str, doc: &str) -> String {
    let margin = " ".repeat(indent);
    let (short, below) =
        (format!("{margin}{start}, {doc:?};\n"), format!("{margin}    {doc:?};\n"));
    if short.len() <= 101 {
        return short;
    }
    if below.len() <= 101 {
        return format!("{margin}{start},\n{below}");
    }
    let mut out = format!("{margin}{start},\n");
    let mut line = format!("{margin}    ");
    for word in format!("{doc:?};").split(' ') {
        if line.len() + word.len() + 2 > 100 {
            out.push_str(&line);
            out.push_str("\\\n");
            line = format!("{margin}     ");
        }
        line.push_str(word);
        line.push(' ');
    }
    out + line.trim_end() + "\n"
}

/// An arm of a `match` inside a function inside an `impl`.
pub(crate) fn arm(pattern: &str, body: &str) -> String {
    let short = format!("            {pattern} => {body},\n");
    if short.len() <= 101 {
        return short;
    }
    format!("            {pattern} => {{\n                {body}\n            }}\n")
}

/// `items` between `open` and `close`: on one line if it fits in 100 columns, otherwise below, with
/// as many items on a line as fit.
pub(crate) fn filled(indent: usize, open: &str, items: &[String], close: &str) -> String {
    let margin = " ".repeat(indent);
    let short = format!("{margin}{open}{}{close}\n", items.join(", "));
    if short.len() <= 101 {
        return short;
    }
    let mut out = format!("{margin}{}\n", open.trim_end());
    let mut line = format!("{margin}   ");
    for item in items {
        if line.len() + item.len() + 2 >= 100 {
            out.push_str(&line);
            out.push('\n');
            line = format!("{margin}   ");
        }
        line.push_str(&format!(" {item},"));
    }
    format!("{out}{line}\n{margin}{}\n", close.trim_start())
}
