package nanotape.rivals.ring;

import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** One queue of a rival, with one writer and one or more readers. */
interface Queue extends AutoCloseable {
    Writer writer();

    /** The reader of one thread, made before anything is sent. */
    Reader reader(int number);

    @Override
    void close();

    /** The end that messages go into. */
    interface Writer {
        /** Copies the message in. If the queue is full it spins. */
        void send(UnsafeBuffer message);
    }

    /** The end that messages come out of. */
    interface Reader {
        /** Shows every message that is there, and returns how many there were. Does not wait. */
        int poll(Sight sight);

        /** How often the writer overtook this reader. */
        default long laps() {
            return 0;
        }
    }

    /** Receives each message, which is in the rival's memory. */
    interface Sight {
        void copyOut(DirectBuffer buffer, int offset);

        /** The last copy was not overwritten meanwhile. A lossless rival accepts every copy. */
        void accept();
    }
}
