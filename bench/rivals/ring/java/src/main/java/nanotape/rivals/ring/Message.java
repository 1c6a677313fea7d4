package nanotape.rivals.ring;

import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The message of the comparison, as in `measure/src/message.rs`: 73 bytes, which are a sequence number
 * from 1, when it was sent, when it was due, and 49 bytes derived from the sequence number. Times are
 * those of System.nanoTime. All numbers are little-endian, the byte order of every machine this runs on.
 */
final class Message {
    static final int LENGTH = 73;
    /** The derived bytes of one message in so many are checked; sequence numbers always are. */
    static final long CHECKED_EVERY = 1_000;

    private static final int SENT = 8;
    private static final int INTENDED = 16;
    private static final int DERIVED = 24;
    private static final int WORDS = (LENGTH - DERIVED) / Long.BYTES;

    private Message() {}

    static void fill(UnsafeBuffer message, long sequence) {
        message.putLong(0, sequence);
        for (int number = 0; number < WORDS; number++) {
            message.putLong(DERIVED + number * Long.BYTES, derived(sequence, number));
        }
        message.putByte(LENGTH - 1, (byte) sequence);
    }

    static void stamp(UnsafeBuffer message, long sent, long intended) {
        message.putLong(SENT, sent);
        message.putLong(INTENDED, intended);
    }

    /**
     * Word by word, which becomes nine moves in a row. The general copy of buffers is a call that costs
     * as much as everything else that a queue does.
     */
    static void copy(DirectBuffer from, int fromOffset, MutableDirectBuffer to, int toOffset) {
        for (int at = 0; at < LENGTH - 1; at += Long.BYTES) {
            to.putLong(toOffset + at, from.getLong(fromOffset + at));
        }
        to.putByte(toOffset + LENGTH - 1, from.getByte(fromOffset + LENGTH - 1));
    }

    static long sequence(DirectBuffer message) {
        return message.getLong(0);
    }

    static long sent(DirectBuffer message) {
        return message.getLong(SENT);
    }

    static long intended(DirectBuffer message) {
        return message.getLong(INTENDED);
    }

    /** Whether the derived bytes match the sequence number. */
    static boolean isWhole(DirectBuffer message) {
        long sequence = sequence(message);
        boolean whole = message.getByte(LENGTH - 1) == (byte) sequence;
        for (int number = 0; number < WORDS; number++) {
            whole &= message.getLong(DERIVED + number * Long.BYTES) == derived(sequence, number);
        }
        return whole;
    }

    private static long derived(long sequence, long number) {
        return (sequence * 0x9e37_79b9_7f4a_7c15L) ^ (number * 0x0101_0101_0101_0101L);
    }
}
