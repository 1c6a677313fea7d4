package nanotape.ringrivals;

import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** One queue of a rival, with one writer and some readers. */
interface Queue extends AutoCloseable {
    Writer writer();

    /** One for each thread that reads, made before anything is sent. */
    Reader reader(int number);

    @Override
    void close();

    /** The end that messages go into. */
    interface Writer {
        /** Copies it in; waits, spinning, while there is no room. */
        void send(UnsafeBuffer message);
    }

    /** The end that messages come out of. */
    interface Reader {
        /** Shows what is there and says how many messages that was; does not wait. */
        int poll(Sight sight);

        /** How often the writer overtook this reader. */
        default long laps() {
            return 0;
        }
    }

    /** Is shown a message in the rival's memory. */
    interface Sight {
        void copyOut(DirectBuffer buffer, int offset);

        /** What was copied last was not overwritten meanwhile. Rivals that cannot tell need not ask. */
        void accept();
    }
}
