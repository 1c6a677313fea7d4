//! A one-byte code as a Rust enum that carries the codes it does not know.

use crate::{
    Enumeration,
    text::{array, byte_literal, comment, fill},
};

const TEMPLATE: &str = "
@doc@#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum @Name@ {
@variants@    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl @Name@ {
    /// The listed codes.
@known@
    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
@to_code@            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
@to_name@            Self::Unknown(_) => \"Unknown\",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for @Name@ {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
@from_code@            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}
";

pub(super) fn write(enumeration: &Enumeration) -> String {
    let mut variants = String::new();
    let (mut to_code, mut to_name, mut from_code) = (String::new(), String::new(), String::new());
    for code in &enumeration.codes {
        let (name, byte) = (&code.name, byte_literal(code.byte));
        let doc = format!("`{}`: {}", char::from(code.byte), code.doc);
        variants.push_str(&comment("    ///", &doc));
        variants.push_str(&format!("    {name},\n"));
        to_code.push_str(&format!("            Self::{name} => {byte},\n"));
        to_name.push_str(&format!("            Self::{name} => \"{name}\",\n"));
        from_code.push_str(&format!("            {byte} => Self::{name},\n"));
    }
    let known: Vec<_> = enumeration.codes.iter().map(|c| format!("Self::{}", c.name)).collect();
    let declaration = format!("pub const KNOWN: [Self; {}] =", known.len());
    fill(
        TEMPLATE,
        &[
            ("doc", &comment("///", &enumeration.doc)),
            ("variants", &variants),
            ("known", &array(4, &declaration, &known)),
            ("to_code", &to_code),
            ("to_name", &to_name),
            ("from_code", &from_code),
            ("Name", &enumeration.name),
        ],
    )
}
