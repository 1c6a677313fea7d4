package nanotape.rivals.map;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import nanotape.rivals.Percentiles;
import nanotape.rivals.PinnedThreads;
import nanotape.rivals.Run;
import net.openhft.chronicle.core.values.LongValue;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.values.Values;

/**
 * One run of Chronicle Map in one mode: prints one line of JSON.
 *
 * <p>{@code MODE --entries N --updates N --sides 1|2 --rate PER_SECOND --kills N --cpus A,B --folder
 * FOLDER}, where MODE is throughput, latency or kill. Side 2 is another process, started by the first.
 * It updates as much before it counts, so that the code is compiled. Exit status: 0 good, 1 a value is
 * missing or wrong, 2 usage or environment.
 */
public final class Main {
    private static final int WARM_UP_UPDATES = 1_000_000;
    private static final String[] OPTIONS = {
        "--entries", "--updates", "--sides", "--rate", "--kills", "--cpus", "--folder", "--second", "--map",
    };

    private final String[] words;
    private final String mode;
    private final int entries;
    private final int updates;
    private final int sides;
    private final int rate;
    private final int kills;
    private final int[] cpus;
    private final String role;
    private final File file;
    private final PinnedThreads threads = new PinnedThreads();
    private final LongValue key = Values.newHeapInstance(LongValue.class);
    private final LongValue value = Values.newNativeReference(LongValue.class);

    private Main(String[] words) {
        if (words.length == 0 || !words[0].matches("throughput|latency|kill")) {
            throw new IllegalArgumentException("needs a mode: throughput, latency or kill");
        }
        this.words = words;
        Run run = new Run(words, 1, OPTIONS);
        mode = words[0];
        entries = run.number("--entries", 1_000_000);
        updates = run.number("--updates", 4_000_000);
        sides = run.number("--sides", 1);
        rate = run.number("--rate", 1_000_000);
        kills = run.number("--kills", 20);
        cpus = run.cpus();
        role = run.text("--second", "");
        Path folder = Path.of(run.text("--folder", "/dev/shm"));
        String own = "rivals-" + ProcessHandle.current().pid() + "-chronicle-map";
        file = new File(run.text("--map", folder.resolve(own).toString()));
    }

    public static void main(String[] words) {
        Run.exitWith("chronicle-map", () -> new Main(words).run());
    }

    private String run() throws Exception {
        int cpu = role.isEmpty() ? cpus[0] : cpus[cpus.length - 1];
        return PinnedThreads.result(threads.start(cpu, role.isEmpty() ? this::first : this::second));
    }

    private ChronicleMap<LongValue, LongValue> open() throws IOException {
        return ChronicleMap.of(LongValue.class, LongValue.class)
            .name("latest").entries(entries).actualSegments(1_024).createPersistedTo(file);
    }

    private String first() throws Exception {
        try (ChronicleMap<LongValue, LongValue> map = open()) {
            LongValue zero = Values.newHeapInstance(LongValue.class);
            for (long entry = 0; entry < entries; entry++) {
                key.setValue(Keys.key(entry));
                map.put(key, zero);
            }
            String rest = switch (mode) {
                case "throughput" -> throughput(map);
                case "latency" -> latency(map);
                default -> killed();
            };
            return "{\"name\":\"chronicle-map\",\"version\":\"2026.1\",\"scope\":\"processes\",\"mode\":\"" + mode
                + "\",\"entries\":" + entries + ",\"sides\":" + sides + ",\"pinned\":" + threads.allPinned()
                + rest + "}";
        } finally {
            Files.deleteIfExists(file.toPath());
        }
    }

    /** Adds 1 in place: the lock of the segment is held meanwhile. */
    private void add(ChronicleMap<LongValue, LongValue> map, long of) {
        key.setValue(of);
        try (net.openhft.chronicle.core.io.Closeable context = map.acquireContext(key, value)) {
            value.addValue(1);
        }
    }

    private String throughput(ChronicleMap<LongValue, LongValue> map) throws Exception {
        Other other = sides > 1 ? new Other("side") : null;
        long warm = warmUp(map, 2);
        if (other != null) {
            other.line();
            other.go();
        }
        long longest = flatOut(map, 0);
        if (other != null) {
            longest = Math.max(longest, Long.parseLong(other.line()));
        }
        long done = updates / sides * (long) sides;
        check(map, done + warm * sides);
        return String.format(
            Locale.ROOT, ",\"updates\":%d,\"updates_per_second\":%.0f", done, done * 1e9 / longest);
    }

    /** As many updates as the code needs to be compiled; returns their number. */
    private long warmUp(ChronicleMap<LongValue, LongValue> map, long side) {
        Keys keys = new Keys(side, entries);
        for (int update = 0; update < WARM_UP_UPDATES; update++) {
            add(map, keys.next());
        }
        return WARM_UP_UPDATES;
    }

    private long flatOut(ChronicleMap<LongValue, LongValue> map, long side) {
        Keys keys = new Keys(side, entries);
        long start = System.nanoTime();
        for (int update = 0; update < updates / sides; update++) {
            add(map, keys.next());
        }
        return System.nanoTime() - start;
    }

    /** An open loop: an update that is late does not delay the schedule of those after it. */
    private String latency(ChronicleMap<LongValue, LongValue> map) {
        long warm = warmUp(map, 2);
        int first = updates / 10;
        long[] calls = new long[updates - first];
        long[] late = new long[updates - first];
        // Written once, so that their pages exist before the clock runs.
        Arrays.fill(calls, 1);
        Arrays.fill(late, 1);
        Keys keys = new Keys(0, entries);
        double period = 1e9 / rate;
        long start = System.nanoTime() + 10_000_000;
        for (int update = 0; update < updates; update++) {
            long next = keys.next();
            long due = start + (long) (update * period);
            while (System.nanoTime() < due) {
                // Spins, as the programs in Rust do.
            }
            long from = System.nanoTime();
            add(map, next);
            long to = System.nanoTime();
            if (update >= first) {
                calls[update - first] = to - from;
                late[update - first] = to - due;
            }
        }
        check(map, updates + warm);
        return ",\"rate\":" + rate + ",\"updates\":" + updates
            + ",\"call_ns\":" + Percentiles.of(calls, calls.length).json()
            + ",\"from_due_ns\":" + Percentiles.of(late, late.length).json();
    }

    private void check(ChronicleMap<LongValue, LongValue> map, long expected) {
        LongValue found = Values.newHeapInstance(LongValue.class);
        long sum = 0;
        for (long entry = 0; entry < entries; entry++) {
            key.setValue(Keys.key(entry));
            if (map.getUsing(key, found) == null) {
                throw new Run.Wrong("the key of entry " + entry + " is missing");
            }
            sum += found.getValue();
        }
        if (sum != expected || map.longSize() != entries) {
            throw new Run.Wrong("the values have " + sum + " of " + expected + " updates");
        }
    }

    /** Kills a process that updates; the next one must update every key within ten seconds. */
    private String killed() throws Exception {
        int survived = 0;
        long slowest = 0;
        String reason = "null";
        for (int kill = 0; kill < kills; kill++) {
            Other victim = new Other("victim");
            victim.line();
            Thread.sleep(500 + kill * kill % 11 * 8);
            victim.process.destroyForcibly().waitFor();
            long start = System.nanoTime();
            Process survivor = new Other("survivor").process;
            boolean ended = survivor.waitFor(10, java.util.concurrent.TimeUnit.SECONDS);
            slowest = Math.max(slowest, System.nanoTime() - start);
            if (!ended || survivor.exitValue() != 0) {
                String how = ended ? "ended with status " + survivor.exitValue() : "was not done after 10s";
                reason = "\"after kill " + (kill + 1) + ": the next process " + how + "\"";
                survivor.destroyForcibly().waitFor();
                break;
            }
            survived++;
        }
        return String.format(
            Locale.ROOT, ",\"kills\":%d,\"survived\":%d,\"slowest_seconds\":%.3f,\"reason\":%s",
            kills, survived, slowest / 1e9, reason);
    }

    private String second() throws Exception {
        try (ChronicleMap<LongValue, LongValue> map = open()) {
            switch (role) {
                case "side" -> {
                    warmUp(map, 3);
                    System.out.println("ready");
                    new BufferedReader(new InputStreamReader(System.in)).readLine();
                    return String.valueOf(flatOut(map, 1));
                }
                case "victim" -> {
                    System.out.println("ready");
                    Keys keys = new Keys(ProcessHandle.current().pid(), entries);
                    while (true) {
                        add(map, keys.next());
                    }
                }
                default -> {
                    for (long entry = 0; entry < entries; entry++) {
                        add(map, Keys.key(entry));
                    }
                    return "done";
                }
            }
        }
    }

    /** Another process of the run, on the same map. It ends with this one. */
    private final class Other {
        private final Process process;
        private final BufferedReader lines;

        Other(String role) throws IOException {
            ProcessHandle.Info own = ProcessHandle.current().info();
            String[] arguments = own.arguments().orElseThrow();
            java.util.List<String> command = new java.util.ArrayList<>();
            command.add(own.command().orElseThrow());
            command.addAll(Arrays.asList(arguments).subList(0, arguments.length - words.length));
            command.addAll(Arrays.asList(words));
            command.addAll(java.util.List.of("--second", role, "--map", file.toString()));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
            lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
        }

        String line() throws IOException {
            String line = lines.readLine();
            if (line == null) {
                throw new IOException("another process of the run ended");
            }
            return line;
        }

        void go() throws IOException {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        }
    }
}
