//! Programs in a network namespace that has a loopback interface and nothing else, for multicast.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use nanotape_harness::{Bounded as _, skipped};

/// Turns the loopback interface on and routes multicast to it.
const PREPARE: &str = "ip link set lo up && ip route add 224.0.0.0/4 dev lo";

/// A command that runs a program in a namespace of its own. `None`, with a loud message, where none
/// can be made.
pub fn in_a_namespace(program: &Path) -> Option<Command> {
    let Some(arguments) = unshare() else {
        skipped("no network namespace can be made (unshare --net, ip): multicast is not tested");
        return None;
    };
    let inside = format!("{PREPARE} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(arguments).args(["sh", "-c", &inside, "sh"]).arg(program);
    Some(command)
}

/// The arguments of `unshare` that work here, if any do: as root, or with a namespace of users.
fn unshare() -> Option<Vec<&'static str>> {
    let choices = [vec!["--net"], vec!["--user", "--map-root-user", "--net"]];
    choices.into_iter().find(|arguments| {
        let status = Command::new("unshare")
            .args(arguments)
            .args(["sh", "-c", PREPARE])
            .stderr(Stdio::null())
            .bounded_status();
        status.is_ok_and(|status| status.success())
    })
}
