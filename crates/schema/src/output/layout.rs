//! One message or structure: a view with getters, the struct of its fields, and the encoder.

use crate::{
    Field, FieldType, Layout,
    text::{arm, byte_literal, comment, fill, list, literal},
};

const FIXED_VIEW: &str = "
@doc@#[derive(Clone, Copy, PartialEq, Eq)]
pub struct @Name@<'a>(&'a [u8; @LEN@]);

impl<'a> @Name@<'a> {
@tag_const@    /// Bytes in all.
    pub const LEN: usize = @LEN@;
    /// Name in the specification.
    pub const NAME: &'static str = \"@title@\";

@shape@
    /// Checks @checks@; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; @LEN@]>::try_from(bytes) {
            Ok(whole)@guard@ => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }
@prefix@
    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; @LEN@] {
        self.0
    }
";

const PREFIX: &str = "
    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<@LEN@>() {
            Some((whole, rest))@guard@ => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }
";

const TAILED_VIEW: &str = "
@doc@#[derive(Clone, Copy, PartialEq, Eq)]
pub struct @Name@<'a> {
    fixed: &'a [u8; @LEN@],
    whole: &'a [u8],
}

impl<'a> @Name@<'a> {
@tag_const@    /// Bytes before the variable-length last field.
    pub const LEN: usize = @LEN@;
    /// Name in the specification.
    pub const NAME: &'static str = \"@title@\";

@shape@
    /// Checks @checks@; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<@LEN@>() {
@accept@            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.whole
    }
";

const AFTER_GETTERS: &str = "
    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> @Fields@ {
@copies@    }
}

impl fmt::Debug for @Name@<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for @Name@<'a> {
    fn type_byte(self) -> Option<u8> {
        @type_byte@
    }

    fn type_name(self) -> &'static str {
        \"@Name@\"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
@visits@    }
}

/// The fields of [`@Name@`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct @Fields@@struct_body@

impl @FieldsAnon@ {
";

const FIXED_ENCODER: &str = "    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; @LEN@] {
        let mut bytes = [0; @LEN@];
@puts@        bytes
    }
}
";

const TAILED_ENCODER: &str = "    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; @LEN@];
@puts@        codec::join(&@Name@::SHAPE, &bytes, self.@tail@, buffer)
    }
}
";

pub(super) fn write(layout: &Layout) -> String {
    let len = layout.length.to_string();
    let tail = layout.tail();
    let lifetime = if tail.is_some() { "<'a>" } else { "" };
    let anonymous = if tail.is_some() { "<'_>" } else { "" };
    let (view, encoder) = match tail {
        Some(_) => (TAILED_VIEW, TAILED_ENCODER),
        None => (FIXED_VIEW, FIXED_ENCODER),
    };
    let tag = layout.tag.map(byte_literal);
    let guard = guard(layout);
    let prefix = match (layout.is_message, tail) {
        (false, None) => fill(PREFIX, &[("guard", &guard), ("LEN", &len)]),
        _ => String::new(),
    };
    let template = [view, &getters(layout), AFTER_GETTERS, encoder].concat();
    fill(
        &template,
        &[
            ("doc", &view_doc(layout)),
            ("tag_const", &tag_const(tag.as_deref())),
            ("shape", &shape(layout)),
            ("checks", checks(layout)),
            ("accept", &accept(&guard)),
            ("guard", &guard),
            ("prefix", &prefix),
            ("copies", &copies(layout)),
            ("type_byte", if tag.is_some() { "Some(Self::TAG)" } else { "None" }),
            ("visits", &visits(layout)),
            ("struct_body", &struct_body(layout)),
            ("puts", &puts(layout)),
            ("tail", tail.map_or("", |tail| &tail.name)),
            ("FieldsAnon", &format!("{}Fields{anonymous}", layout.name)),
            ("Fields", &format!("{}Fields{lifetime}", layout.name)),
            ("Name", &layout.name),
            ("title", &layout.title),
            ("LEN", &len),
        ],
    )
}

fn view_doc(layout: &Layout) -> String {
    let what = match layout.tag {
        Some(tag) => format!("`{}` {}. {}", char::from(tag), layout.title, layout.doc),
        None => format!("{}. {}", layout.title, layout.doc),
    };
    let size = match layout.tail() {
        Some(_) => format!("\n{} bytes or more.", layout.length),
        None => format!("\n{} bytes.", layout.length),
    };
    let [what, _, size] = [what, String::new(), size].map(|text| comment("///", text.trim()));
    format!("{what}///\n{size}")
}

fn tag_const(tag: Option<&str>) -> String {
    tag.map_or(String::new(), |tag| format!("    /// Type byte.\n    pub const TAG: u8 = {tag};\n"))
}

fn checks(layout: &Layout) -> &'static str {
    match (layout.tag.is_some(), layout.length_field().is_some()) {
        (true, true) => "lengths and type byte",
        (true, false) => "length and type byte",
        _ => "the length",
    }
}

fn shape(layout: &Layout) -> String {
    let tag = match layout.tag {
        Some(tag) => format!("Some(({}, {}))", layout.tag_offset, byte_literal(tag)),
        None => "None".into(),
    };
    let most = match layout.tail() {
        Some(tail) => format!("Some({})", tail.most.map_or("usize::MAX".into(), |m| m.to_string())),
        None => "None".into(),
    };
    let length_at = layout.length_field().map_or("None".into(), |f| format!("Some({})", f.offset));
    let items = [
        "name: Self::NAME".into(),
        format!("tag: {tag}"),
        "length: Self::LEN".into(),
        format!("tail: {most}"),
        format!("length_at: {length_at}"),
    ];
    let own_line = literal(8, "Shape", &items, "};");
    if own_line.lines().count() == 1 {
        return format!("    const SHAPE: Shape =\n{own_line}");
    }
    literal(4, "const SHAPE: Shape = Shape", &items, "};")
}

/// What the bytes must show beyond their count for `wrap` to accept them.
fn guard(layout: &Layout) -> String {
    let fixed = if layout.tail().is_some() { "fixed" } else { "whole" };
    let all = if layout.tail().is_some() { "bytes" } else { "whole" };
    let mut terms = Vec::new();
    if layout.tag.is_some() {
        terms.push(format!("{fixed}[{}] == Self::TAG", layout.tag_offset));
    }
    if let Some(most) = layout.tail().and_then(|tail| tail.most) {
        terms.push(format!("bytes.len() <= Self::LEN + {most}"));
    }
    if let Some(field) = layout.length_field() {
        terms.push(format!("codec::counts_rest({}, {all})", field.offset));
    }
    if terms.is_empty() { String::new() } else { format!(" if {}", terms.join(" && ")) }
}

/// The arm that accepts bytes with a tail.
fn accept(guard: &str) -> String {
    let body = "Ok(Self { fixed, whole: bytes })";
    let short = arm(&format!("Some(fixed){guard}"), body);
    if short.lines().all(|line| line.len() <= 100) {
        return short;
    }
    let guard = guard.replace(" && ", "\n                    && ");
    format!(
        "            Some(fixed)
               {guard} =>
            {{
                {body}
            }}
"
    )
}

fn getters(layout: &Layout) -> String {
    let fixed = if layout.tail().is_some() { "self.fixed" } else { "self.0" };
    let mut out = String::new();
    for field in &layout.fields {
        let (body, place) = match field.end() {
            Some(end) => {
                let width = end - field.offset;
                let bytes = format!("*codec::field::<{}, {width}, _>({fixed})", field.offset);
                (format!("WireValue::from_be_bytes({bytes})"), place(field.offset, end))
            }
            None => (
                "self.whole.get(Self::LEN..).unwrap_or_default()".into(),
                format!("From byte {}", field.offset),
            ),
        };
        out.push('\n');
        out.push_str(&comment("    ///", &format!("{place}. {}", with_codes(field))));
        out.push_str(&fill(
            "    #[inline]
    pub fn @field@(self) -> @Type@ {
        @body@
    }
",
            &[("field", &field.name), ("Type", &field.kind.rust()), ("body", &body)],
        ));
    }
    out
}

fn place(offset: usize, end: usize) -> String {
    if end == offset + 1 { format!("Byte {offset}") } else { format!("Bytes {offset}..{end}") }
}

fn with_codes(field: &Field) -> String {
    match &field.codes {
        Some(codes) => format!("{} Codes: {codes} in the document.", field.doc),
        None => field.doc.clone(),
    }
}

fn copies(layout: &Layout) -> String {
    let name = &layout.name;
    if layout.chosen_fields().next().is_none() {
        return format!("        {name}Fields {{}}\n");
    }
    let items: Vec<String> =
        layout.chosen_fields().map(|field| format!("{0}: self.{0}()", field.name)).collect();
    literal(8, &format!("{name}Fields"), &items, "}")
}

fn struct_body(layout: &Layout) -> String {
    if layout.chosen_fields().next().is_none() {
        return " {}".into();
    }
    let mut out = String::from(" {\n");
    for field in layout.chosen_fields() {
        out.push_str(&comment("    ///", &with_codes(field)));
        out.push_str(&format!("    pub {}: {},\n", field.name, field.kind.rust()));
    }
    out + "}"
}

fn visits(layout: &Layout) -> String {
    let fixed = if layout.tail().is_some() { "self.fixed" } else { "self.0" };
    let count = layout.fields.len();
    if count == 0 {
        return "        let _ = visitor;\n        Ok(())\n".into();
    }
    let mut out = String::new();
    for (index, field) in layout.fields.iter().enumerate() {
        let value = value(field, fixed);
        let end = if index + 1 == count { "" } else { "?;" };
        let arguments = ["visitor".into(), format!("\"{}\"", field.name), value];
        out.push_str(&list(8, "V::field(", &arguments, &format!("){end}")));
    }
    out
}

fn value(field: &Field, fixed: &str) -> String {
    let name = &field.name;
    let (offset, width) = (field.offset, field.kind.width().unwrap_or_default());
    match &field.kind {
        FieldType::Integer(scalar) if scalar.rust == "u64" => {
            format!("Value::Integer(self.{name}())")
        }
        FieldType::Integer(_) | FieldType::LengthAfter => {
            format!("Value::Integer(self.{name}().into())")
        }
        FieldType::Count(scalar) if scalar.width == 8 => {
            format!("Value::Integer(self.{name}().get())")
        }
        FieldType::Count(_) => format!("Value::Integer(self.{name}().get().into())"),
        FieldType::Unit(scalar) => format!("Value::{}(self.{name}())", scalar.rust),
        FieldType::Symbol | FieldType::Mpid | FieldType::Alpha(_) => {
            format!("Value::Text(codec::field::<{offset}, {width}, _>({fixed}))")
        }
        FieldType::Maybe(inner) => match &**inner {
            FieldType::Unit(scalar) => {
                let rust = scalar.rust;
                format!("self.{name}().map(Value::{rust}).unwrap_or(Value::Absent)")
            }
            _ => {
                let number = format!("self.{name}().map(|n| Value::Integer(n.get()))");
                format!("{number}.unwrap_or(Value::Absent)")
            }
        },
        FieldType::Enumeration(_) => {
            format!("self.{name}().value()")
        }
        FieldType::Text => format!("Value::Text(self.{name}())"),
        FieldType::Bytes => format!("Value::Bytes(self.{name}())"),
    }
}

fn puts(layout: &Layout) -> String {
    let mut out = String::new();
    if layout.tag.is_some() {
        out.push_str(&format!("        bytes[{}] = {}::TAG;\n", layout.tag_offset, layout.name));
    }
    for field in layout.fixed_fields() {
        let (name, offset) = (&field.name, field.offset);
        let value = match &field.kind {
            // With a tail, `join` knows the length and writes it.
            FieldType::LengthAfter if layout.tail().is_some() => continue,
            FieldType::LengthAfter => format!("{}_u16", layout.length - offset - 2),
            _ => format!("self.{name}"),
        };
        let arguments = ["&mut bytes".into(), format!("WireValue::to_be_bytes({value})")];
        out.push_str(&list(8, &format!("codec::put::<{offset}, _, _>("), &arguments, ");"));
    }
    out
}
