package nanotape.ringrivals;

import java.util.Arrays;

/** The command line of a run, whose words are those of the programs in Rust. */
record Options(String rival, String mode, int messages, int readers, int rate, int[] cpus) {
    private static final String USAGE =
        "RIVAL MODE [--messages N] [--readers R] [--rate PER_SECOND] [--cpus A,B]";

    static Options parse(String[] words) {
        if (words.length < 2 || words.length % 2 != 0) {
            throw new IllegalArgumentException(USAGE);
        }
        String mode = words[1];
        int messages = switch (mode) {
            case "throughput" -> 10_000_000;
            case "latency" -> 2_000_000;
            case "ping-pong" -> 1_000_000;
            default -> throw new IllegalArgumentException(mode + ": throughput, latency or ping-pong");
        };
        Options options = new Options(words[0], mode, messages, 1, 1_000_000, new int[] {0, 1});
        for (int at = 2; at < words.length; at += 2) {
            options = options.with(words[at], words[at + 1]);
        }
        if (options.readers > 1 && !mode.equals("throughput")) {
            throw new IllegalArgumentException("--readers: more than one only with throughput");
        }
        return options;
    }

    private Options with(String name, String value) {
        return switch (name) {
            case "--messages" -> withMessages(number(name, value));
            case "--readers" -> new Options(rival, mode, messages, number(name, value), rate, cpus);
            case "--rate" -> new Options(rival, mode, messages, readers, number(name, value), cpus);
            case "--cpus" -> new Options(rival, mode, messages, readers, rate,
                Arrays.stream(value.split(",")).mapToInt(Integer::parseInt).toArray());
            default -> throw new IllegalArgumentException(name + ": --messages, --readers, --rate or --cpus");
        };
    }

    private static int number(String name, String value) {
        int number = Integer.parseInt(value);
        if (number < 1) {
            throw new IllegalArgumentException(name + " " + value + ": from 1");
        }
        return number;
    }

    Options withMessages(int messages) {
        return new Options(rival, mode, messages, readers, rate, cpus);
    }

    int writerCpu() {
        return cpus[0];
    }

    /** Readers take turns on what the writer leaves. */
    int readerCpu(int number) {
        return cpus.length == 1 ? cpus[0] : cpus[1 + number % (cpus.length - 1)];
    }

    /** Whether two of the run share a processor, so that waiting must let the other one run. */
    boolean crowded() {
        return readers + 1 > cpus.length;
    }

    /** The first tenth, which latencies leave out. */
    int warmUp() {
        return messages / 10;
    }
}
