//! Differences between schemas and descriptions: each kind of them, and lists of known ones.

use nanotape_schema::{
    Aspect, Explanations, Protocol, Schema, compare, describe, import, read_any_with,
};

use crate::descriptions::{LETTERS, PARCELS};

fn load(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// A schema of this repository.
fn schema(name: &str) -> Protocol {
    let path = format!("{}/../../../schema/{name}", env!("CARGO_MANIFEST_DIR"));
    match read_any_with(&path, &load(&path).unwrap(), &mut load) {
        Ok(Schema::Protocol(protocol)) => protocol,
        other => panic!("{path} is a protocol: {other:?}"),
    }
}

/// The differences between the schema of a description and a changed description.
#[track_caller]
fn differences(text: &str, from: &str, to: &str) -> Vec<String> {
    let schema = import("x.toml", &describe("x.xml", text).unwrap()).unwrap();
    let ours = nanotape_schema::read("x.toml", &schema).unwrap();
    assert!(text.contains(from), "the test must change something");
    let theirs = describe("x.xml", &text.replacen(from, to, 1)).unwrap();
    let lines =
        |difference: &nanotape_schema::Difference| format!("{}: {difference}", difference.spot);
    compare(&ours, &theirs).iter().map(lines).collect()
}

#[test]
fn a_schema_and_its_description_differ_where_it_has_what_sbe_lacks() {
    let parcels = describe("parcels.xml", PARCELS).unwrap();
    let found: Vec<String> = compare(&schema("testing/parcels.toml"), &parcels)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn each_kind_of_difference_of_messages() {
    assert_eq!(
        differences(LETTERS, "<Code>r</Code>", "<Code>q</Code>"),
        [
            "21:5: message 'q' Reply: message: ours none, theirs Reply",
            "1:1: message 'r' Reply: message: ours Reply, theirs none",
        ]
    );
    assert_eq!(
        differences(PARCELS, "littleEndian", "bigEndian"),
        ["1:1: byte order: ours little, theirs big"]
    );
    assert_eq!(
        differences(PARCELS, "blockLength=\"51\"", "blockLength=\"60\""),
        ["52:5: message '7' Posted: length: ours 59, theirs 68"]
    );
    let pad = "<type name=\"pad\" primitiveType=\"uint16\"/><type name=\"templateId\"";
    let found = differences(PARCELS, "<type name=\"templateId\"", pad);
    assert_eq!(found[0], "1:1: head: ours type u16 at byte 4, theirs type u16 at byte 6");
}

#[test]
fn each_kind_of_difference_of_fields() {
    let field = |from: &str, to: &str| differences(PARCELS, from, to);
    assert_eq!(
        field(
            "<field name=\"one\" id=\"6\" type=\"int8\"/>",
            "<field name=\"one\" id=\"6\" type=\"uint8\"/>"
        ),
        ["58:9: message '7' Posted field 'one': sign: ours signed, theirs unsigned"]
    );
    assert_eq!(
        field("id=\"13\" type=\"Address\"", "id=\"13\" type=\"uint32\""),
        [
            "65:9: message '7' Posted field 'address': type: ours text, theirs number",
            "65:9: message '7' Posted field 'address': null: ours none, theirs none",
        ][..1]
    );
    assert_eq!(
        field(">-4</type>", ">-5</type>"),
        ["56:9: message '7' Posted field 'postage': decimals: ours 4, theirs 5"]
    );
    assert_eq!(
        field("9223372036854775807", "-1"),
        [
            "72:13: message '300' Opened field 'items/value': null: ours 0x7fff_ffff_ffff_ffff, theirs \
         0xffff_ffff_ffff_ffff",
            "79:17: message '300' Opened field 'stops/unloaded/value': null: ours \
         0x7fff_ffff_ffff_ffff, theirs 0xffff_ffff_ffff_ffff",
        ]
    );
    assert_eq!(
        field(">200<", ">201<"),
        [
            "66:9: message '7' Posted field 'country': codes: ours '200', theirs none",
            "66:9: message '7' Posted field 'country': codes: ours none, theirs '201'",
        ]
    );
    assert_eq!(
        field("Customs\">9", "Customs\">8"),
        [
            "63:9: message '7' Posted field 'stamps': bits: ours bit 9 customs, theirs none",
            "63:9: message '7' Posted field 'stamps': bits: ours none, theirs bit 8 customs",
        ]
    );
    let moved = differences(
        LETTERS,
        "<Name>Reason</Name><Size>4</Size>",
        "<Name>Reason</Name><Size>2</Size>",
    );
    assert_eq!(
        moved,
        [
            "5:5: message 'L' Letter: length: ours 36, theirs 34",
            "16:9: message 'L' Letter field 'reason': width: ours 4, theirs 2",
            "17:9: message 'L' Letter field 'weight': offset: ours 32, theirs 30",
        ]
    );
    let gone = "<Field><Name>Weight</Name><Size>4</Size><Type>Integer</Type></Field>";
    assert_eq!(
        differences(LETTERS, gone, ""),
        [
            "5:5: message 'L' Letter: length: ours 36, theirs 32",
            "5:5: message 'L' Letter field 'weight': field: ours 4 bytes at 32, theirs none",
        ]
    );
    assert_eq!(
        differences(LETTERS, gone, &format!("{gone}{}", gone.replace("Weight", "Height"))),
        [
            "5:5: message 'L' Letter: length: ours 36, theirs 40",
            "17:77: message 'L' Letter field 'height': field: ours none, theirs 4 bytes at 36",
        ]
    );
}

#[test]
fn a_renamed_field_or_message_is_no_difference() {
    assert_eq!(differences(LETTERS, "<Name>Weight</Name>", "<Name>Grams</Name>"), [] as [&str; 0]);
    assert_eq!(
        differences(LETTERS, "<Name>Reply Message</Name>", "<Name>Answer</Name>"),
        [] as [&str; 0]
    );
}

#[test]
fn each_kind_of_difference_of_groups() {
    assert_eq!(
        differences(PARCELS, "offset=\"6\"", "offset=\"4\""),
        [
            "15:9: message '300' Opened field 'stops/header': group: ours 2 at 0, 2 at 6, theirs 2 at 0, 2 at 4"
        ]
    );
    assert_eq!(
        differences(PARCELS, "blockLength=\"4\"", "blockLength=\"5\""),
        ["76:9: message '300' Opened field 'stops': length: ours 4, theirs 5"]
    );
    let more = "<group name=\"more\" id=\"40\" dimensionType=\"shortGroup\"/></sbe:message>\n    <sbe:message name=\"Nothing\"";
    assert_eq!(
        differences(PARCELS, "</sbe:message>\n    <sbe:message name=\"Nothing\"", more),
        ["84:5: message '300' Opened field 'more': group: ours none, theirs more"]
    );
}

const EXPLAINED: &str = r#"
[[explained]]
aspect = "message"
messages = ["q"]
ours = "none"
theirs = "Reply"
reason = "Renamed."
"#;

#[test]
fn an_explanation_is_of_one_difference_and_not_of_others() {
    let schema = import("x.toml", &describe("x.xml", LETTERS).unwrap()).unwrap();
    let ours = nanotape_schema::read("x.toml", &schema).unwrap();
    let theirs = LETTERS.replacen("<Code>r</Code>", "<Code>q</Code>", 1);
    let differences = compare(&ours, &describe("x.xml", &theirs).unwrap());
    let explained = Explanations::read("e.toml", EXPLAINED).unwrap();
    let (reasons, unused) = explained.apply(&differences);
    assert_eq!((reasons, unused), (vec![Some("Renamed."), None], vec![]));
    let (_, unused) = explained.apply(&differences[1..]);
    let unused: Vec<String> = unused.iter().map(ToString::to_string).collect();
    assert_eq!(
        unused,
        ["e.toml:2: explained: no such difference: message of message 'q' field '', ours none, \
         theirs Reply"]
    );
}

#[test]
fn mistakes_in_explanations() {
    let check = |text: &str, expected: &str| {
        let problems = Explanations::read("e.toml", text).unwrap_err().to_string();
        assert_eq!(problems, expected);
    };
    check(
        &EXPLAINED.replace("\"message\"", "\"place\""),
        "e.toml:3: explained: aspect 'place' must be one of byte order, head, message, length, field, \
         offset, width, type, sign, decimals, codes, bits, null, group",
    );
    check(
        &EXPLAINED.replace("reason = \"Renamed.\"", ""),
        "e.toml:2: explained: 'reason' is missing",
    );
    check(
        &format!("{EXPLAINED}{EXPLAINED}"),
        "e.toml:9: explained: the same difference is on line 2 too",
    );
    check("[other]", "e.toml:1: unknown key 'other'");
    assert!(
        Aspect::NAMES.iter().all(|name| Aspect::named(name).is_some_and(|a| a.name() == *name))
    );
}

/// Schemas with the descriptions of the Open Markets Initiative that they are compared with.
const DESCRIBED: [(&str, &str, usize); 5] = [
    ("nasdaq-itch-5.0", "Nasdaq.NsmEquities.TotalView.Itch.v5.0.2023.Pdf.xml", 10),
    ("iex-deep", "Iex.IexEquities.Deep.IexTp.v1.08.Pdf.xml", 18),
    ("iex-deep-plus", "Iex.IexEquities.DeepPlus.IexTp.v1.05.Pdf.xml", 23),
    ("iex-tops", "Iex.IexEquities.Tops.IexTp.v1.66.Pdf.xml", 14),
    ("cboe-pitch", "Cboe.BzxEquities.MulticastDepthOfBook.Pitch.v2.41.66.Pdf.xml", 20),
];

fn explanations(schema: &str) -> Explanations {
    let path = format!("{}/../../../schema/explained/{schema}.toml", env!("CARGO_MANIFEST_DIR"));
    Explanations::read(&path, &load(&path).unwrap()).unwrap()
}

#[test]
fn every_list_of_explanations_is_read() {
    for (name, _, count) in DESCRIBED {
        let (_, unused) = explanations(name).apply(&[]);
        assert_eq!(unused.len(), count, "{name}");
    }
}

/// Their licence does not let the descriptions be part of this repository.
#[test]
fn every_difference_is_explained() {
    let Some(folder) = std::env::var_os("NANOTAPE_OMI") else {
        return nanotape_harness::skipped(
            "no folder of omi-xml-specifications in NANOTAPE_OMI: schemas are not compared with it",
        );
    };
    for (name, file, count) in DESCRIBED {
        let path =
            find(folder.as_ref(), file).unwrap_or_else(|| panic!("no {file} in NANOTAPE_OMI"));
        let description = describe(file, &load(&path).unwrap()).unwrap();
        let differences = compare(&schema(&format!("{name}.toml")), &description);
        let explained = explanations(name);
        let (reasons, unused) = explained.apply(&differences);
        let open = differences.iter().zip(&reasons).filter(|(_, reason)| reason.is_none());
        let open: Vec<String> = open.map(|(difference, _)| difference.to_string()).collect();
        assert_eq!((open, unused, differences.len()), (vec![], vec![], count), "{name}");
        let imported = import(file, &description).unwrap();
        let imported = nanotape_schema::read(file, &imported).unwrap();
        assert_eq!(compare(&imported, &description), [], "{name}");
    }
}

/// The file of that name, in a folder or in one below.
fn find(folder: &std::path::Path, file: &str) -> Option<String> {
    let path = folder.join(file);
    if path.is_file() {
        return path.into_os_string().into_string().ok();
    }
    let folders = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    folders.filter(|path| path.is_dir()).find_map(|path| find(&path, file))
}
