//! Files of every version, of a tap and of another writer: whole, cut off and damaged.

use dbn::{
    Dataset, ErrorCode, MappingInterval, Metadata, SType, Schema, SymbolMapping, UNDEF_TIMESTAMP,
    encode::DbnMetadataEncoder, v1, v2,
};
use nanotape_records::{TradeDate, UNSTATED_PUBLISHER_ID};
use nanotape_tape::Item;
use proptest::prelude::*;

use super::*;

/// 2019-12-30 at 10:00 in New York.
const TEN: u64 = 1_577_718_000_000_000_000;
const DAY: u64 = 86_400_000_000_000;

/// What was visited.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Record(u64, Vec<u8>),
    Start { date: u32, midnight_ns: u64 },
    Stop,
    Taint(u32),
    Name(u16, String),
    Loss(String),
}

fn metadata(version: u8, schema: Option<Schema>) -> Metadata {
    let interval = |day: u64, symbol: &str| {
        let time = |ns| RecordHeader::new::<MboMsg>(rtype::MBO, 0, 0, ns).ts_event().unwrap();
        let (from, to) = (TEN + day * DAY, TEN + (day + 1) * DAY);
        MappingInterval {
            start_date: time(from).date(),
            end_date: time(to).date(),
            symbol: symbol.to_owned(),
        }
    };
    let intervals = vec![interval(0, "13"), interval(1, "14")];
    Metadata::builder()
        .version(version)
        .dataset(Dataset::XnasItch)
        .schema(schema)
        .start(TEN)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .symbols(vec!["AAPL".to_owned()])
        .mappings(vec![SymbolMapping { raw_symbol: "AAPL".to_owned(), intervals }])
        .build()
}

fn file(metadata: &Metadata, records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    DbnMetadataEncoder::new(&mut bytes).encode(metadata).unwrap();
    bytes.extend(records.concat());
    bytes
}

fn order(ts_event: u64, order_id: u64) -> Vec<u8> {
    let hd = RecordHeader::new::<MboMsg>(rtype::MBO, UNSTATED_PUBLISHER_ID, 13, ts_event);
    let order = MboMsg { hd, order_id, action: b'A' as _, ts_recv: ts_event, ..MboMsg::default() };
    order.as_ref().to_vec()
}

fn read(bytes: &[u8]) -> (Vec<Seen>, Option<DbnError>) {
    match DbnStream::new(DaySource::memory("file", bytes.to_vec())) {
        Ok(stream) => read_on(stream),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn read_on(mut stream: DbnStream) -> (Vec<Seen>, Option<DbnError>) {
    let mut seen = Vec::new();
    loop {
        let polled = stream.poll(|entry| {
            seen.push(match entry {
                Entry::Item(Item::Message(message)) | Entry::Opening(message) => {
                    Seen::Record(message.sequence, message.payload.into())
                }
                Entry::Notice { notice: Notice::Start(start), .. } => {
                    Seen::Start { date: start.date, midnight_ns: start.midnight_ns }
                }
                Entry::Notice { notice: Notice::Stop(_), .. } => Seen::Stop,
                Entry::Notice { notice: Notice::Taint(taint), .. } => {
                    Seen::Taint(taint.instrument_id)
                }
                Entry::Notice { notice, .. } => panic!("{notice}"),
                Entry::Name(locate, symbol) => Seen::Name(locate.get(), symbol.to_string()),
                other @ (Entry::Item(_) | Entry::Handover(_)) => panic!("{other:?}"),
                Entry::Loss { text, .. } => Seen::Loss(text.to_owned()),
            });
            ControlFlow::Continue(())
        });
        match polled {
            Ok(Progress::Nothing) => return (seen, None),
            Ok(_) => {}
            Err(error) => return (seen, Some(error)),
        }
    }
}

fn start(date: u32) -> Seen {
    let midnight_ns = TradeDate::of_number(date).unwrap().midnight_ns();
    Seen::Start { date, midnight_ns }
}

fn name(locate: u16) -> Seen {
    Seen::Name(locate, "AAPL".to_owned())
}

#[test]
fn each_trade_date_of_a_file_without_runs_is_a_run_with_its_names() {
    let (first, second) = (order(TEN, 1), order(TEN + DAY, 2));
    let records = [first.clone(), order(UNDEF_TIMESTAMP, 7), second.clone()];
    for version in 1..=3 {
        let bytes = file(&metadata(version, Some(Schema::Mbo)), &records);
        assert_eq!(bytes[3], version);
        let (seen, error) = read(&bytes);
        let expected = [
            start(20_191_230),
            name(13),
            Seen::Record(1, first.clone()),
            Seen::Record(2, records[1].clone()),
            Seen::Stop,
            start(20_191_231),
            name(14),
            Seen::Record(3, second.clone()),
            Seen::Stop,
        ];
        assert!(error.is_none() && seen == expected, "version {version}: {seen:?}, {error:?}");
        for (run, skipped) in [(1, 0), (2, 5)] {
            let mut stream = DbnStream::new(DaySource::memory("file", bytes.clone())).unwrap();
            assert_eq!(stream.skip_to_run(run).unwrap(), run);
            assert!(stream.start().is_some());
            assert_eq!(read_on(stream).0, expected[skipped..], "run {run}");
        }
        let mut stream = DbnStream::new(DaySource::memory("file", bytes)).unwrap();
        assert_eq!(stream.skip_to_run(u64::MAX).unwrap(), 2);
    }
    let (seen, error) = read(&file(&metadata(3, None), &[]));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(seen, [start(20_191_230), name(13), Seen::Stop]);
}

#[test]
fn records_of_older_versions_are_upgraded() {
    let mut mapping = v1::SymbolMappingMsg {
        hd: RecordHeader::new::<v1::SymbolMappingMsg>(rtype::SYMBOL_MAPPING, 0, 15, TEN),
        ..Default::default()
    };
    mapping.stype_out_symbol[0] = b'B' as _;
    let error = v1::ErrorMsg::new(TEN, "gap: lost");
    let mut entry = v2::InstrumentDefMsg {
        hd: RecordHeader::new::<v2::InstrumentDefMsg>(rtype::INSTRUMENT_DEF, 0, 16, TEN),
        ..Default::default()
    };
    entry.raw_symbol[0] = b'C' as _;
    let (seen, error_of_1) =
        read(&file(&metadata(1, None), &[mapping.as_ref().to_vec(), error.as_ref().to_vec()]));
    assert!(error_of_1.is_none(), "{error_of_1:?}");
    assert_eq!(seen[..2], [Seen::Name(15, "B".to_owned()), Seen::Loss("gap: lost".to_owned())]);
    let (seen, error_of_2) = read(&file(&metadata(2, None), &[entry.as_ref().to_vec()]));
    assert!(error_of_2.is_none(), "{error_of_2:?}");
    let Seen::Record(1, bytes) = &seen[0] else { panic!("{seen:?}") };
    assert_eq!(bytes.len(), size_of::<dbn::InstrumentDefMsg>());
}

#[test]
fn the_time_of_sending_is_left_out() {
    let with_ts_out = |record: &[u8]| {
        let mut record = [record, &[7; 8]].concat();
        record[0] += 2;
        record
    };
    let status = dbn::StatusMsg {
        hd: RecordHeader::new::<dbn::StatusMsg>(rtype::STATUS, 0, 13, TEN),
        ..Default::default()
    };
    let orders = [order(TEN, 1), status.as_ref().to_vec()];
    let metadata = Metadata { ts_out: true, ..metadata(3, None) };
    let records = orders.each_ref().map(|record| with_ts_out(record));
    let (seen, error) = read(&file(&metadata, &records));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(seen[2], Seen::Record(1, orders[0].clone()));
    assert_eq!(seen[3], Seen::Record(2, orders[1].clone()));
}

#[test]
fn the_texts_of_a_tap_are_notices_again() {
    use dbn::{ErrorMsg, SystemMsg};
    let system = |text: &str| SystemMsg::new(TEN, None, text).unwrap().as_ref().to_vec();
    let error = |text: &str| ErrorMsg::new(TEN, Some(ErrorCode::Unset), text, true);
    let mut taint = error("taint: AAPL: unknown in message 3");
    taint.hd.instrument_id = 13;
    let records = [
        system("plant start: trade date 2019-12-30, records mbo, pace max"),
        order(TEN + 3 * DAY, 1),
        taint.as_ref().to_vec(),
        error("lost 3 messages, 5 to 7 of the ring").as_ref().to_vec(),
        system("plant stop: end of input: 1 messages"),
        system("plant start: trade date 2019-12-31, records mbo, pace 1x; the previous plant died"),
    ];
    let (seen, error) = read(&file(&metadata(3, None), &records));
    assert!(error.is_none(), "{error:?}");
    let expected = [
        start(20_191_230),
        name(13),
        Seen::Record(2, records[1].clone()),
        Seen::Taint(13),
        Seen::Loss("lost 3 messages, 5 to 7 of the ring".to_owned()),
        Seen::Stop,
        start(20_191_231),
        name(14),
    ];
    assert_eq!(seen, expected);
    // A tap that joined in mid-day.
    let (seen, error) = read(&file(&metadata(3, None), &[order(TEN, 1), records[4].clone()]));
    assert!(error.is_none(), "{error:?}");
    let [.., Seen::Loss(text), Seen::Stop] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(text.contains("its start and the records before are not in the file"), "{text}");
}

#[test]
fn a_file_that_cannot_be_read_has_an_error_with_its_offset() {
    let good = file(&metadata(3, None), &[order(TEN, 1), order(TEN, 2)]);
    let first = good.len() - 112;
    let text = |bytes: &[u8]| read(bytes).1.map(|error| error.to_string()).unwrap_or_default();
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        text(&bytes)
    };
    assert_eq!(text(b""), "offset 0: not a DBN file, which begins with DBN and a version");
    assert_eq!(changed(3, 4), "offset 3: DBN version 4, expected 1, 2 or 3");
    assert!(changed(7, 9).starts_with("offset 4: metadata of "), "{}", changed(7, 9));
    assert_eq!(
        changed(first, 3),
        format!("offset {first}: record 1: type 0xa0 of 12 bytes, expected 16")
    );
    let second = first + 56;
    assert_eq!(
        changed(second, 13),
        format!("offset {second}: record 2: type 0xa0 of 52 bytes, expected 56")
    );
    assert_eq!(
        changed(second + 1, rtype::INSTRUMENT_DEF),
        format!("offset {second}: record 2: type 0x13 of 56 bytes, expected 520")
    );
    let trades = file(&metadata(3, Some(Schema::Trades)), &[]);
    let trades = DbnStream::new(DaySource::memory("file", trades)).unwrap();
    let refused = trades.require_orders().unwrap_err().to_string();
    assert_eq!(refused, "the file has the schema trades; books need mbo records");
}

proptest! {
    #[test]
    fn a_file_that_is_cut_off_gives_every_record_before_the_cut(
        times in prop::collection::vec(0..3 * DAY, 0..20), cut in any::<prop::sample::Index>()
    ) {
        let records: Vec<_> =
            times.iter().enumerate().map(|(id, time)| order(TEN + time, id as u64)).collect();
        let bytes = file(&metadata(3, None), &records);
        let (whole, error) = read(&bytes);
        prop_assert!(error.is_none());
        let cut = cut.index(bytes.len());
        let (seen, error) = read(&bytes[..cut]);
        let first = bytes.len() - 56 * records.len();
        let is_between = cut >= first && (cut - first).is_multiple_of(56);
        prop_assert_eq!(error.is_none(), is_between, "{:?}", error);
        let whole_records = cut.saturating_sub(first) / 56;
        let records_of = |seen: &[Seen]| {
            seen.iter().filter(|seen| matches!(seen, Seen::Record(..))).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(records_of(&seen), &records_of(&whole)[..whole_records]);
        if let Some(error) = error.filter(|_| cut > first) {
            let at = first + 56 * whole_records;
            prop_assert!(error.to_string().starts_with(&format!("offset {at}: ")), "{}", error);
        }
    }

    /// The bytes of a stream come in pieces of any size, and any of them may be wrong.
    #[test]
    fn any_bytes_are_read_or_refused(
        times in prop::collection::vec(0..3 * DAY, 0..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let records: Vec<_> =
            times.iter().enumerate().map(|(id, time)| order(TEN + time, id as u64)).collect();
        let mut bytes = file(&metadata(3, None), &records);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (seen, error) = read(&bytes);
        let source = DaySource::stream("pipe".to_owned(), std::io::Cursor::new(bytes), None);
        let piped = DbnStream::new(source.unwrap()).map(read_on);
        let (piped, same) = piped.unwrap_or_else(|error| (Vec::new(), Some(error)));
        prop_assert_eq!(piped, seen);
        prop_assert_eq!(same.map(|error| error.to_string()), error.map(|error| error.to_string()));
    }
}
