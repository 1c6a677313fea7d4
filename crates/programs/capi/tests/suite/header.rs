//! The header is the one that cbindgen writes from the source, and the guide has what it has.

use std::{env, fs, path::Path};

use nanotape_harness::Scratch;

use crate::support::{Language, succeeds};

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

fn guide() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/c.md")).unwrap()
}

#[test]
fn the_guide_has_every_function_and_every_status() {
    let (written, guide) = (written(), guide());
    let code = written.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut names = Vec::new();
    for line in code {
        let before = line.split('(').next().filter(|before| before.len() < line.len());
        let called = before.and_then(|before| before.rsplit([' ', '*']).next());
        let status = line.trim().split(" = ").next().filter(|name| name.starts_with("NT_STATUS_"));
        names.extend(called.filter(|name| name.starts_with("nt_")).or(status));
    }
    assert!(names.len() > 25, "{names:?}");
    let missing: Vec<_> =
        names.iter().filter(|name| !guide.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_program_of_the_guide_compiles() {
    let guide = guide();
    let (_, program) = guide.split_once("```c\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let headers =
        ["inttypes.h", "stdio.h", "nanotape.h"].map(|name| format!("#include <{name}>\n"));
    let source = Scratch::new("guide");
    let text = format!("{}int main(void) {{\n{program}return 0;\n}}\n", headers.concat());
    fs::write(source.path(), text).unwrap();
    for language in Language::ALL {
        if let Some(mut compiler) = language.compiler() {
            succeeds(compiler.arg("-fsyntax-only").arg(source.path()));
        }
    }
}
