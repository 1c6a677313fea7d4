package nanotape.ringrivals;

import java.util.Arrays;

/** Exact percentiles of everything that was sampled: nearest rank, nothing interpolated. */
record Percentiles(long p50, long p90, long p99, long p99_9, long max) {
    /** Sorts the first of the samples, so many as are counted; none give zeros. */
    static Percentiles of(long[] samples, int count) {
        if (count == 0) {
            return new Percentiles(0, 0, 0, 0, 0);
        }
        Arrays.sort(samples, 0, count);
        return new Percentiles(
            at(samples, count, 500), at(samples, count, 900), at(samples, count, 990),
            at(samples, count, 999), samples[count - 1]);
    }

    private static long at(long[] samples, int count, int perMille) {
        long rank = Math.max(1, ((long) count * perMille + 999) / 1_000);
        return samples[(int) rank - 1];
    }

    String json() {
        return "{\"p50\":" + p50 + ",\"p90\":" + p90 + ",\"p99\":" + p99 + ",\"p99_9\":" + p99_9
            + ",\"max\":" + max + "}";
    }
}
