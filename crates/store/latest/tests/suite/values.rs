//! Values with a schema: where their fields are, and which maps they are for.

use nanotape_harness::{Random, Scratch};
use nanotape_latest::{
    LatestError, LatestReader, LatestSpec, LatestWriter, MapValue,
    types::{Alpha, Maybe, Price4},
};
use nanotape_shm::RegionOptions;

use crate::generated::{quote_1, quote_2};

type Quote1 = quote_1::Quote<()>;
type Quote2 = quote_2::Quote<()>;

#[test]
fn each_field_has_the_bytes_of_the_schema_and_no_others() {
    let mut random = Random::new(7);
    let noise: Vec<u64> = (0..Quote2::WORDS).map(|_| random.number()).collect();
    let mut quote = quote_2::Quote::of(noise.clone());
    let mut bytes: Vec<u8> = noise.iter().flat_map(|word| word.to_le_bytes()).collect();
    let put = |at: usize, field: &[u8], bytes: &mut Vec<u8>| {
        bytes[at..at + field.len()].copy_from_slice(field);
    };
    quote.set_bid(-2);
    put(0, &(-2_i64).to_le_bytes(), &mut bytes);
    quote.set_orders(0x0102_0304);
    put(8, &[4, 3, 2, 1], &mut bytes);
    quote.set_state(Alpha::new(*b"T"));
    put(12, b"T", &mut bytes);
    quote.set_mpid(Alpha::new(*b"ABC "));
    put(16, b"ABC ", &mut bytes);
    for element in 0..Quote2::SIZES_COUNT {
        quote.set_sizes_at(element, 0x1100 + element as u16);
        put(24 + 2 * element, &[element as u8, 0x11], &mut bytes);
    }
    quote.set_lot(100);
    put(32, &[100, 0], &mut bytes);
    quote.set_change(-1);
    put(34, &[0xff, 0xff], &mut bytes);
    quote.set_updated(9);
    put(40, &9_u64.to_le_bytes(), &mut bytes);
    quote.set_price(Maybe::some(Price4::new(5)).unwrap());
    put(48, &[5, 0, 0, 0], &mut bytes);
    quote.set_levels_at(2, 77);
    put(54, &[77], &mut bytes);

    let found: Vec<u8> = quote.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(found, bytes);
    let quote = quote_2::Quote::of(quote.words());
    assert_eq!(
        (quote.bid(), quote.orders(), quote.lot(), quote.change()),
        (-2, 0x0102_0304, 100, -1)
    );
    assert_eq!((quote.state().as_bytes(), quote.mpid().as_bytes()), (b"T", b"ABC "));
    assert_eq!((quote.sizes_at(3), quote.levels_at(2), quote.updated()), (0x1103, 77, 9));
    assert_eq!(quote.price().get(), Some(Price4::new(5)));
}

#[test]
#[should_panic(expected = "no such element")]
fn an_element_after_the_last_one_is_a_panic() {
    let _ = quote_1::Quote::of([0; Quote1::WORDS]).sizes_at(Quote1::SIZES_COUNT);
}

#[test]
#[should_panic(expected = "words of another value")]
fn words_of_another_length_are_a_panic() {
    let _ = quote_1::Quote::of([0; Quote2::WORDS]);
}

#[test]
fn a_later_version_has_the_layouts_of_those_before() {
    assert_eq!(Quote2::LAYOUTS[..1], *Quote1::LAYOUTS);
    assert_eq!(Quote2::LAYOUTS.iter().map(|layout| layout >> 48).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((<Quote2 as MapValue>::NAME, <Quote2 as MapValue>::WORDS), ("Quote", 7));
}

#[test]
fn a_map_of_other_values_is_refused() {
    let place = Scratch::new("latest-values");
    let options = RegionOptions::default();
    let of_1 = LatestSpec::of_values::<Quote1>(10, 1, 2);
    let of_2 = LatestSpec::of_values::<Quote2>(10, 1, 2);
    let writer = LatestWriter::join(place.path(), of_1, &options).unwrap();
    assert_eq!(writer.expect::<Quote1>(), Ok(()));
    let says = |found: Result<LatestWriter, LatestError>| found.unwrap_err().to_string();
    let hash = |layout: u64| format!("{:012x}", layout & 0xffff_ffff_ffff);
    let (first, second) = (hash(Quote1::LAYOUTS[0]), hash(Quote2::LAYOUTS[1]));
    let upgrade = "; nanotape latest upgrade NAME --schema FILE makes a map of this version from \
                   one of an earlier version";
    let earlier = format!(
        "its values are of schema version 1 with hash {first}, expected of schema version 2 with \
         hash {second}{upgrade}"
    );
    assert_eq!(says(LatestWriter::join(place.path(), of_2, &options)), earlier);
    let plain = LatestSpec { value_layout: 0, ..of_1 };
    assert_eq!(
        says(LatestWriter::join(place.path(), plain, &options)),
        format!(
            "its values are of schema version 1 with hash {first}, expected words without a schema"
        )
    );
    let reader = LatestReader::open(place.path()).unwrap();
    assert_eq!(reader.spec(), of_1);
    assert_eq!(reader.expect::<Quote2>().unwrap_err().to_string(), earlier);
    // Sizes are no values.
    let larger = LatestSpec { entries: 11, ..of_1 };
    let error = LatestWriter::join(place.path(), larger, &options).unwrap_err();
    assert!(matches!(error, LatestError::Region(_)), "{error}");

    place.clear();
    let _ = LatestWriter::join(place.path(), plain, &options).unwrap();
    assert_eq!(
        says(LatestWriter::join(place.path(), of_1, &options)),
        format!(
            "its values are words without a schema, expected of schema version 1 with hash {first}"
        )
    );
    // An older program does not read values of a later version.
    place.clear();
    let _ = LatestWriter::join(place.path(), of_2, &options).unwrap();
    let reader = LatestReader::open(place.path()).unwrap();
    let error = reader.expect::<Quote1>().unwrap_err();
    assert!(matches!(error, LatestError::Values { is_earlier: false, .. }), "{error}");
}
