//! `scripts/gpu/check libraries`: the folders that are added for the loader, on a machine that has
//! a driver and neither a toolkit nor a network.

use std::{fs, path::Path, process::Command};

use nanotape_harness::{Bounded, Scratch};

/// A folder with a copy of the script, in which nothing was built.
fn script(folder: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/gpu/check");
    let copy = folder.join("scripts/gpu/check");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(source, &copy).unwrap();
    copy.display().to_string()
}

fn library(folder: &Path, name: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), "").unwrap();
}

/// Status and output.
fn libraries(script: &str, home: &Path, path: &str) -> (Option<i32>, String) {
    let mut command = Command::new("bash");
    command.args([script, "libraries"]).env("HOME", home).env("LD_LIBRARY_PATH", path);
    let ran =
        command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").bounded_output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stdout).unwrap().trim_end().to_owned())
}

#[test]
fn the_carried_library_is_used_and_that_of_a_home_else_and_no_element_is_empty() {
    let folder = Scratch::new("gpu-script");
    fs::create_dir_all(folder.path()).unwrap();
    let (script, home) = (script(folder.path()), folder.path().join("a home"));
    // That of CUDA 11 is too old.
    library(&home, "libcufft.so.10");
    let found = home.join(".venvs/x/lib/python3/site-packages/nvidia/cufft/lib");
    library(&found, "libcufft.so.11");
    let (status, path) = libraries(&script, &home, "");
    let elements: Vec<&str> = path.split(':').collect();
    assert_eq!(status, Some(0), "{path}");
    assert!(elements.iter().all(|element| !element.is_empty()), "{path:?}");
    // A machine with a toolkit has one that comes before those of homes.
    assert!(!elements.contains(&home.display().to_string().as_str()), "{path}");
    let carried = folder.path().join("target/gpu/carry/cufft");
    library(&carried, "libcufft.so.11");
    let (status, path) = libraries(&script, &home, ":/elsewhere:");
    let elements: Vec<&str> = path.split(':').collect();
    assert_eq!((status, elements[0]), (Some(0), &*carried.display().to_string()), "{path}");
    assert!(elements.contains(&"/elsewhere") && !elements.contains(&""), "{path:?}");
}
