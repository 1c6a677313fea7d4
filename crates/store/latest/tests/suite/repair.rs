//! Maps in files after a loss of power, and after any other damage: what a repair keeps and names.

use std::{collections::BTreeMap, fs, path::Path};

use nanotape_harness::{Random, Scratch, campaign};
use nanotape_latest::{
    DropReason, LatestError, LatestReader, LatestRepair, LatestSpec, LatestWriter, Repaired,
};
use nanotape_shm::{HEADER_BYTES, Refusal, RegionOptions, beside};

use crate::{any_widths, format_document::Naive};

const PAGE_BYTES: usize = 4096;

/// What must become of a map: the keys that are kept, and the others with their versions, sorted.
struct Expected {
    kept: BTreeMap<Vec<u64>, (Vec<u64>, u32)>,
    dropped: Vec<(Vec<u64>, u32)>,
}

/// The same by the words alone, in the order of the memory.
fn expected(naive: &Naive, spec: LatestSpec) -> Expected {
    let (mut kept, mut dropped) = (BTreeMap::<_, (Vec<u64>, u32)>::new(), Vec::new());
    for (key, value, version, has_its_sum) in naive.all() {
        let there = kept.get(&key).map(|(_, version)| *version);
        let is_kept = match there {
            _ if !has_its_sum => false,
            Some(there) => version > there,
            None => (kept.len() as u64) < spec.entries,
        };
        if !is_kept {
            dropped.push((key, version));
            continue;
        }
        if let Some(there) = there {
            dropped.push((key.clone(), there));
        }
        let _ = kept.insert(key, (value, version));
    }
    dropped.sort();
    Expected { kept, dropped }
}

fn contents(path: &Path) -> BTreeMap<Vec<u64>, (Vec<u64>, u32)> {
    let reader = LatestReader::open(path).unwrap();
    let verified = reader.verify().unwrap();
    assert!(verified.is_clean(), "{verified:?}");
    let mut all = BTreeMap::new();
    let each = |key: &[u64], value: &[u64], version| {
        assert!(all.insert(key.to_vec(), (value.to_vec(), version)).is_none());
    };
    reader.for_each(each).unwrap();
    all
}

/// Changes keys at random.
fn change(writer: &mut LatestWriter, random: &mut Random, times: u64) {
    let spec = writer.spec();
    for _ in 0..times {
        let key = vec![random.below(spec.entries * 3 / 2); spec.key_words];
        let value: Vec<u64> = (0..spec.value_words).map(|_| random.number()).collect();
        match random.below(4) {
            0 => assert!(writer.remove(&key).is_ok()),
            _ => match writer.insert(&key, &value) {
                Ok(_) | Err(LatestError::Full { .. }) => {}
                Err(error) => panic!("{error}"),
            },
        }
    }
}

/// Pages of an earlier moment, lines of another place, or words of any content.
fn damage(bytes: &mut [u8], before: &[u8], random: &mut Random) {
    let kind = random.below(3);
    if kind == 0 {
        for page in (HEADER_BYTES..bytes.len()).step_by(PAGE_BYTES) {
            if random.below(4) == 0 {
                let end = bytes.len().min(page + PAGE_BYTES);
                bytes[page..end].copy_from_slice(&before[page..end]);
            }
        }
        return;
    }
    if kind == 1 {
        for _ in 0..1 << random.below(6) {
            let [from, to] = [(); 2].map(|()| random.index(bytes.len() - HEADER_BYTES) / 64 * 64);
            bytes.copy_within(HEADER_BYTES + from..HEADER_BYTES + from + 64, HEADER_BYTES + to);
        }
        return;
    }
    let words = (bytes.len() - HEADER_BYTES) / 8;
    for _ in 0..1 << random.below(8) {
        let at = HEADER_BYTES + 8 * random.index(words);
        let content = match random.below(5) {
            0 => random.number(),
            1 => random.below(20),
            2 => u64::MAX,
            3 => 1 << random.below(64),
            // The same word of the line before.
            _ => u64::from_ne_bytes(bytes[at - 64..][..8].try_into().unwrap()),
        };
        bytes[at..at + 8].copy_from_slice(&content.to_ne_bytes());
    }
}

#[test]
fn every_entry_with_its_sum_survives_and_every_other_one_is_named() {
    let place = Scratch::new("latest-repair");
    let new = beside(place.path(), ".new");
    let mut random = Random::new(61);
    let (mut sums, mut all) = (0, Repaired::default());
    for round in 0..campaign(100) {
        place.clear();
        let entries = 100 + random.below(1_000);
        let spec = any_widths(entries, &mut random);
        let mut writer = LatestWriter::join(place.path(), spec, &RegionOptions::default()).unwrap();
        change(&mut writer, &mut random, spec.entries * 3);
        let before = fs::read(place.path()).unwrap();
        let times = random.below(spec.entries);
        change(&mut writer, &mut random, times);
        drop(writer);
        assert!(!LatestRepair::begin(place.path()).unwrap().is_needed(), "round {round}");
        let mut bytes = fs::read(place.path()).unwrap();
        damage(&mut bytes, &before, &mut random);
        fs::write(place.path(), &bytes).unwrap();

        let expected = expected(&Naive::read(&bytes, spec), spec);
        let repair = LatestRepair::begin(place.path()).unwrap();
        let mut dropped = Vec::new();
        let repaired = repair.copy_to(&new, &RegionOptions::default(), |entry| {
            dropped.push((entry.key.to_vec(), entry.version));
            assert_eq!(entry.value.len(), spec.value_words);
            assert_eq!(entry.reason.to_string().lines().count(), 1);
        });
        let repaired = repaired.unwrap();
        dropped.sort();
        assert_eq!(dropped, expected.dropped, "round {round}");
        assert_eq!(contents(&new), expected.kept, "round {round}");
        assert_eq!(repaired.kept, expected.kept.len() as u64, "round {round}");
        assert_eq!(repaired.dropped(), dropped.len() as u64, "round {round}");
        assert!(repair.is_needed() || dropped.is_empty(), "round {round}");
        assert_eq!(fs::read(place.path()).unwrap(), bytes, "round {round}: it was changed");
        drop(repair);
        assert!(!LatestRepair::begin(&new).unwrap().is_needed(), "round {round}");
        fs::remove_file(&new).unwrap();
        sums += repaired.wrong_sums;
        all.duplicates += repaired.duplicates;
        all.no_room += repaired.no_room;
        all.kept += repaired.kept;
    }
    println!("{sums} wrong sums, {all:?}");
    assert!(sums > 100 && all.duplicates > 100 && all.no_room > 0 && all.kept > 10_000);
}

#[test]
fn a_repaired_map_is_in_the_place_of_the_old_one() {
    let place = Scratch::new("latest-repair-place");
    let new = beside(place.path(), ".new");
    let options = RegionOptions { mode: 0o640, ..RegionOptions::default() };
    let mut writer = LatestWriter::join(place.path(), crate::spec(10), &options).unwrap();
    for key in 0..10 {
        let _ = writer.insert(&[key], &[key << 32]).unwrap();
    }
    let alive = LatestRepair::begin(place.path()).unwrap_err();
    let LatestError::Region(alive) = alive else { panic!("{alive}") };
    assert_eq!(*alive.refusal(), Refusal::LockedByReader);
    drop(writer);
    let mut bytes = fs::read(place.path()).unwrap();
    let at = bytes.chunks_exact(8).position(|word| word == (7_u64 << 32).to_ne_bytes()).unwrap();
    bytes[8 * at] ^= 1;
    fs::write(place.path(), &bytes).unwrap();
    let old = LatestReader::open(place.path()).unwrap();

    let repair = LatestRepair::begin(place.path()).unwrap();
    let options = RegionOptions { mode: repair.mode().unwrap(), ..options };
    assert_eq!((repair.is_needed(), options.mode), (true, 0o640));
    let exists = repair.copy_to(place.path(), &options, |_| ()).unwrap_err();
    assert!(matches!(exists, LatestError::Region(_) | LatestError::Exists), "{exists}");
    let repaired = repair.copy_to(&new, &options, |entry| {
        let word = (8 * at - HEADER_BYTES) as u64 / 8 - 2;
        assert_eq!((entry.key, entry.value), (&[7][..], &[7 << 32 | 1][..]));
        assert_eq!(entry.reason, DropReason::WrongSum { word });
    });
    let repaired = repaired.unwrap();
    assert_eq!((repaired.kept, repaired.wrong_sums, repaired.counted), (9, 1, 10));
    let exists = repair.copy_to(&new, &options, |_| ()).unwrap_err();
    assert_eq!(exists, LatestError::Exists);
    repair.replace_with(&new).unwrap();
    assert!(old.region().check().is_err() && !new.exists());
    assert_eq!(contents(place.path()).len(), 9);
    assert_eq!(nanotape_shm::inspect(place.path()).unwrap().mode, 0o640);
    let mut writer = LatestWriter::open(place.path(), &options).unwrap();
    let _ = writer.insert(&[7], &[1]).unwrap();
    assert!(writer.insert(&[10], &[1]).is_err(), "it is full");
}
