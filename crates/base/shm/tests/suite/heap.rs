//! Regions on the heap: the same words and owners without a kernel, so that Miri can run them.

use nanotape_shm::{OwnedRegion, OwnerState, RegionSpec};

fn spec(words: usize) -> RegionSpec {
    RegionSpec { kind: *b"TEST    ", layout: 1, parameters: [0; 4], words }
}

#[test]
fn words_of_any_number_are_zero_shared_and_aligned_to_two_lines() {
    for words in [0, 1, 2, 15, 16, 17, 100] {
        let owned = OwnedRegion::on_heap(spec(words));
        let shared = owned.share();
        assert_eq!((owned.words().len(), shared.words().len()), (words, words));
        assert!(shared.words().iter().all(|word| word.load() == 0));
        for (word, value) in owned.words().iter().zip(1..) {
            word.store(value);
        }
        assert!(shared.words().iter().zip(1..).all(|(word, value)| word.load() == value));
        assert_eq!(owned.words().as_ptr().addr() % 128, 0);
        assert_eq!((shared.epoch(), owned.epoch(), *shared.spec()), (1, 1, spec(words)));
    }
}

#[test]
fn a_reader_sees_the_owner_live_and_close_and_keeps_its_words() {
    let owned = OwnedRegion::on_heap(spec(3));
    let shared = owned.share();
    let other = shared.clone();
    assert_eq!(shared.owner().state, OwnerState::Alive);
    assert!(shared.check().is_ok() && !shared.is_lost() && shared.path().is_none());
    owned.words()[2].store(9);
    std::thread::spawn(move || owned.close()).join().unwrap();
    assert_eq!(shared.owner().state, OwnerState::Closed);
    drop(shared);
    assert_eq!(other.words()[2].load(), 9);
}
