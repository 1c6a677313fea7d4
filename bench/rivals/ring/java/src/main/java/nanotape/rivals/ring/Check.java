package nanotape.rivals.ring;

import nanotape.rivals.Run;
import org.agrona.DirectBuffer;

/** Whether messages arrive in order and whole, and how many arrive. */
final class Check {
    private final boolean lossless;
    private long received;
    private long last;
    private String wrong;

    Check(boolean lossless) {
        this.lossless = lossless;
    }

    void see(DirectBuffer message) {
        received++;
        long sequence = Message.sequence(message);
        if (sequence <= last || (lossless && sequence != last + 1)) {
            complain("message " + sequence + " arrived after " + last);
        }
        last = sequence;
        if (sequence % Message.CHECKED_EVERY == 0 && !Message.isWhole(message)) {
            complain("message " + sequence + " arrived damaged");
        }
    }

    private void complain(String what) {
        if (wrong == null) {
            wrong = what;
        }
    }

    long received() {
        return received;
    }

    /** The sequence number of the last message that arrived. */
    long last() {
        return last;
    }

    void finish() {
        if (wrong != null) {
            throw new Run.Wrong(wrong);
        }
    }
}
