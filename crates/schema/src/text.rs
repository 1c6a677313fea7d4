//! Small helpers for writing source text.

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

/// `items` between `open` and `close`: on one line if it fits in 100 columns, otherwise filled
/// lines, each `indent` spaces deeper than `open`.
pub(crate) fn list(indent: usize, open: &str, items: &[String], close: &str) -> String {
    let short = format!("{}{open}{}{close}", " ".repeat(indent), items.join(", "));
    if short.len() <= 100 {
        return short + "\n";
    }
    let mut out = format!("{}{open}\n", " ".repeat(indent));
    let margin = " ".repeat(indent + 4);
    for item in items {
        out.push_str(&format!("{margin}{item},\n"));
    }
    out.push_str(&format!("{}{close}\n", " ".repeat(indent)));
    out
}

/// A struct literal: on one line if it fits in 100 columns, otherwise a line for each item.
pub(crate) fn literal(indent: usize, name: &str, items: &[String], close: &str) -> String {
    let margin = " ".repeat(indent);
    let short = format!("{margin}{name} {{ {} {close}", items.join(", "));
    if short.len() <= 100 {
        return short + "\n";
    }
    list(indent, &format!("{name} {{"), items, close)
}

/// The array `items` after `declaration`, laid out as [`list`] does, or on a line of its own.
pub(crate) fn array(indent: usize, declaration: &str, items: &[String]) -> String {
    let own_line = format!("{}[{}];\n", " ".repeat(indent + 4), items.join(", "));
    let one_line = indent + declaration.len() + 1 + own_line.len() - (indent + 5);
    if one_line > 100 && own_line.len() <= 101 {
        return format!("{}{declaration}\n{own_line}", " ".repeat(indent));
    }
    list(indent, &format!("{declaration} ["), items, "];")
}

/// An arm of a `match` inside a function inside an `impl`.
pub(crate) fn arm(pattern: &str, body: &str) -> String {
    let short = format!("            {pattern} => {body},\n");
    if short.len() <= 101 {
        return short;
    }
    format!("            {pattern} => {{\n                {body}\n            }}\n")
}

/// Like [`list`] without indentation, but with as many items on a line as fit.
pub(crate) fn filled(open: &str, items: &[String], close: &str) -> String {
    let short = format!("{open}{}{close}", items.join(", "));
    if short.len() <= 100 {
        return short + "\n";
    }
    let mut out = format!("{open}\n");
    let mut line = String::from("   ");
    for item in items {
        if line.len() + item.len() + 2 >= 100 {
            out.push_str(&line);
            out.push('\n');
            line = String::from("   ");
        }
        line.push_str(&format!(" {item},"));
    }
    out + &line + "\n" + close + "\n"
}
