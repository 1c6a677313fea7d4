package nanotape.rivals.ring;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * Aeron's IPC: logs in shared memory. The media driver moves the limit up to which the writer can claim.
 * It is one thread of this process, so with two processors it competes with writer and reader.
 */
final class AeronIpc implements Queue {
    private static final String CHANNEL = "aeron:ipc?term-length=8m";
    private static final int FRAGMENTS = 256;

    private final ExclusivePublication publication;
    private final Subscription[] subscriptions;

    /** The driver and its client, for all queues of the process. */
    record Driver(MediaDriver driver, Aeron client) implements AutoCloseable {
        static Driver launch() {
            MediaDriver.Context context = new MediaDriver.Context()
                .aeronDirectoryName("/dev/shm/rivals-" + ProcessHandle.current().pid() + "-aeron")
                .threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(idle())
                .termBufferSparseFile(false)
                // The default, 10 s, drops a client whose threads wait long for a processor.
                .clientLivenessTimeoutNs(TimeUnit.SECONDS.toNanos(60))
                .publicationUnblockTimeoutNs(TimeUnit.SECONDS.toNanos(90))
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true);
            MediaDriver driver = MediaDriver.launchEmbedded(context);
            Aeron.Context client =
                new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName());
            return new Driver(driver, Aeron.connect(client));
        }

        /**
         * What an idle driver does: -Ddriver.idle=backoff, yield or spin. Backing off is Aeron's default,
         * and by far the fastest if the driver shares a processor.
         */
        private static IdleStrategy idle() {
            return switch (System.getProperty("driver.idle", "backoff")) {
                case "spin" -> BusySpinIdleStrategy.INSTANCE;
                case "yield" -> YieldingIdleStrategy.INSTANCE;
                default -> new BackoffIdleStrategy();
            };
        }

        @Override
        public void close() {
            client.close();
            driver.close();
        }
    }

    AeronIpc(Driver driver, int stream, int readers) {
        publication = driver.client().addExclusivePublication(CHANNEL, stream);
        subscriptions = new Subscription[readers];
        for (int number = 0; number < readers; number++) {
            subscriptions[number] = driver.client().addSubscription(CHANNEL, stream);
        }
        for (Subscription subscription : subscriptions) {
            while (!subscription.isConnected() || !publication.isConnected()) {
                Thread.yield();
            }
        }
    }

    @Override
    public Writer writer() {
        BufferClaim claim = new BufferClaim();
        return message -> {
            while (true) {
                long position = publication.tryClaim(Message.LENGTH, claim);
                if (position > 0) {
                    Message.copy(message, 0, claim.buffer(), claim.offset());
                    claim.commit();
                    return;
                }
                if (position != Publication.BACK_PRESSURED && position != Publication.ADMIN_ACTION) {
                    throw new IllegalStateException("tryClaim: " + Publication.errorString(position));
                }
                Thread.onSpinWait();
            }
        };
    }

    @Override
    public Reader reader(int number) {
        return new Polling(subscriptions[number]);
    }

    @Override
    public void close() {
        publication.close();
        for (Subscription subscription : subscriptions) {
            subscription.close();
        }
    }

    private static final class Polling implements Reader {
        private final Subscription subscription;
        private Sight sight;
        private final FragmentHandler handler = (buffer, offset, length, header) -> {
            sight.copyOut(buffer, offset);
            sight.accept();
        };

        Polling(Subscription subscription) {
            this.subscription = subscription;
        }

        @Override
        public int poll(Sight sight) {
            this.sight = sight;
            return subscription.poll(handler, FRAGMENTS);
        }
    }
}
