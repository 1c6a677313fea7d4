//! A journal on several machines, which one configuration describes.

use std::fs;

use nanotape_harness::{eventually, unused_address};
use rustix::process::Signal;

use crate::support::{Folder, nanotape, nanotape_fed, running::Running};

/// A configuration of three machines with certificates.
fn configure(folder: &Folder, leader: &str) -> String {
    let path = folder.path(&format!("{leader}.toml"));
    let mut text = format!(
        "leader = \"{leader}\"\ncertificates = \"{}\"\ncommits = true\n",
        folder.path("certificates")
    );
    for name in ["london", "berlin", "paris"] {
        text += &format!(
            "[machines.{name}]\naddress = \"{}\"\njournal = \"{}\"\nexpected = true\n",
            unused_address(),
            folder.path(name)
        );
    }
    fs::write(&path, text).unwrap();
    path
}

fn join(config: &str, name: &str) -> Running {
    let mut running = Running::start(&["journal", "join", config, "--as", name]);
    running.read_line();
    running
}

fn append(journal: &str, options: &[&str], lines: &str) -> (i32, String) {
    let ran = nanotape_fed([&["journal", "append", journal], options].concat(), lines.as_bytes());
    (ran.status, ran.stderr)
}

fn sums(journal: &str) -> String {
    nanotape(["journal", "verify", journal, "--digest"]).stdout
}

/// Status and standard error of a join that does not begin.
fn refused(config: &str, name: &str) -> (i32, String) {
    let ran = nanotape(["journal", "join", config, "--as", name]);
    (ran.status, ran.stderr)
}

#[test]
fn one_configuration_says_who_leads_and_who_follows() {
    let folder = Folder::new("joined");
    let certificates = folder.path("certificates");
    let made = nanotape(["certificates", &certificates, "london", "berlin", "paris"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let (london, berlin, paris) =
        (folder.path("london"), folder.path("berlin"), folder.path("paris"));
    assert_eq!(append(&london, &[], "one\ntwo\n"), (0, String::new()));

    let config = configure(&folder, "london");
    let mut machines = ["london", "berlin", "paris"].map(|name| join(&config, name));
    let (status, complained) = append(&london, &["--commit", "all"], "three\n");
    assert_eq!(status, 0, "{complained}");
    assert_eq!(sums(&berlin), sums(&london));
    assert_eq!(sums(&paris), sums(&london));
    for machine in machines.iter_mut().rev() {
        machine.signal(Signal::TERM);
        let (status, _, complained) = machine.end();
        assert_eq!(status, Some(0), "{complained}");
    }

    // The next leader has the same file with its own name in it, once it is promoted.
    let config = configure(&folder, "berlin");
    let (status, complained) = refused(&config, "berlin");
    assert!(complained.contains("run `nanotape journal promote` first"), "{complained}");
    assert_eq!(status, 2);
    let promoted = nanotape(["journal", "promote", &berlin]);
    assert_eq!(promoted.status, 0, "{}", promoted.stderr);
    let _machines = ["berlin", "london", "paris"].map(|name| join(&config, name));
    let (status, complained) = append(&berlin, &["--commit", "all"], "four\n");
    assert_eq!(status, 0, "{complained}");
    eventually("the former leader has it", || sums(&london) == sums(&berlin));
    eventually("the other follower has it", || sums(&paris) == sums(&berlin));
}

#[test]
fn a_configuration_is_refused_with_what_is_wrong_in_it() {
    let folder = Folder::new("joined-wrong");
    let config = folder.path("replication.toml");
    let machine = "[machines.a]\naddress = \"127.0.0.1:7000\"\njournal = \"a\"\n";
    for (text, expected) in [
        ("leader = \"b\"\nplain = true\n", "leader 'b' is no machine of it; it has a"),
        ("leader = \"a\"\n", "machine 'a' has no certificates"),
        (
            "leader = \"a\"\nplain = true\nlaeder = 1\n",
            "line 3: unknown field `laeder`, did you mean",
        ),
        ("leader = \"a\"\nplain = true\nwait = \"spim\"\n", "invalid value 'spim' for '--wait"),
        ("leader = \"a\"\nplain = true\nheartbeat = \"soon\"\n", "'--heartbeat <TIME>'"),
        ("leader = \"a\"\nplain = true\npatience = \"soon\"\n", "'--patience <TIME>'"),
        ("leader = \"a\"\n[machines.b]\naddress = \"b\"\njournal = \"b\"\n", "expected HOST:PORT"),
        (
            "leader = \"a\"\n[machines.b]\naddress = \"10.0.0.1:0\"\njournal = \"b\"\n",
            "machine 'b': address = \"10.0.0.1:0\": expected HOST:PORT",
        ),
        (
            "leader = \"a\"\n[machines.b]\naddress = \"b:7000\"\njournal = \"b\"\n",
            "machine 'b': address = \"b:7000\" has a host name: add listen = \"IP:PORT\"",
        ),
        (
            "leader = \"a\"\n[machines.b]\naddress = \"b:7000\"\nlisten = \"b:7\"\njournal = \"b\"\n",
            "machine 'b': listen = \"b:7\": expected IP:PORT",
        ),
        (
            "leader = \"a\"\n[machines.b]\naddress = \"127.0.0.1:7000\"\njournal = \"b\"\n",
            "address = \"127.0.0.1:7000\" is that of 'a' too",
        ),
        (
            "leader = \"a\"\n[machines.\"a b\"]\naddress = \"b:7\"\njournal = \"b\"\n",
            "machine 'a b': ",
        ),
    ] {
        fs::write(&config, format!("{text}{machine}")).unwrap();
        let (status, complained) = refused(&config, "a");
        assert_eq!((status, complained.lines().count()), (2, 1), "{text}: {complained}");
        assert!(complained.contains(expected), "{text}: {complained}");
        assert!(complained.contains("replication.toml"), "{text}: {complained}");
    }
    fs::write(&config, format!("leader = \"a\"\nplain = true\n{machine}")).unwrap();
    let (status, complained) = refused(&config, "c");
    assert_eq!(status, 2);
    assert!(complained.contains("no machine 'c'; it has a: choose one with --as"), "{complained}");
    fs::write(&config, "leader = \"a\"\nplain = true\n[machines]\n").unwrap();
    let (status, complained) = refused(&config, "a");
    assert_eq!(status, 2);
    assert!(complained.contains("no machine: expected a table [machines.NAME]"), "{complained}");
}
