package nanotape.rivals.map;

/** The keys of a map, and a random order of them: the same as in the programs in Rust. */
final class Keys {
    private static final long KEYS = 42;
    private static final long ORDER = 4_711;

    private final long seed;
    private final long entries;
    private long count;

    Keys(long side, long entries) {
        seed = mix(ORDER, side);
        this.entries = entries;
    }

    /** The next key; each is equally likely. */
    long next() {
        count++;
        long random = mix(seed, count);
        // The upper half of the unsigned product: Java 17 has only the signed one.
        return key(Math.multiplyHigh(random, entries) + (random >> 63 & entries));
    }

    static long key(long entry) {
        return mix(KEYS, entry);
    }

    /** A bijection of the number: splitmix64. */
    private static long mix(long seed, long number) {
        long mixed = seed + number * 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }
}
