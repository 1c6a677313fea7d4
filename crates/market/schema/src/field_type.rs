//! The types of fields: those of `nanotape-types`, under the same names.

/// Type of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// A bare unsigned integer: `u32`.
    Integer(&'static Scalar),
    /// A newtype over an integer that prints as that integer: `Shares`.
    Count(&'static Scalar),
    /// A newtype that prints in its own way: `Price4`.
    Unit(&'static Scalar),
    /// `Symbol`.
    Symbol,
    /// `Mpid`.
    Mpid,
    /// `Alpha<N>`.
    Alpha(usize),
    /// `Maybe<T>`, of a newtype.
    Maybe(Box<FieldType>),
    /// One byte of an enumeration of the schema.
    Enumeration(String),
    /// Two bytes with the number of bytes after them. The encoder writes them.
    LengthAfter,
    /// A signed integer: `i64`.
    Signed(&'static Scalar),
    /// An integer with implied decimals, in protocols only: `Decimal<i64, 4>`.
    Decimal(&'static Scalar, usize),
    /// A set of bits of the schema, with its bytes.
    Bits(String, usize),
    /// The number of bytes of the message, in one byte or two. The encoder writes it.
    MessageLength(&'static Scalar),
    /// Two bytes with the number of bytes of the fields from an offset on. The encoder writes them.
    BlockLength(usize),
    /// Two bytes with the offset of the tail, in interfaces only. The writer writes them.
    TailOffset,
    /// All remaining bytes, shown as text.
    Text,
    /// All remaining bytes, shown as hexadecimal digits.
    Bytes,
}

/// A fixed-width number of `nanotape-types`.
#[derive(PartialEq, Eq, Debug)]
pub struct Scalar {
    /// The Rust type.
    pub rust: &'static str,
    /// Bytes on the wire.
    pub width: usize,
    /// Whether one of its values means absence.
    pub has_sentinel: bool,
}

const fn scalar(rust: &'static str, width: usize, has_sentinel: bool) -> Scalar {
    Scalar { rust, width, has_sentinel }
}

static INTEGERS: [Scalar; 4] = [
    scalar("u8", 1, false),
    scalar("u16", 2, false),
    scalar("u32", 4, false),
    scalar("u64", 8, false),
];

static SIGNED: [Scalar; 4] = [
    scalar("i8", 1, false),
    scalar("i16", 2, false),
    scalar("i32", 4, false),
    scalar("i64", 8, false),
];

static COUNTS: [Scalar; 6] = [
    scalar("StockLocate", 2, false),
    scalar("TrackingNumber", 2, false),
    scalar("OrderReferenceNumber", 8, true),
    scalar("MatchNumber", 8, false),
    scalar("Shares", 4, false),
    scalar("TotalShares", 8, false),
];

static UNITS: [Scalar; 4] = [
    scalar("Price4", 4, true),
    scalar("Price8", 8, false),
    scalar("NanosSinceMidnight", 6, false),
    scalar("SecondsSinceMidnight", 4, true),
];

/// Times that only protocols have.
static TIMES: [Scalar; 3] = [
    scalar("NanosSinceEpoch", 8, false),
    scalar("SecondsSinceEpoch", 4, false),
    scalar("NanosOffset", 4, false),
];

/// The most decimal places of a `Decimal`.
const MOST_PLACES: usize = 18;

fn find(table: &'static [Scalar], name: &str) -> Option<&'static Scalar> {
    table.iter().find(|scalar| scalar.rust == name)
}

impl FieldType {
    /// The type of that name, except enumerations.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(inner) = name.strip_prefix("Maybe<").and_then(|rest| rest.strip_suffix('>')) {
            let inner = Self::named(inner)?;
            return inner.has_sentinel().then(|| Self::Maybe(Box::new(inner)));
        }
        if let Some(width) = name.strip_prefix("Alpha<").and_then(|rest| rest.strip_suffix('>')) {
            return width.parse().ok().filter(|width| (1..=64).contains(width)).map(Self::Alpha);
        }
        match name {
            "Symbol" => Some(Self::Symbol),
            "Mpid" => Some(Self::Mpid),
            "LengthAfter" => Some(Self::LengthAfter),
            "Text" => Some(Self::Text),
            "Bytes" => Some(Self::Bytes),
            _ => find(&INTEGERS, name)
                .map(Self::Integer)
                .or_else(|| find(&COUNTS, name).map(Self::Count))
                .or_else(|| find(&UNITS, name).map(Self::Unit)),
        }
    }

    /// The type of that name in a protocol, except enumerations, sets of bits and `BlockLength`,
    /// which depend on the schema.
    pub fn named_in_protocol(name: &str) -> Option<Self> {
        let of = |start: &str| name.strip_prefix(start)?.strip_suffix('>');
        if let Some(inner) = of("Decimal<") {
            let (integer, places) = inner.split_once(',')?;
            let integer = find(&INTEGERS, integer).or_else(|| find(&SIGNED, integer))?;
            let places = places.trim_start().parse().ok();
            return Some(Self::Decimal(integer, places.filter(|places| *places <= MOST_PLACES)?));
        }
        if let Some(integer) = of("MessageLength<") {
            let integer = find(&INTEGERS, integer).filter(|integer| integer.width <= 2)?;
            return Some(Self::MessageLength(integer));
        }
        Self::named(name)
            .or_else(|| find(&SIGNED, name).map(Self::Signed))
            .or_else(|| find(&TIMES, name).map(Self::Unit))
    }

    /// The type of that name in an interface.
    pub fn named_in_interface(name: &str) -> Option<Self> {
        match name {
            "LengthAfter" => None,
            "TailOffset" => Some(Self::TailOffset),
            _ => Self::named(name).or_else(|| find(&SIGNED, name).map(Self::Signed)),
        }
    }

    /// The types of an interface; `N` of `Alpha` is 1 to 64.
    pub fn names_in_interfaces() -> Vec<String> {
        let plain = INTEGERS.iter().chain(&SIGNED).chain(&COUNTS).chain(&UNITS);
        let plain = plain.map(|scalar| scalar.rust.to_owned());
        let with_sentinel = COUNTS.iter().chain(&UNITS).filter(|scalar| scalar.has_sentinel);
        let optional = with_sentinel.map(|scalar| format!("Maybe<{}>", scalar.rust));
        let others = ["Symbol", "Mpid", "Alpha<N>", "TailOffset", "Text", "Bytes"];
        plain.chain(optional).chain(others.map(str::to_owned)).collect()
    }

    /// The type of that name in a value: one that a word of 8 bytes has room for, and whose bytes
    /// can be aligned.
    pub fn named_in_value(name: &str) -> Option<Self> {
        let kind = Self::named_in_interface(name).filter(|kind| *kind != Self::TailOffset)?;
        kind.width().is_some_and(|width| width.is_power_of_two() && width <= 8).then_some(kind)
    }

    /// The types of a value; `N` of `Alpha` is 1, 2, 4 or 8.
    pub fn names_in_values() -> Vec<String> {
        let mut names = Self::names_in_interfaces();
        names.retain(|name| name == "Alpha<N>" || Self::named_in_value(name).is_some());
        names
    }

    fn has_sentinel(&self) -> bool {
        match self {
            Self::Count(scalar) | Self::Unit(scalar) => scalar.has_sentinel,
            _ => false,
        }
    }

    /// Bytes on the wire, or `None` for a tail.
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Integer(scalar) | Self::Signed(scalar) => Some(scalar.width),
            Self::Count(scalar) | Self::Unit(scalar) => Some(scalar.width),
            Self::Decimal(scalar, _) | Self::MessageLength(scalar) => Some(scalar.width),
            Self::Bits(_, width) => Some(*width),
            Self::Symbol => Some(8),
            Self::Mpid => Some(4),
            Self::Alpha(width) => Some(*width),
            Self::Maybe(inner) => inner.width(),
            Self::Enumeration(_) => Some(1),
            Self::LengthAfter | Self::TailOffset | Self::BlockLength(_) => Some(2),
            Self::Text | Self::Bytes => None,
        }
    }

    /// The type that a getter returns.
    pub fn rust(&self) -> String {
        match self {
            Self::Integer(scalar) | Self::Signed(scalar) => scalar.rust.into(),
            Self::Count(scalar) | Self::Unit(scalar) => scalar.rust.into(),
            Self::Symbol => "Symbol".into(),
            Self::Mpid => "Mpid".into(),
            Self::Alpha(width) => format!("Alpha<{width}>"),
            Self::Maybe(inner) => format!("Maybe<{}>", inner.rust()),
            Self::Enumeration(name) | Self::Bits(name, _) => name.clone(),
            Self::Decimal(scalar, places) => format!("Decimal<{}, {places}>", scalar.rust),
            Self::MessageLength(scalar) => scalar.rust.into(),
            Self::LengthAfter | Self::TailOffset | Self::BlockLength(_) => "u16".into(),
            Self::Text | Self::Bytes => "&'a [u8]".into(),
        }
    }

    /// The name in the schema and in the documents.
    pub fn schema_name(&self) -> String {
        match self {
            Self::LengthAfter => "LengthAfter".into(),
            Self::TailOffset => "TailOffset".into(),
            Self::Text => "Text".into(),
            Self::Bytes => "Bytes".into(),
            Self::MessageLength(scalar) => format!("MessageLength<{}>", scalar.rust),
            Self::BlockLength(_) => "BlockLength".into(),
            _ => self.rust(),
        }
    }

    /// The names to import from `nanotape_types`.
    pub fn imports(&self) -> Vec<&'static str> {
        match self {
            Self::Count(scalar) | Self::Unit(scalar) => vec![scalar.rust],
            Self::Symbol => vec!["Symbol"],
            Self::Mpid => vec!["Mpid"],
            Self::Alpha(_) => vec!["Alpha"],
            Self::Decimal(..) => vec!["Decimal"],
            Self::Maybe(inner) => [inner.imports(), vec!["Maybe"]].concat(),
            _ => Vec::new(),
        }
    }

    /// Whether a number of its width can mean absence.
    pub fn can_be_null(&self) -> bool {
        match self {
            Self::Integer(_) | Self::Signed(_) | Self::Count(_) | Self::Decimal(..) => true,
            Self::Unit(scalar) => scalar.width.is_power_of_two(),
            _ => false,
        }
    }

    /// Whether the encoder computes the value.
    pub fn is_computed(&self) -> bool {
        matches!(self, Self::LengthAfter | Self::MessageLength(_) | Self::BlockLength(_))
    }

    /// Whether the value is text of a fixed width.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Symbol | Self::Mpid | Self::Alpha(_))
    }
}
