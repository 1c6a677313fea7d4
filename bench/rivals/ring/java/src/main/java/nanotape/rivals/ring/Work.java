package nanotape.rivals.ring;

import java.util.Arrays;
import nanotape.rivals.Percentiles;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** What writers and readers do, the same for every rival and as in `ring/src/work.rs`. */
final class Work {
    /** What one reader measured. */
    record Reading(long received, long laps, double seconds, int samples, Percentiles fromSend,
        Percentiles fromIntended) {}

    private final Options options;
    private final boolean lossless;
    /** The writer is done: a reader that lost the last message stops. */
    volatile boolean written;

    Work(Options options, boolean lossless) {
        this.options = options;
        this.lossless = lossless;
    }

    /** Sends everything, and returns how many seconds that took. */
    double write(Queue.Writer writer) {
        UnsafeBuffer message = emptyMessage();
        boolean paced = options.mode().equals("latency");
        double period = 1e9 / options.rate();
        long start = System.nanoTime();
        for (int sequence = 1; sequence <= options.messages(); sequence++) {
            Message.fill(message, sequence);
            if (paced) {
                long intended = start + (long) (sequence * period);
                long now = System.nanoTime();
                while (now < intended) {
                    now = System.nanoTime();
                }
                Message.stamp(message, System.nanoTime(), intended);
            }
            writer.send(message);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        written = true;
        return seconds;
    }

    /** Receives everything that arrives, copies it out and checks it. */
    Reading read(Queue.Reader reader) {
        return options.mode().equals("latency") ? readLatency(reader) : readFlatOut(reader);
    }

    private Reading readFlatOut(Queue.Reader reader) {
        Flat sight = new Flat();
        receive(reader, sight);
        double seconds = (System.nanoTime() - sight.first) / 1e9;
        return new Reading(sight.check.received(), reader.laps(), seconds, 0, Percentiles.NONE,
            Percentiles.NONE);
    }

    private Reading readLatency(Queue.Reader reader) {
        Timed sight = new Timed();
        receive(reader, sight);
        return new Reading(sight.check.received(), reader.laps(), 0, sight.samples,
            Percentiles.of(sight.fromSend, sight.samples),
            Percentiles.of(sight.fromIntended, sight.samples));
    }

    private void receive(Queue.Reader reader, Copying sight) {
        int empty = 0;
        while (sight.check.last() < options.messages()) {
            if (reader.poll(sight) > 0) {
                empty = 0;
                continue;
            }
            if (!lossless && written && reader.poll(sight) == 0) {
                break;
            }
            idle(++empty);
        }
        sight.check.finish();
    }

    /** Sends a message, waits until it comes back, and so on. Measures the round trips. */
    Reading ping(Queue.Writer writer, Queue.Reader reader) {
        UnsafeBuffer message = emptyMessage();
        Unchecked sight = new Unchecked();
        long[] roundTrips = touched(options.messages() - options.warmUp());
        int samples = 0;
        for (int sequence = 1; sequence <= options.messages(); sequence++) {
            Message.fill(message, sequence);
            long sent = System.nanoTime();
            Message.stamp(message, sent, sent);
            writer.send(message);
            while (reader.poll(sight) == 0) {
                Thread.onSpinWait();
            }
            long now = System.nanoTime();
            sight.check.see(sight.copy);
            if (sequence > options.warmUp()) {
                roundTrips[samples++] = now - sent;
            }
        }
        sight.check.finish();
        return new Reading(sight.check.received(), 0, 0, samples,
            Percentiles.of(roundTrips, samples), Percentiles.NONE);
    }

    /** Sends every message back. */
    void pong(Queue.Reader reader, Queue.Writer writer) {
        Unchecked sight = new Unchecked();
        while (sight.check.last() < options.messages()) {
            if (reader.poll(sight) > 0) {
                writer.send(sight.copy);
                sight.check.see(sight.copy);
            } else {
                Thread.onSpinWait();
            }
        }
        sight.check.finish();
    }

    private void idle(int empty) {
        if (options.crowded() && empty % 100 == 0) {
            Thread.yield();
        } else {
            Thread.onSpinWait();
        }
    }

    private static UnsafeBuffer emptyMessage() {
        return new UnsafeBuffer(new byte[Message.LENGTH]);
    }

    /** Written once, so that its pages exist before the clock runs. */
    private static long[] touched(int length) {
        long[] samples = new long[length];
        Arrays.fill(samples, Long.MAX_VALUE);
        return samples;
    }

    /** Copies out and checks. */
    private class Copying implements Queue.Sight {
        final UnsafeBuffer copy = emptyMessage();
        final Check check = new Check(lossless);

        @Override
        public void copyOut(DirectBuffer buffer, int offset) {
            Message.copy(buffer, offset, copy, 0);
        }

        @Override
        public void accept() {
            check.see(copy);
        }
    }

    /** Only one message is on its way, so the check can wait until the clock was read. */
    private final class Unchecked extends Copying {
        @Override
        public void accept() {}
    }

    private final class Flat extends Copying {
        long first;

        @Override
        public void accept() {
            if (first == 0) {
                first = System.nanoTime();
            }
            super.accept();
        }
    }

    private final class Timed extends Copying {
        final long[] fromSend = touched(options.messages() - options.warmUp());
        final long[] fromIntended = touched(options.messages() - options.warmUp());
        int samples;

        @Override
        public void accept() {
            long now = System.nanoTime();
            super.accept();
            if (check.last() > options.warmUp()) {
                fromSend[samples] = now - Message.sent(copy);
                fromIntended[samples++] = now - Message.intended(copy);
            }
        }
    }
}
