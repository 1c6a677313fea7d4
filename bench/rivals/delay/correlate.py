"""Correlations of two series of N real points with numpy or scipy, in single precision, one thread.

correlate.py LIBRARY N CORRELATIONS PART, with the parts of correlate.c. Prints a line of JSON.
"""

import json
import sys
import time
from statistics import median

import numpy

LATER = 100


def samples(points):
    """The numbers of correlate.c."""
    state, numbers = points, []
    for _ in range(2 * points):
        state = (state * 6364136223846793005 + 1) % 2**64
        numbers.append((state >> 33) / 2**31 - 0.5)
    first = numpy.array(numbers[:points], dtype=numpy.float32)
    return first, numpy.roll(first, LATER) + numpy.array(numbers[points:], dtype=numpy.float32)


def main(library, points, runs, part):
    points = int(points)
    first, second = samples(points)
    if library == "scipy":
        import scipy
        from scipy import fft
        version = scipy.__version__
    else:
        fft, version = numpy.fft, numpy.__version__
    times = []
    for _ in range(int(runs)):
        begin = time.perf_counter_ns()
        a, b = fft.rfft(first), fft.rfft(second)
        lags = fft.irfft(numpy.conj(a) * b if part == "whole" else a, points)
        best = int(lags.argmax()) if part == "whole" else LATER
        times.append(time.perf_counter_ns() - begin)
        if best != LATER:
            print(f"correlate.py: the peak is at {best}, expected {LATER}", file=sys.stderr)
            return 1
    print(json.dumps({"ns": median(times), "version": version}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
