//! The header is the one that cbindgen writes from the source.

use std::{env, fs, path::Path};

fn written() -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let mut header = Vec::new();
    builder.with_src(package.join("src/lib.rs")).generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_that_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/nanotape.h");
    let written = written();
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == written, "include/nanotape.h: BLESS=1 rewrites it");
}
