package nanotape.rivals.ring;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.IntFunction;
import nanotape.rivals.PinnedThreads;
import nanotape.rivals.Run;

/**
 * One run of one rival in one mode, on threads of this process: prints one line of JSON.
 *
 * <p>It runs a few shorter times before it counts, with queues of their own, so that the code is
 * compiled. Exit status: 0 good, 1 a message arrived out of order or damaged, 2 usage or environment.
 */
public final class Main {
    private static final int WARM_UPS = 3;

    private final Options options;
    private final Rival rival;
    private final PinnedThreads threads = new PinnedThreads();

    private Main(Options options, Rival rival) {
        this.options = options;
        this.rival = rival;
    }

    /** What the report has of a rival, and how to make one of its queues. */
    record Rival(String name, String version, String queue, boolean lossless, IntFunction<Queue> make) {}

    public static void main(String[] words) {
        Run.exitWith(words.length > 0 ? words[0] : "rivals-ring-java", () -> run(Options.parse(words)));
    }

    private static String run(Options options) throws Exception {
        switch (options.rival()) {
            case "aeron" -> {
                try (AeronIpc.Driver driver = AeronIpc.Driver.launch()) {
                    String version = io.aeron.AeronVersion.VERSION;
                    return measure(options, new Rival("aeron", version, "8 MiB term", true,
                        number -> new AeronIpc(driver, 1_000 + number, options.readers())));
                }
            }
            case "agrona-broadcast" -> {
                String version = version(org.agrona.concurrent.UnsafeBuffer.class);
                return measure(options, new Rival("agrona-broadcast", version, "8 MiB", false,
                    number -> new AgronaBroadcast(number, options.readers())));
            }
            case "lmax-disruptor" -> {
                String version = version(com.lmax.disruptor.RingBuffer.class);
                return measure(options, new Rival("lmax-disruptor", version, "65536 slots", true,
                    number -> new LmaxDisruptor(options.readers())));
            }
            default -> throw new IllegalArgumentException(
                "no such rival; there are aeron, agrona-broadcast, lmax-disruptor");
        }
    }

    /** The version in the name of the file that a class is from. */
    private static String version(Class<?> of) {
        String path = of.getProtectionDomain().getCodeSource().getLocation().getPath();
        return path.replaceAll(".*/|\\.jar$", "").replaceFirst("^disruptor-", "")
            .replaceFirst("^aeron-all-", "of aeron-all ");
    }

    private static String measure(Options options, Rival rival) throws Exception {
        int shorter = Math.max(10_000, Math.min(options.messages() / 2, 2_000_000));
        int queues = 0;
        for (int round = 0; round < WARM_UPS; round++, queues += 2) {
            new Main(options.withMessages(shorter), rival).once(queues);
        }
        return new Main(options, rival).once(queues);
    }

    private String once(int number) throws Exception {
        Work work = new Work(options, rival.lossless());
        try (Queue there = rival.make().apply(number)) {
            if (!options.mode().equals("ping-pong")) {
                return oneWay(work, there);
            }
            try (Queue back = rival.make().apply(number + 1)) {
                return thereAndBack(work, there, back);
            }
        }
    }

    private String oneWay(Work work, Queue queue) throws Exception {
        CountDownLatch ready = new CountDownLatch(options.readers());
        List<FutureTask<Work.Reading>> readers = new ArrayList<>();
        for (int number = 0; number < options.readers(); number++) {
            Queue.Reader reader = queue.reader(number);
            readers.add(threads.start(options.readerCpu(number), () -> {
                ready.countDown();
                return work.read(reader);
            }));
        }
        double seconds = PinnedThreads.result(threads.start(options.writerCpu(), () -> {
            ready.await();
            return work.write(queue.writer());
        }));
        List<Work.Reading> readings = new ArrayList<>();
        for (FutureTask<Work.Reading> reader : readers) {
            readings.add(PinnedThreads.result(reader));
        }
        return new Report(options, rival, threads.allPinned()).oneWay(seconds, readings);
    }

    private String thereAndBack(Work work, Queue there, Queue back) throws Exception {
        FutureTask<Boolean> far = threads.start(options.readerCpu(0), () -> {
            work.pong(there.reader(0), back.writer());
            return true;
        });
        FutureTask<Work.Reading> near = threads.start(options.writerCpu(),
            () -> work.ping(there.writer(), back.reader(0)));
        Work.Reading reading = PinnedThreads.result(near);
        PinnedThreads.result(far);
        return new Report(options, rival, threads.allPinned()).roundTrips(reading);
    }
}
