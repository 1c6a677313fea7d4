package nanotape.rivals.ring;

import nanotape.rivals.Run;

/** The command line of a run, with the same words as the programs in Rust. */
record Options(String rival, String mode, int messages, int readers, int rate, int[] cpus) {
    static Options parse(String[] words) {
        if (words.length < 2) {
            throw new IllegalArgumentException("needs a rival and a mode: throughput, latency or ping-pong");
        }
        String mode = words[1];
        int messages = switch (mode) {
            case "throughput" -> 10_000_000;
            case "latency" -> 2_000_000;
            case "ping-pong" -> 1_000_000;
            default -> throw new IllegalArgumentException(mode + ": needs throughput, latency or ping-pong");
        };
        Run run = new Run(words, 2, "--messages", "--readers", "--rate", "--cpus");
        int readers = run.number("--readers", 1);
        if (readers > 1 && !mode.equals("throughput")) {
            throw new IllegalArgumentException("--readers: more than one only with throughput");
        }
        return new Options(words[0], mode, run.number("--messages", messages), readers,
            run.number("--rate", 1_000_000), run.cpus());
    }

    Options withMessages(int messages) {
        return new Options(rival, mode, messages, readers, rate, cpus);
    }

    int writerCpu() {
        return cpus[0];
    }

    /** The readers take turns on the processors that the writer does not use. */
    int readerCpu(int number) {
        return cpus.length == 1 ? cpus[0] : cpus[1 + number % (cpus.length - 1)];
    }

    /** Whether two sides share a processor, so that a side that waits must yield. */
    boolean crowded() {
        return readers + 1 > cpus.length;
    }

    /** The first tenth, which is not part of latencies. */
    int warmUp() {
        return messages / 10;
    }
}
