//! One file for each of the other exchanges in `testdata/`: bytes, text and JSON of every message,
//! made from field values. `BLESS=1` rewrites the files; see the README there.

use std::{env, fs, path::PathBuf};

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosOffset, NanosSinceEpoch, OrderReferenceNumber,
    SecondsSinceEpoch, SecondsSinceMidnight, Shares, Symbol,
};

mod iex;
mod pitch;

fn symbol(text: &str) -> Symbol {
    text.parse().expect("a symbol")
}

/// The messages of a feed, with the types that they have.
#[derive(Default)]
struct Golden {
    content: String,
    tags: Vec<u8>,
}

impl Golden {
    /// Compares with the file, and checks that every listed type is in it.
    #[track_caller]
    fn check(mut self, name: &str, tags: &[u8]) {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata"));
        let path = folder.join(name);
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &self.content).expect("the file can be written");
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(self.content, golden, "{name}: BLESS=1 rewrites it, if that is what you want");
        let mut listed = tags.to_vec();
        listed.sort_unstable();
        self.tags.sort_unstable();
        self.tags.dedup();
        assert_eq!(self.tags, listed, "{name}: every type is in it");
    }
}

/// Adds messages from their fields.
macro_rules! add {
    ($golden:ident, $protocol:ident: $($Fields:ident { $($field:ident: $value:expr),* $(,)? })*) => {$({
        let encoded = $protocol::$Fields { $($field: $value),* }.encode();
        crate::golden_exchanges::add!(@bytes $golden, $protocol, &encoded);
    })*};
    (@bytes $golden:ident, $protocol:ident, $bytes:expr) => {{
        let bytes: &[u8] = $bytes;
        let message = $protocol::Message::decode(bytes).expect("it was encoded");
        let mut buffer = [0; 255];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        $golden.tags.push(message.tag());
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        $golden.content.push_str(&hex);
        $golden.content.push('\n');
        message.write_text(&mut $golden.content).expect("a String takes any text");
        $golden.content.push('\n');
        message.write_json(&mut $golden.content).expect("a String takes any text");
        $golden.content.push_str("\n\n");
    }};
}
use add;
