//! Reads messages, structures, entries and their fields.

use crate::{
    Field, FieldType, Group, Layout, Literal, Protocol, Role, Tag, TagKind,
    names::{identifier, is_camel, is_snake},
    reader::{Source, Table},
};

pub(super) fn layout(
    source: &mut Source<'_>,
    protocol: &Protocol,
    mut table: Table<'_, '_>,
    role: Role,
) -> Option<Layout> {
    let name = table.text(source, "name");
    let stated = match role {
        Role::Message => table.value(source, "tag"),
        Role::Structure => table.optional_text(source, "tag").map(Literal::Text),
        Role::GroupHeader | Role::Entry => None,
    };
    let (is_message, kind) = match role {
        Role::Message => (true, protocol.tag_kind),
        _ => (false, TagKind::Char),
    };
    let tag = stated.as_ref().map(|stated| tag(kind, stated));
    let mut layout = Layout {
        line: table.line(),
        role,
        tag: tag.and_then(Result::ok),
        tag_offset: if is_message { protocol.tag_offset } else { 0 },
        name,
        title: String::new(),
        doc: String::new(),
        length: 0,
        fields: Vec::new(),
        groups: Vec::new(),
        origin: None,
    };
    let subject = match &stated {
        Some(Literal::Text(text)) if is_message => format!("message '{text}'"),
        Some(Literal::Number(number)) if is_message && layout.tag.is_none() => {
            format!("message '{number}'")
        }
        None if is_message => "message ''".into(),
        _ => layout.subject(),
    };
    table.call(subject.clone());
    identifier(source, &table, "name", &layout.name, is_camel);
    if let Some(Err(expected)) = &tag {
        table.refuse(source, format!("the tag must be {expected}"));
    }
    layout.title = table.text(source, "title");
    layout.doc = table.text(source, "doc");
    let length = table.count(source, "length");
    let mut all_read = true;
    for entry in table.tables(source, "fields") {
        match field(source, protocol, &subject, entry) {
            Some(field) => layout.fields.push(field),
            None => all_read = false,
        }
    }
    if matches!(role, Role::Message | Role::Entry) {
        let groups = table.tables(source, "groups").into_iter();
        layout.groups = groups.map(|entry| group(source, protocol, &subject, entry)).collect();
    }
    table.finish(source);
    if is_message {
        layout.fields.splice(0..0, protocol.head.iter().cloned());
    }
    layout.fields.sort_by_key(|field| field.offset);
    layout.length = length?;
    // With a field missing, the arithmetic would report the same mistake again.
    (all_read && (layout.tag.is_some() || !is_message)).then_some(layout)
}

/// The type of a message, or what was expected.
fn tag(kind: TagKind, stated: &Literal) -> Result<Tag, &'static str> {
    match (kind, stated) {
        (TagKind::Char, Literal::Text(text)) => match text.as_bytes() {
            &[byte] => Ok(Tag::Char(byte)),
            _ => Err("one byte"),
        },
        (TagKind::Char, Literal::Number(_)) => Err("a character, as 'tag_type' is not u8 or u16"),
        (TagKind::U8, Literal::Number(number)) => {
            (*number).try_into().map(Tag::U8).map_err(|_| "from 0 to 255")
        }
        (TagKind::U16, Literal::Number(number)) => {
            (*number).try_into().map(Tag::U16).map_err(|_| "from 0 to 65535")
        }
        (TagKind::U8 | TagKind::U16, Literal::Text(_)) => Err("a number, as 'tag_type' states"),
    }
}

pub(super) fn field(
    source: &mut Source<'_>,
    protocol: &Protocol,
    owner: &str,
    mut table: Table<'_, '_>,
) -> Option<Field> {
    let name = table.text(source, "name");
    table.call(format!("{owner} field '{name}'"));
    identifier(source, &table, "name", &name, is_snake);
    let offset = table.count(source, "offset");
    let type_name = table.text(source, "type");
    let kind = kind(protocol, &type_name);
    if kind.is_none() && !type_name.is_empty() {
        let text = format!("unknown type '{type_name}', and no enumeration has that name");
        table.refuse(source, text);
    }
    let doc = table.text(source, "doc");
    let codes = table.optional_text(source, "codes");
    if let Some(codes) = &codes
        && !protocol.code_lists.iter().any(|list| list.name == *codes)
    {
        table.refuse(source, format!("unknown code list '{codes}'"));
    }
    let most = table.optional_count(source, "most");
    let null = table.optional_value(source, "null");
    let null = null.and_then(|null| null_bits(source, &table, kind.as_ref()?, &null));
    let is_optional = table.flag(source, "optional");
    let line = table.line();
    table.finish(source);
    Some(Field { line, name, offset: offset?, kind: kind?, doc, codes, most, null, is_optional })
}

fn kind(protocol: &Protocol, name: &str) -> Option<FieldType> {
    if protocol.enumeration(name).is_some() {
        return Some(FieldType::Enumeration(name.into()));
    }
    if let Some(bits) = protocol.bit_set(name) {
        return Some(FieldType::Bits(name.into(), bits.width));
    }
    if name == "BlockLength" {
        // `check` completes it: the fields begin after the head.
        return Some(FieldType::BlockLength(0));
    }
    FieldType::named_in_protocol(name)
}

/// The bits of a null value, which may be stated as a negative number.
fn null_bits(
    source: &mut Source<'_>,
    table: &Table<'_, '_>,
    kind: &FieldType,
    null: &Literal,
) -> Option<u64> {
    let bits = 8 * kind.width().unwrap_or_default() as u32;
    if !kind.can_be_null() {
        let text = format!("'null' is not for {}", kind.schema_name());
        table.refuse_value(source, "null", text);
        return None;
    }
    let most = (1_i128 << bits) - 1;
    let least = -(1_i128 << (bits - 1));
    match null {
        Literal::Number(number) if (least..=most).contains(number) => {
            Some((*number as u64) & (most as u64))
        }
        _ => {
            let text = format!("'null' must be a whole number of {bits} bits");
            table.refuse_value(source, "null", text);
            None
        }
    }
}

fn group(
    source: &mut Source<'_>,
    protocol: &Protocol,
    owner: &str,
    mut table: Table<'_, '_>,
) -> Group {
    let name = table.text(source, "name");
    table.call(format!("{owner} group '{name}'"));
    identifier(source, &table, "name", &name, is_snake);
    let header = table.text(source, "header");
    let is_header = |layout: &&Layout| layout.role == Role::GroupHeader && layout.name == header;
    if !header.is_empty() && !protocol.structures.iter().any(|layout| is_header(&layout)) {
        table.refuse_value(
            source,
            "header",
            format!("no [[group_header]] has the name '{header}'"),
        );
    }
    let entry = table.text(source, "entry");
    // An entry is read before what has groups of it, so no entry contains itself.
    if !entry.is_empty() && !protocol.entries.iter().any(|layout| layout.name == entry) {
        table.refuse_value(source, "entry", format!("no [[entry]] before has the name '{entry}'"));
    }
    let doc = table.text(source, "doc");
    let line = table.line();
    table.finish(source);
    Group { line, name, header, entry, doc }
}
