/* Correlations of two series of N real points with FFTW in single precision, one thread.
 *
 * correlate N CORRELATIONS PART, where PART is `transforms` (two forward, one back) or `whole` (also the
 * product of the spectra and the largest value). Prints a line of JSON with the median time. */

#include <fftw3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LATER = 100 };

static uint64_t state;

/* As in crates/lab/bench/src/delay/work.rs. */
static float sample(void) {
    state = state * 6364136223846793005u + 1;
    return (float)(state >> 33) / 2147483648.0f - 0.5f;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int by_size(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: correlate N CORRELATIONS transforms|whole\n");
        return 2;
    }
    int points = atoi(words[1]);
    long runs = atol(words[2]);
    int is_whole = strcmp(words[3], "whole") == 0;
    if (points < 2 * LATER || points % 2 || runs < 1) {
        fprintf(stderr, "correlate: N must be even and at least %d, with one correlation or more\n", 2 * LATER);
        return 2;
    }
    int half = points / 2;
    float *first = fftwf_alloc_real((size_t)points), *second = fftwf_alloc_real((size_t)points);
    float *lags = fftwf_alloc_real((size_t)points);
    fftwf_complex *a = fftwf_alloc_complex((size_t)half + 1), *b = fftwf_alloc_complex((size_t)half + 1);
    uint64_t *times = malloc((size_t)runs * sizeof *times);
    if (!first || !second || !lags || !a || !b || !times) {
        fprintf(stderr, "correlate: no memory\n");
        return 2;
    }
    /* Measured plans, as in the published estimator. Planning writes to the arrays. */
    fftwf_plan plans[] = {
        fftwf_plan_dft_r2c_1d(points, first, a, FFTW_MEASURE | FFTW_PRESERVE_INPUT),
        fftwf_plan_dft_r2c_1d(points, second, b, FFTW_MEASURE | FFTW_PRESERVE_INPUT),
        fftwf_plan_dft_c2r_1d(points, a, lags, FFTW_MEASURE),
    };
    state = (uint64_t)points;
    for (int at = 0; at < points; at++) first[at] = sample();
    for (int at = 0; at < points; at++) second[at] = first[(at + points - LATER) % points] + sample();

    for (long run = 0; run < runs; run++) {
        uint64_t begin = now();
        fftwf_execute(plans[0]);
        fftwf_execute(plans[1]);
        if (is_whole)
            for (int at = 0; at <= half; at++) {
                float re = a[at][0] * b[at][0] + a[at][1] * b[at][1];
                float im = a[at][0] * b[at][1] - a[at][1] * b[at][0];
                a[at][0] = re;
                a[at][1] = im;
            }
        fftwf_execute(plans[2]);
        int best = 0;
        if (is_whole)
            for (int at = 1; at < points; at++)
                if (lags[at] > lags[best]) best = at;
        times[run] = now() - begin;
        if (is_whole && best != LATER) {
            fprintf(stderr, "correlate: the peak is at %d, expected %d\n", best, LATER);
            return 1;
        }
    }
    qsort(times, (size_t)runs, sizeof *times, by_size);
    printf("{\"ns\": %llu, \"version\": \"%s\"}\n", (unsigned long long)times[runs / 2], fftwf_version);
    return 0;
}
