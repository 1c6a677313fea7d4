package nanotape.ringrivals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.IntFunction;

/**
 * One run of one rival in one mode, on threads of this process: prints one line of JSON.
 *
 * <p>Before it counts, the same is done a few times for less long, with queues of its own, so that the
 * code is compiled. Exit status: 0 good, 1 something arrived wrong or not at all, 2 usage or
 * environment.
 */
public final class Main {
    private static final int WARM_UPS = 3;

    private final Options options;
    private final Rival rival;
    private boolean pinned = true;

    private Main(Options options, Rival rival) {
        this.options = options;
        this.rival = rival;
    }

    /** What the report says of a rival, and how one of its queues is made. */
    record Rival(String name, String version, String queue, boolean lossless, IntFunction<Queue> make) {}

    public static void main(String[] words) {
        Options options;
        try {
            options = Options.parse(words);
        } catch (IllegalArgumentException mistake) {
            System.err.println("ring-rivals-java: " + mistake.getMessage());
            System.exit(2);
            return;
        }
        int status = 2;
        try {
            status = run(options);
        } catch (Exception failure) {
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            boolean wrong = cause instanceof Check.Wrong;
            System.err.println(options.rival() + ": " + (wrong ? cause.getMessage() : cause));
            status = wrong ? 1 : 2;
        }
        // Threads that wait for a message that was lost must not keep the process.
        System.exit(status);
    }

    private static int run(Options options) throws Exception {
        switch (options.rival()) {
            case "aeron" -> {
                try (AeronIpc.Driver driver = AeronIpc.Driver.launch()) {
                    String version = io.aeron.AeronVersion.VERSION;
                    measure(options, new Rival("aeron", version, "8 MiB term", true,
                        number -> new AeronIpc(driver, 1_000 + number, options.readers())));
                }
            }
            case "agrona-broadcast" -> {
                String version = version(org.agrona.concurrent.UnsafeBuffer.class);
                measure(options, new Rival("agrona-broadcast", version, "8 MiB", false,
                    number -> new AgronaBroadcast(number, options.readers())));
            }
            case "lmax-disruptor" -> {
                String version = version(com.lmax.disruptor.RingBuffer.class);
                measure(options, new Rival("lmax-disruptor", version, "65536 slots", true,
                    number -> new LmaxDisruptor(options.readers())));
            }
            default -> {
                System.err.println("no rival is called " + options.rival()
                    + "; there are aeron, agrona-broadcast, lmax-disruptor");
                return 2;
            }
        }
        return 0;
    }

    /** The name of the file that a class is from, without what is not its version. */
    private static String version(Class<?> of) {
        String path = of.getProtectionDomain().getCodeSource().getLocation().getPath();
        return path.replaceAll(".*/|\\.jar$", "").replaceFirst("^disruptor-", "")
            .replaceFirst("^aeron-all-", "of aeron-all ");
    }

    private static void measure(Options options, Rival rival) throws Exception {
        int shorter = Math.max(10_000, Math.min(options.messages() / 2, 2_000_000));
        int queues = 0;
        for (int round = 0; round < WARM_UPS; round++, queues += 2) {
            new Main(options.withMessages(shorter), rival).once(queues);
        }
        System.out.println(new Main(options, rival).once(queues));
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
            readers.add(thread(options.readerCpu(number), () -> {
                ready.countDown();
                return work.read(reader);
            }));
        }
        double seconds = thread(options.writerCpu(), () -> {
            ready.await();
            return work.write(queue.writer());
        }).get();
        List<Work.Reading> readings = new ArrayList<>();
        for (FutureTask<Work.Reading> reader : readers) {
            readings.add(reader.get());
        }
        return new Report(options, rival, pinned).oneWay(seconds, readings);
    }

    private String thereAndBack(Work work, Queue there, Queue back) throws Exception {
        FutureTask<Boolean> far = thread(options.readerCpu(0), () -> {
            work.pong(there.reader(0), back.writer());
            return true;
        });
        FutureTask<Work.Reading> near = thread(options.writerCpu(),
            () -> work.ping(there.writer(), back.reader(0)));
        Work.Reading reading = near.get();
        far.get();
        return new Report(options, rival, pinned).roundTrips(reading);
    }

    private <T> FutureTask<T> thread(int cpu, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(() -> {
            if (!Cpus.pin(cpu)) {
                pinned = false;
            }
            return work.call();
        });
        new Thread(task).start();
        return task;
    }
}
