package nanotape.rivals.journal;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import nanotape.rivals.Percentiles;
import nanotape.rivals.PinnedThreads;
import nanotape.rivals.Run;
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
 * throughput (only the whole run is timed), call (each call is timed) or tail (at a steady rate, and a
 * tailer on another thread takes the messages). It runs a few times before it counts, with queues of
 * their own, so that the code is compiled. Exit status: 0 good, 1 a message is missing or wrong, 2 usage
 * or environment.
 */
public final class Main {
    private static final int WARM_UPS = 4;
    private static final int WARM_UP_MESSAGES = 200_000;

    private final String mode;
    private final int bytes;
    private final int rate;
    private final int messages;
    private final int[] cpus;
    private final Path folder;
    private final PinnedThreads threads = new PinnedThreads();
    private int made;

    private Main(String[] words) {
        if (words.length == 0 || !words[0].matches("throughput|call|tail")) {
            throw new IllegalArgumentException("needs a mode: throughput, call or tail");
        }
        Run run = new Run(words, 1, "--bytes", "--messages", "--rate", "--cpus", "--folder");
        mode = words[0];
        bytes = run.number("--bytes", 73);
        rate = run.number("--rate", 1_000_000);
        messages = run.number("--messages", 2_000_000);
        cpus = run.cpus();
        folder = Path.of(run.text("--folder", "/dev/shm"))
            .resolve("rivals-" + ProcessHandle.current().pid() + "-chronicle");
    }

    public static void main(String[] words) {
        Run.exitWith("chronicle-queue", () -> new Main(words).run());
    }

    private String run() throws Exception {
        try {
            for (int run = 0; run < WARM_UPS; run++) {
                measured(WARM_UP_MESSAGES);
            }
            return measured(messages);
        } finally {
            remove(folder);
        }
    }

    private String measured(int messages) throws Exception {
        Path path = folder.resolve("queue-" + made++);
        Files.createDirectories(path);
        String rest;
        try (ChronicleQueue queue = queue(path)) {
            rest = switch (mode) {
                case "throughput" -> on(cpus[0], () -> throughput(queue, messages));
                case "call" -> on(cpus[0], () -> calls(queue, messages));
                default -> tail(queue, messages);
            };
        }
        remove(path);
        return "{\"name\":\"chronicle-queue\",\"version\":\"2026.4\",\"mode\":\"" + mode
            + "\",\"scope\":\"" + (mode.equals("tail") ? "threads" : "one thread")
            + "\",\"message_bytes\":" + bytes + ",\"messages\":" + messages + ",\"pinned\":"
            + threads.allPinned() + rest + "}";
    }

    private static ChronicleQueue queue(Path path) {
        File file = path.toFile();
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
        long[] calls = touched(messages - warmUp);
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

    /** Written once, so that its pages exist before the clock runs. */
    private static long[] touched(int length) {
        long[] samples = new long[length];
        Arrays.fill(samples, 1);
        return samples;
    }

    private void append(ExcerptAppender appender, Bytes<?> message) {
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(message, 0L, bytes);
        }
    }

    private String tail(ChronicleQueue queue, int messages) throws Exception {
        FutureTask<String> tailer = threads.start(cpus[cpus.length - 1], () -> read(queue, messages));
        on(cpus[0], () -> {
            send(queue, messages);
            return null;
        });
        return PinnedThreads.result(tailer);
    }

    /** An open loop: a message that is late does not delay those after it. */
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
        long[] fromSend = touched(messages - warmUp);
        long[] fromIntended = touched(messages - warmUp);
        try (ExcerptTailer tailer = queue.createTailer()) {
            for (int expected = 1; expected <= messages; ) {
                try (DocumentContext document = tailer.readingDocument()) {
                    if (!document.isPresent()) {
                        continue;
                    }
                    Bytes<?> stored = document.wire().bytes();
                    if (stored.readRemaining() < bytes) {
                        throw new Run.Wrong("message " + expected + " has " + stored.readRemaining() + " bytes");
                    }
                    copy.write(0L, stored, stored.readPosition(), bytes);
                }
                long now = System.nanoTime();
                long sequence = copy.readLong(0);
                if (sequence != expected) {
                    throw new Run.Wrong("message " + sequence + " arrived, expected " + expected);
                }
                if (expected % Message.CHECKED_EVERY == 0 && !Message.isWhole(copy, bytes, sequence)) {
                    throw new Run.Wrong("message " + expected + " arrived damaged");
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
        return PinnedThreads.result(threads.start(cpu, work));
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
