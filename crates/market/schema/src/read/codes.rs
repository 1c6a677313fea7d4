//! Reads enumerations, lists of codes, and sets of bits.

use crate::{
    Bit, BitSet, Code, CodeList, Enumeration, check,
    names::{identifier, is_camel, is_snake},
    reader::{Source, Table},
};

pub(super) fn enumeration(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Enumeration {
    let name = table.text(source, "name");
    table.call(format!("enumeration '{name}'"));
    identifier(source, &table, "name", &name, is_camel);
    let doc = table.text(source, "doc");
    let line = table.line();
    let mut codes = Vec::new();
    for mut entry in table.tables(source, "codes") {
        let text = entry.text(source, "code");
        let name = entry.text(source, "name");
        identifier(source, &entry, "name", &name, is_camel);
        let doc = entry.text(source, "doc");
        match text.as_bytes() {
            &[byte] => codes.push((entry.line(), Code { byte, name, doc })),
            _ => entry.refuse(
                source,
                format!("code '{text}' is {} bytes wide; a code is one byte", text.len()),
            ),
        }
        entry.finish(source);
    }
    check::codes(source, &name, &codes);
    table.finish(source);
    Enumeration { line, name, doc, codes: codes.into_iter().map(|(_, code)| code).collect() }
}

pub(super) fn code_list(source: &mut Source<'_>, mut table: Table<'_, '_>) -> CodeList {
    let name = table.text(source, "name");
    table.call(format!("code list '{name}'"));
    let doc = table.text(source, "doc");
    let width = table.count(source, "width").unwrap_or(usize::MAX);
    let mut codes: Vec<String> = Vec::new();
    for (line, code) in table.texts(source, "codes") {
        if code.is_empty() || code.len() > width || !code.is_ascii() {
            let text = format!("code list '{name}': code '{code}' is not 1 to {width} bytes wide");
            source.problem(line, text);
        }
        if codes.contains(&code) {
            source.problem(line, format!("code list '{name}': code '{code}' is listed twice"));
        }
        codes.push(code);
    }
    table.finish(source);
    CodeList { name, doc, width, codes }
}

pub(super) fn bit_set(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Option<BitSet> {
    let name = table.text(source, "name");
    table.call(format!("bits '{name}'"));
    identifier(source, &table, "name", &name, is_camel);
    let doc = table.text(source, "doc");
    let type_name = table.text(source, "type");
    let width = match type_name.as_str() {
        "u8" => Some(1),
        "u16" => Some(2),
        "" => None,
        other => {
            let text = format!("type '{other}' must be u8 or u16");
            table.refuse_value(source, "type", text);
            None
        }
    };
    let mut bits = Vec::new();
    for mut entry in table.tables(source, "bits") {
        let number = entry.count(source, "bit");
        let name = entry.text(source, "name");
        identifier(source, &entry, "name", &name, is_snake);
        let doc = entry.text(source, "doc");
        if let Some(number) = number {
            bits.push((entry.line(), Bit { number, name, doc }));
        }
        entry.finish(source);
    }
    check::bits(source, &name, width, &bits);
    let line = table.line();
    table.finish(source);
    let bits = bits.into_iter().map(|(_, bit)| bit).collect();
    Some(BitSet { line, name, doc, width: width?, bits })
}
