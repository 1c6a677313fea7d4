package nanotape.rivals;

import java.util.Arrays;

/** Exact percentiles of all samples in nanoseconds: nearest rank, no interpolation. */
public record Percentiles(long p50, long p90, long p99, long p99_9, long p99_99, long max) {
    public static final Percentiles NONE = new Percentiles(0, 0, 0, 0, 0, 0);

    /** Sorts the first `count` samples. */
    public static Percentiles of(long[] samples, int count) {
        if (count == 0) {
            return NONE;
        }
        Arrays.sort(samples, 0, count);
        return new Percentiles(
            at(samples, count, 5_000), at(samples, count, 9_000), at(samples, count, 9_900),
            at(samples, count, 9_990), at(samples, count, 9_999), samples[count - 1]);
    }

    private static long at(long[] samples, int count, int perTenThousand) {
        long rank = Math.max(1, ((long) count * perTenThousand + 9_999) / 10_000);
        return samples[(int) rank - 1];
    }

    public String json() {
        return "{\"p50\":" + p50 + ",\"p90\":" + p90 + ",\"p99\":" + p99 + ",\"p99_9\":" + p99_9
            + ",\"p99_99\":" + p99_99 + ",\"max\":" + max + "}";
    }
}
