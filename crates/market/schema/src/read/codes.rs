//! Reads enumerations, lists of codes, and sets of bits.

use crate::{
    Bit, BitSet, Code, CodeList, Enumeration, Literal, check,
    names::{identifier, is_camel, is_snake},
    reader::{Source, Table},
};

pub(super) fn enumeration(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Enumeration {
    let name = table.text(source, "name");
    table.call(format!("enumeration '{name}'"));
    identifier(source, &table, "name", &name, is_camel);
    let doc = table.text(source, "doc");
    let line = table.line();
    let mut is_numeric = None;
    let mut codes = Vec::new();
    for mut entry in table.tables(source, "codes") {
        let code = entry.value(source, "code");
        let name = entry.text(source, "name");
        identifier(source, &entry, "name", &name, is_camel);
        let doc = entry.text(source, "doc");
        if let Some(code) = &code {
            let is_number = matches!(code, Literal::Number(_));
            if *is_numeric.get_or_insert(is_number) != is_number {
                entry.refuse(source, "codes must be all characters, or all numbers");
            }
        }
        match code.as_ref().map(byte_of) {
            Some(Ok(byte)) => codes.push((entry.line(), Code { byte, name, doc })),
            Some(Err(text)) => entry.refuse(source, text),
            None => {}
        }
        entry.finish(source);
    }
    let is_numeric = is_numeric.unwrap_or_default();
    check::codes(source, &name, is_numeric, &codes);
    table.finish(source);
    let codes = codes.into_iter().map(|(_, code)| code).collect();
    Enumeration { line, name, doc, is_numeric, codes }
}

/// The byte of a code, or why it is invalid.
fn byte_of(code: &Literal) -> Result<u8, String> {
    match code {
        Literal::Text(text) => match text.as_bytes() {
            &[byte] => Ok(byte),
            bytes => {
                Err(format!("code '{text}' is {} bytes wide; a code is one byte", bytes.len()))
            }
        },
        Literal::Number(number) => u8::try_from(*number)
            .map_err(|_| format!("code {number} is not from 0 to 255; a code is one byte")),
    }
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
