//! Values of a span that are changed while it is open.

use crate::{
    decode::{Value, Values},
    encode::{LEFT_OUT_BYTES, put_left_out},
    layout::MAX_SPAN_VALUE_BYTES,
};

/// Replaces values of the same fields, which begin at `start` in a payload. If not all fit, older
/// ones are left out.
pub(super) fn merge(payload: &mut Vec<u8>, start: usize, news: &[u8]) {
    let olds = payload.split_off(start);
    let is_replaced =
        |field: u8| Values::over(news).any(|new| new.is_ok_and(|(number, _)| number == field));
    let room = (MAX_SPAN_VALUE_BYTES - LEFT_OUT_BYTES).saturating_sub(news.len());
    let mut left_out = 0_u16;
    for (bytes, end, is_new) in [(olds.as_slice(), start + room, false), (news, usize::MAX, true)] {
        let mut values = Values::over(bytes);
        let mut from = 0;
        while let Some(Ok((field, value))) = values.next() {
            let one = &bytes[from..values.at()];
            from = values.at();
            match value {
                Value::LeftOut(count) => left_out = left_out.saturating_add(count),
                _ if !is_new && is_replaced(field) => {}
                _ if payload.len() + one.len() > end => left_out = left_out.saturating_add(1),
                _ => payload.extend_from_slice(one),
            }
        }
    }
    put_left_out(payload, left_out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{encode::ValueWriter, layout::tag};

    fn values(of: &[(usize, u64)]) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut writer = ValueWriter::new(&mut buffer, MAX_SPAN_VALUE_BYTES);
        for (field, value) in of {
            writer.fixed(*field, tag::U64, value.to_le_bytes());
        }
        writer.finish();
        buffer
    }

    fn merged(olds: &[u8], news: &[u8]) -> Vec<u8> {
        let mut payload = [b"head", olds].concat();
        merge(&mut payload, 4, news);
        assert_eq!(&payload[..4], b"head");
        payload.split_off(4)
    }

    #[test]
    fn a_value_replaces_the_one_of_its_field() {
        let found = merged(&values(&[(0, 1), (1, 2), (2, 3)]), &values(&[(1, 20), (5, 50)]));
        assert_eq!(found, values(&[(0, 1), (2, 3), (1, 20), (5, 50)]));
        assert_eq!(merged(&[], &found), found);
        assert_eq!(merged(&found, &[]), found);
    }

    #[test]
    fn old_values_give_way_where_there_is_no_room() {
        let many: Vec<_> = (0..250).map(|field| (field, 7)).collect();
        let mut old = values(&many);
        // A long value after them, which just fits.
        let mut writer = ValueWriter::new(&mut old, MAX_SPAN_VALUE_BYTES);
        writer.text(251, &"x".repeat(5_000));
        writer.finish();
        assert_eq!(old.len(), MAX_SPAN_VALUE_BYTES - LEFT_OUT_BYTES);
        let found = merged(&old, &values(&[(252, 1)]));
        let last: Vec<_> = Values::over(&found).map(Result::unwrap).skip(250).collect();
        assert_eq!(last, [(252, Value::U64(1)), (u8::MAX, Value::LeftOut(1))]);
        let again = merged(&found, &values(&[(252, 2)]));
        assert_eq!(Values::over(&again).count(), 252);
    }
}
