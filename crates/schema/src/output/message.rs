//! The enum of all messages of a protocol.

use crate::{
    Field, Layout, Protocol,
    text::{arm, comment, fill, list},
};

const TEMPLATE: &str = "
/// Where the type byte of a message stands.
pub const TAG_OFFSET: usize = @tag_offset@;

/// The type bytes of all messages, in the order of the schema.
@tags@
/// Bytes of the longest message of fixed length.
pub const LONGEST: usize = @longest@;

static LENGTHS: [u16; 256] = {
    let mut lengths = [0; 256];
@lengths@    lengths
};

/// The one length that a message of type `tag` may have, or `None` if the type is unknown or its
/// length varies.
#[inline]
pub const fn length_of(tag: u8) -> Option<usize> {
    match LENGTHS[tag as usize] {
        0 => None,
        length => Some(length as usize),
    }
}

/// Any message. Unlisted types are passed on and never refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
@variants@    /// A message of another type.
    Unknown(Unknown<'a>),
}

impl<'a> Message<'a> {
    /// Looks at the type byte and checks what `wrap` of that type checks.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Some(&tag) = bytes.get(TAG_OFFSET) else {
            return Err(codec::no_tag(TAG_OFFSET, bytes));
        };
        match tag {
@decodes@            _ => Ok(Self::Unknown(Unknown(bytes))),
        }
    }

    /// Writes the bytes to the front of `buffer` and returns them. They are made from the fields,
    /// except those of an unknown message, which are copied.
    pub fn encode(self, buffer: &mut [u8]) -> Result<&[u8], EncodeError> {
        match self {
@encodes@            Self::Unknown(message) => codec::copy(\"Unknown\", message.0, buffer),
        }
    }

    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        match self {
@to_tag@            Self::Unknown(message) => message.tag(),
        }
    }

    /// Name in the specification.
    pub fn name(self) -> &'static str {
        match self {
@to_name@            Self::Unknown(_) => \"Unknown\",
        }
    }

    /// The bytes themselves.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
@to_bytes@            Self::Unknown(message) => message.0,
        }
    }

@common@    /// Writes one line of text, without an end of line.
    pub fn write_text(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_text(self, out)
    }

    /// Writes one JSON object.
    pub fn write_json(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_json(self, out)
    }
}

impl<'a> Describe<'a> for Message<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(self.tag())
    }

    fn type_name(self) -> &'static str {
        match self {
@to_type_name@            Self::Unknown(_) => \"Unknown\",
        }
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        match self {
@visits@            Self::Unknown(message) => visitor.field(\"bytes\", Value::Bytes(message.0)),
        }
    }
}

/// A message whose type byte is not listed, with all its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown<'a>(&'a [u8]);

impl<'a> Unknown<'a> {
    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        self.0.get(TAG_OFFSET).copied().unwrap_or_default()
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}
";

pub(super) fn write(protocol: &Protocol) -> String {
    let messages = &protocol.messages;
    let each = |make: &dyn Fn(&Layout) -> String| -> String { messages.iter().map(make).collect() };
    let arms = |binding: &str, make: fn(&Layout) -> String| {
        each(&|m| arm(&format!("Self::{}({binding})", m.name), &make(m)))
    };
    let tags: Vec<String> = messages.iter().map(|m| format!("{}::TAG", m.name)).collect();
    let fixed = || messages.iter().filter(|m| m.tail().is_none());
    let lengths: String = fixed()
        .map(|m| format!("    lengths[{0}::TAG as usize] = {0}::LEN as u16;\n", m.name))
        .collect();
    let longest = fixed().map(|m| m.length).max().unwrap_or_default();
    fill(
        TEMPLATE,
        &[
            ("tag_offset", &protocol.tag_offset.to_string()),
            ("tags", &list(0, "pub const TAGS: &[u8] = &[", &tags, "];")),
            ("longest", &longest.to_string()),
            ("lengths", &lengths),
            ("variants", &each(&variant)),
            (
                "decodes",
                &each(&|m| {
                    let wrap = format!("{0}::wrap(bytes).map(Self::{0})", m.name);
                    arm(&format!("{}::TAG", m.name), &wrap)
                }),
            ),
            ("encodes", &each(&encode)),
            ("to_tag", &arms("_", |m| format!("{}::TAG", m.name))),
            ("to_name", &arms("_", |m| format!("{}::NAME", m.name))),
            ("to_bytes", &arms("message", |_| "message.as_bytes()".into())),
            ("to_type_name", &arms("_", |m| format!("\"{}\"", m.name))),
            ("visits", &arms("message", |_| "message.for_each_field(visitor)".into())),
            ("common", &common(protocol)),
        ],
    )
}

fn variant(message: &Layout) -> String {
    let tag = message.tag.map_or(' ', char::from);
    let doc = comment("    ///", &format!("`{tag}` {}.", message.title));
    format!("{doc}    {0}({0}<'a>),\n", message.name)
}

fn encode(message: &Layout) -> String {
    let name = &message.name;
    let body = match message.tail() {
        Some(_) => "message.fields().encode(buffer)".into(),
        None => format!("codec::copy({name}::NAME, &message.fields().encode(), buffer)"),
    };
    arm(&format!("Self::{name}(message)"), &body)
}

/// Getters for what all messages have, and for the shared fields.
fn common(protocol: &Protocol) -> String {
    let mut out = String::new();
    for field in &protocol.head {
        let doc = format!("{} `None` for an unknown message.", field.doc);
        out.push_str(&common_getter(protocol, field, &doc));
    }
    for name in &protocol.shared {
        let mut all = protocol.messages.iter().flat_map(|m| &m.fields);
        if let Some(field) = all.find(|field| field.name == *name) {
            let doc = format!("The field `{name}`, of a message that has one.");
            out.push_str(&common_getter(protocol, field, &doc));
        }
    }
    out
}

fn common_getter(protocol: &Protocol, field: &Field, doc: &str) -> String {
    let name = &field.name;
    let mut arms = String::new();
    let mut is_everywhere = true;
    for message in &protocol.messages {
        if message.fields.iter().any(|other| other.name == *name) {
            let message = &message.name;
            let body = format!("Some(message.{name}())");
            arms.push_str(&arm(&format!("Self::{message}(message)"), &body));
        } else {
            is_everywhere = false;
        }
    }
    let rest = if is_everywhere { "Self::Unknown(_)" } else { "_" };
    arms.push_str(&format!("            {rest} => None,\n"));
    fill(
        "@doc@    #[inline]
    pub fn @name@(self) -> Option<@Type@> {
        match self {
@arms@        }
    }

",
        &[
            ("doc", &comment("    ///", doc)),
            ("name", name),
            ("Type", &field.kind.rust()),
            ("arms", &arms),
        ],
    )
}
