//! The version of the programs, and what the linker makes of the shared library.

#[path = "../cli/build.rs"]
mod version;

fn main() {
    version::main();
    // A handler of SIGBUS stays for the life of the process, so its code has to.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
