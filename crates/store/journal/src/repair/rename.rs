//! Gives whole segments their own names again, if they were exchanged.
//!
//! Protocol: the header of a segment states its number. If its file has another name, and no other
//! segment has its own, the file is renamed and no byte is changed. All such files go through the
//! folder `cut`, so that each name is free.
//! Failure: a repair that is killed meanwhile leaves segments in `cut`, where they stay.

use super::{Action, Done};
use crate::{
    JournalError,
    catalog::{Catalog, Head},
    disk::Disk,
    names::Kept,
    quarantine,
};

/// Renames the segments whose names are those of other ones.
pub(super) fn to_own_names<D: Disk>(
    disk: &D,
    catalog: &Catalog,
    is_dry_run: bool,
) -> Result<Vec<Action>, JournalError> {
    let stated: Vec<(Kept, u64)> = catalog
        .listed
        .iter()
        .filter_map(|listed| match &listed.head {
            Ok(Head { header, .. }) if Some(header.journal) == catalog.journal => {
                Some((listed.kept, header.number))
            }
            _ => None,
        })
        .collect();
    let is_alone = |number: u64| stated.iter().filter(|(_, other)| *other == number).count() == 1;
    let is_taken = |name: u64| catalog.listed.iter().any(|listed| listed.kept.number == name);
    let mut misnamed: Vec<&(Kept, u64)> = stated
        .iter()
        .filter(|(kept, number)| kept.number != *number && is_alone(*number))
        .collect();
    // Only names that are free, or become free: no file takes the place of another one.
    loop {
        let leaving: Vec<u64> = misnamed.iter().map(|(kept, _)| kept.number).collect();
        misnamed.retain(|(_, number)| !is_taken(*number) || leaving.contains(number));
        if misnamed.len() == leaving.len() {
            break;
        }
    }
    let mut moved = Vec::new();
    for (kept, number) in &misnamed {
        let from = if is_dry_run { None } else { Some(quarantine::whole(disk, kept)?.name) };
        moved.push((from, *kept, Kept { number: *number, ..*kept }));
    }
    let mut actions = Vec::new();
    for (from, old, new) in moved {
        if let Some(from) = from {
            let named = disk.rename(&from, &new.name()).and_then(|()| disk.sync_names());
            named.map_err(JournalError::system(disk.path(&from), "name"))?;
        }
        let done = Done::Renamed { to: disk.path(&new.name()) };
        actions.push(Action { path: disk.path(&old.name()), offset: 0, done });
    }
    Ok(actions)
}
