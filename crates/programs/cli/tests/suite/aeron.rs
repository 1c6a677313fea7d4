//! `nanotape ring publish-aeron` and taps of Aeron streams: options and refusals. The streams
//! themselves need a program with the feature `aeron`.

#[cfg(feature = "aeron")]
mod streams;

#[cfg(not(feature = "aeron"))]
use crate::support::nanotape_fed;
use crate::support::{Folder, nanotape, plants::Ring};

/// The line of a command that ends with status 2.
fn refused(arguments: &[&str]) -> String {
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
    ran.stderr.lines().last().unwrap().to_owned()
}

#[test]
fn an_address_that_is_wrong_is_named() {
    let ring = Ring::new("aeron-addresses");
    for (channel, expected) in [
        ("equities", "invalid Aeron channel: use aeron:udp?endpoint=HOST:PORT or aeron:ipc"),
        ("aeron:udp", "invalid Aeron channel"),
        ("aeron:ipc?stream=7", "give the number with --stream only"),
    ] {
        let publish = ["ring", "publish-aeron", ring.path(), "--channel", channel, "--stream", "7"];
        let line = refused(&publish);
        assert!(line.contains(channel) && line.contains(expected), "{line}");
    }
    for (input, expected) in [
        ("aeron:ipc", "no stream: add it as a parameter, as in aeron:ipc?stream=7"),
        ("aeron:tcp?stream=7", "invalid Aeron channel"),
        ("aeron:ipc?stream=seven", "no stream"),
    ] {
        let line = refused(&["tap", input]);
        assert!(line.contains(input) && line.contains(expected), "{line}");
    }
}

#[test]
fn options_that_a_stream_does_not_have_are_refused() {
    let input = "aeron:ipc?stream=7";
    for (options, expected) in [
        (&["--name", "one"][..], "to which --name does not apply"),
        (&["--from", "09:45"], "to which --from with a time does not apply"),
        (&["--run", "1"], "does not apply"),
        (&["--from", "5"], "begins with what arrives: --from needs the journal of the ring"),
        (&["--from", "oldest"], "add --heal JOURNAL"),
        (&["--whole"], "--whole needs the journal of the ring: add --heal JOURNAL"),
    ] {
        let line = refused(&[&["tap", input], options].concat());
        assert!(line.contains(input) && line.contains(expected), "{line}");
    }
    let folder = Folder::new("aeron-options");
    for option in [&["--embedded-driver"][..], &["--aeron-dir", "/x"]] {
        let line = refused(&[&["tap", &folder.path("ring")], option].concat());
        assert!(
            line.contains(&format!("is no Aeron stream, to which alone {} applies", option[0]))
        );
    }
}

#[cfg(not(feature = "aeron"))]
#[test]
fn a_program_without_the_feature_says_how_to_build_it() {
    let ring = Ring::new("aeron-feature");
    nanotape_fed(["ring", "publish", ring.path()], b"one\n");
    let publish = ["ring", "publish-aeron", ring.path(), "--channel", "aeron:ipc", "--stream", "7"];
    for arguments in [&publish[..], &["tap", "aeron:ipc?stream=7"]] {
        let line = refused(arguments);
        assert!(line.contains("aeron:ipc?stream=7: this nanotape was built without"), "{line}");
        assert!(
            line.ends_with("cargo install --locked --path crates/programs/cli --features aeron")
        );
    }
    let help = nanotape(["ring", "publish-aeron", "--help"]).stdout;
    assert!(help.contains("this nanotape was built without the feature aeron"), "{help}");
}
