package nanotape.rivals.journal;

import net.openhft.chronicle.bytes.Bytes;

/**
 * The message of the comparison, of 73 or 256 bytes: a sequence number, when it was sent, when it was due,
 * and bytes derived from the sequence number.
 */
final class Message {
    static final int DERIVED = 24;
    /** All bytes of one message in so many are checked; sequence numbers always are. */
    static final int CHECKED_EVERY = 1_000;

    private Message() {}

    static Bytes<?> empty(int length) {
        Bytes<?> message = Bytes.allocateDirect(length);
        message.writePosition(length);
        return message;
    }

    static void fill(Bytes<?> message, int length, long sequence) {
        message.writeLong(0, sequence);
        for (int at = DERIVED; at + 8 <= length; at += 8) {
            message.writeLong(at, derived(sequence, at));
        }
        for (int at = length & ~7; at < length; at++) {
            message.writeByte(at, (byte) sequence);
        }
    }

    static void stamp(Bytes<?> message, long sent, long intended) {
        message.writeLong(8, sent);
        message.writeLong(16, intended);
    }

    static boolean isWhole(Bytes<?> message, int length, long sequence) {
        boolean whole = message.readLong(0) == sequence;
        for (int at = DERIVED; at + 8 <= length; at += 8) {
            whole &= message.readLong(at) == derived(sequence, at);
        }
        for (int at = length & ~7; at < length; at++) {
            whole &= message.readByte(at) == (byte) sequence;
        }
        return whole;
    }

    private static long derived(long sequence, long at) {
        return (sequence * 0x9e37_79b9_7f4a_7c15L) ^ (at * 0x0101_0101_0101_0101L);
    }
}
