package nanotape.journalrivals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.queue.rollcycles.LargeRollCycles;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * One run of Chronicle Queue in one mode: prints one line of JSON.
 *
 * <p>{@code MODE --bytes N --messages N --rate PER_SECOND --cpus A,B --folder FOLDER}, where MODE is
 * throughput (nothing is timed but the whole), call (each call is timed) or tail (at a steady rate, and a
 * tailer on another thread takes what comes). Before it counts, the same is done a few times with queues
 * of its own, so that the code is compiled. Exit status: 0 good, 1 something arrived wrong, 2 usage or
 * environment.
 */
public final class Main {
    private static final int WARM_UPS = 4;
    private static final int WARM_UP_MESSAGES = 200_000;

    private final String mode;
    private final int bytes;
    private final long rate;
    private final int[] cpus;
    private final Path folder;
    private boolean pinned = true;
    private int made;

    /** What arrived is not what was sent. */
    private static final class Wrong extends RuntimeException {
        private static final long serialVersionUID = 1;

        Wrong(String what) {
            super(what);
        }
    }

    private Main(String mode, Map<String, String> options) {
        this.mode = mode;
        bytes = Integer.parseInt(options.getOrDefault("--bytes", "73"));
        rate = Long.parseLong(options.getOrDefault("--rate", "1000000"));
        String[] words = options.getOrDefault("--cpus", "0,1").split(",");
        cpus = new int[] {Integer.parseInt(words[0]), Integer.parseInt(words[words.length - 1])};
        folder = Path.of(options.getOrDefault("--folder", "/dev/shm"))
            .resolve("journal-rivals-chronicle-" + ProcessHandle.current().pid());
    }

    public static void main(String[] words) throws IOException {
        Map<String, String> options = new HashMap<>();
        for (int at = 1; at + 1 < words.length; at += 2) {
            options.put(words[at], words[at + 1]);
        }
        if (words.length % 2 == 0 || !words[0].matches("throughput|call|tail")) {
            System.err.println("journal-rivals-java: throughput, call or tail, and options with values");
            System.exit(2);
        }
        Main main = new Main(words[0], options);
        int status = 2;
        try {
            for (int run = 0; run < WARM_UPS; run++) {
                main.measured(WARM_UP_MESSAGES);
            }
            System.out.println(main.measured(Integer.parseInt(options.getOrDefault("--messages", "2000000"))));
            status = 0;
        } catch (Wrong wrong) {
            System.err.println("chronicle-queue: " + wrong.getMessage());
            status = 1;
        } catch (Exception failure) {
            System.err.println("chronicle-queue: " + failure);
        } finally {
            remove(main.folder);
        }
        System.exit(status);
    }

    private String measured(int messages) throws Exception {
        Path place = folder.resolve("queue-" + made++);
        Files.createDirectories(place);
        String rest;
        try (ChronicleQueue queue = queue(place)) {
            rest = switch (mode) {
                case "throughput" -> on(cpus[0], () -> throughput(queue, messages));
                case "call" -> on(cpus[0], () -> calls(queue, messages));
                default -> tail(queue, messages);
            };
        }
        remove(place);
        return "{\"name\":\"chronicle-queue\",\"version\":\"2026.4\",\"mode\":\"" + mode
            + "\",\"scope\":\"" + (mode.equals("tail") ? "threads" : "one thread")
            + "\",\"message_bytes\":" + bytes + ",\"messages\":" + messages + ",\"pinned\":" + pinned + rest + "}";
    }

    private static ChronicleQueue queue(Path place) {
        File file = place.toFile();
        return SingleChronicleQueueBuilder.binary(file).rollCycle(LargeRollCycles.LARGE_DAILY).build();
    }

    private String throughput(ChronicleQueue queue, int messages) {
        Bytes<?> message = Message.empty(bytes);
        try (ExcerptAppender appender = queue.createAppender()) {
            long start = System.nanoTime();
            for (long sequence = 1; sequence <= messages; sequence++) {
                Message.fill(message, bytes, sequence);
                append(appender, message);
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            return String.format(Locale.ROOT, ",\"messages_per_second\":%.0f", messages / seconds);
        }
    }

    private String calls(ChronicleQueue queue, int messages) {
        Bytes<?> message = Message.empty(bytes);
        int warmUp = messages / 10;
        long[] calls = new long[messages - warmUp];
        java.util.Arrays.fill(calls, 1);
        try (ExcerptAppender appender = queue.createAppender()) {
            for (int sequence = 1; sequence <= messages; sequence++) {
                Message.fill(message, bytes, sequence);
                long from = System.nanoTime();
                append(appender, message);
                long to = System.nanoTime();
                if (sequence > warmUp) {
                    calls[sequence - warmUp - 1] = to - from;
                }
            }
        }
        return ",\"call_ns\":" + Percentiles.of(calls, calls.length).json();
    }

    private void append(ExcerptAppender appender, Bytes<?> message) {
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(message, 0L, bytes);
        }
    }

    private String tail(ChronicleQueue queue, int messages) throws Exception {
        FutureTask<String> tailer = new FutureTask<>(() -> on(cpus[1], () -> read(queue, messages)));
        Thread thread = new Thread(tailer, "tailer");
        thread.start();
        on(cpus[0], () -> {
            send(queue, messages);
            return null;
        });
        try {
            return tailer.get();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failure;
        }
    }

    /** An open loop: a message that is late does not move those behind it. */
    private void send(ChronicleQueue queue, int messages) {
        Bytes<?> message = Message.empty(bytes);
        double period = 1e9 / rate;
        try (ExcerptAppender appender = queue.createAppender()) {
            long start = System.nanoTime() + 10_000_000;
            for (long sequence = 1; sequence <= messages; sequence++) {
                Message.fill(message, bytes, sequence);
                long intended = start + (long) (sequence * period);
                while (System.nanoTime() < intended) {
                    // Spins, as nanotape's writer does.
                }
                Message.stamp(message, System.nanoTime(), intended);
                append(appender, message);
            }
        }
    }

    private String read(ChronicleQueue queue, int messages) {
        Bytes<?> copy = Message.empty(bytes);
        int warmUp = messages / 10;
        long[] fromSend = new long[messages - warmUp];
        long[] fromIntended = new long[messages - warmUp];
        java.util.Arrays.fill(fromSend, 1);
        java.util.Arrays.fill(fromIntended, 1);
        try (ExcerptTailer tailer = queue.createTailer()) {
            for (int expected = 1; expected <= messages; ) {
                try (DocumentContext document = tailer.readingDocument()) {
                    if (!document.isPresent()) {
                        continue;
                    }
                    Bytes<?> stored = document.wire().bytes();
                    if (stored.readRemaining() < bytes) {
                        throw new Wrong("message " + expected + " has " + stored.readRemaining() + " bytes");
                    }
                    copy.write(0L, stored, stored.readPosition(), bytes);
                }
                long now = System.nanoTime();
                long sequence = copy.readLong(0);
                if (sequence != expected) {
                    throw new Wrong("message " + sequence + " arrived where " + expected + " was due");
                }
                if (expected % Message.CHECKED_EVERY == 0 && !Message.isWhole(copy, bytes, sequence)) {
                    throw new Wrong("message " + expected + " arrived damaged");
                }
                if (expected > warmUp) {
                    fromSend[expected - warmUp - 1] = now - copy.readLong(8);
                    fromIntended[expected - warmUp - 1] = now - copy.readLong(16);
                }
                expected++;
            }
        }
        return ",\"rate\":" + rate
            + ",\"from_send_ns\":" + Percentiles.of(fromSend, fromSend.length).json()
            + ",\"from_intended_ns\":" + Percentiles.of(fromIntended, fromIntended.length).json();
    }

    /** On a thread of its own, because a thread stays where it was pinned. */
    private <T> T on(int cpu, Callable<T> work) throws Exception {
        FutureTask<T> task = new FutureTask<>(() -> {
            if (!Cpus.pin(cpu)) {
                pinned = false;
            }
            return work.call();
        });
        new Thread(task, "work-" + cpu).start();
        try {
            return task.get();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failure;
        }
    }

    private static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        }
    }
}
