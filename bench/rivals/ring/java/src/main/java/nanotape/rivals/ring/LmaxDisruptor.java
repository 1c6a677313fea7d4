package nanotape.rivals.ring;

import com.lmax.disruptor.BusySpinWaitStrategy;
import com.lmax.disruptor.EventPoller;
import com.lmax.disruptor.RingBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** The LMAX Disruptor: a ring of 73-byte objects, whose writer waits for the slowest reader. */
final class LmaxDisruptor implements Queue {
    private static final int SLOTS = 65_536;

    private final RingBuffer<UnsafeBuffer> ring = RingBuffer.createSingleProducer(
        () -> new UnsafeBuffer(new byte[Message.LENGTH]), SLOTS, new BusySpinWaitStrategy());
    private final EventPoller<UnsafeBuffer>[] pollers;

    @SuppressWarnings({"unchecked", "rawtypes"})
    LmaxDisruptor(int readers) {
        pollers = new EventPoller[readers];
        for (int number = 0; number < readers; number++) {
            pollers[number] = ring.newPoller();
            ring.addGatingSequences(pollers[number].getSequence());
        }
    }

    @Override
    public Writer writer() {
        return message -> {
            long sequence = ring.next();
            Message.copy(message, 0, ring.get(sequence), 0);
            ring.publish(sequence);
        };
    }

    @Override
    public Reader reader(int number) {
        return new Polling(pollers[number]);
    }

    @Override
    public void close() {}

    private static final class Polling implements Reader {
        private final EventPoller<UnsafeBuffer> poller;
        private Sight sight;
        private int count;
        private final EventPoller.Handler<UnsafeBuffer> handler = (event, sequence, endOfBatch) -> {
            sight.copyOut(event, 0);
            sight.accept();
            count++;
            return true;
        };

        Polling(EventPoller<UnsafeBuffer> poller) {
            this.poller = poller;
        }

        @Override
        public int poll(Sight sight) {
            this.sight = sight;
            count = 0;
            try {
                poller.poll(handler);
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
            return count;
        }
    }
}
