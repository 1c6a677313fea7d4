// Runs one batch through the kernels on the CPU, so that their logic is tested where there is no GPU.
//
// Transforms are sums in double precision. Input and output are words on stdin and stdout;
// src/gpu/emulated.rs has the order.

#include "threads.h"

static unsigned word() {
    unsigned value = 0;
    if (fread(&value, sizeof value, 1, stdin) != 1) {
        fprintf(stderr, "the input ends early\n");
        exit(1);
    }
    return value;
}

static void transform(const std::complex<double> *in, std::complex<double> *out, unsigned points,
                      double sign) {
    std::vector<std::complex<double>> turns(points);
    for (unsigned k = 0; k < points; k++) {
        turns[k] = std::polar(1.0, sign * 2.0 * M_PI * k / points);
    }
    for (unsigned k = 0; k < points; k++) {
        out[k] = 0.0;
        for (unsigned i = 0; i < points; i++) {
            out[k] += in[i] * turns[(unsigned long long)k * i % points];
        }
    }
}

struct Batch {
    unsigned jobs, points, lags, origin, apart, is_level;
    std::vector<unsigned> words, peaks;
    std::vector<float> weights, floors;
    std::vector<uint2> changes;
    std::vector<float2> data;
};

int main() {
    static Batch b;
    b.jobs = word(), b.points = word(), b.lags = word(), b.origin = word(), b.apart = word();
    b.is_level = word();
    unsigned half = b.points / 2 + 1;
    for (unsigned i = 0; i < half; i++) b.weights.push_back(__uint_as_float(word()));
    for (unsigned i = 0; i < b.jobs; i++) b.floors.push_back(__uint_as_float(word()));
    unsigned tiles = (b.points + TILE - 1) / TILE;
    for (unsigned i = 0; i < 2 * b.jobs * tiles + 1; i++) b.words.push_back(word());
    for (unsigned i = 0; i < b.words.back(); i++) {
        unsigned cell = word();
        b.changes.push_back({cell, word()});
    }
    b.data.assign((size_t)b.jobs * b.points, {NAN, NAN});
    b.peaks.assign(b.jobs * PEAK_WORDS, 0);
    launch(tiles, b.jobs, THREADS, [](void *) {
        sample(b.words.data(), b.changes.data(), b.data.data(), b.points, b.is_level);
    }, nullptr);
    fwrite(b.data.data(), sizeof(float2), b.data.size(), stdout);
    std::vector<std::complex<double>> in(b.points), out(b.points);
    for (unsigned job = 0; job < b.jobs; job++) {
        float2 *points = &b.data[(size_t)job * b.points];
        for (unsigned i = 0; i < b.points; i++) in[i] = {points[i].x, points[i].y};
        transform(in.data(), out.data(), b.points, -1.0);
        for (unsigned i = 0; i < b.points; i++) {
            points[i] = {(float)out[i].real(), (float)out[i].imag()};
        }
    }
    launch((half + TILE - 1) / TILE, b.jobs, THREADS, [](void *) {
        multiply(b.data.data(), b.weights.data(), b.floors.data(), b.points);
    }, nullptr);
    for (unsigned job = 0; job < b.jobs; job++) {
        float2 *points = &b.data[(size_t)job * b.points];
        for (unsigned i = 0; i < b.points; i++) {
            // The upper half of the spectrum of a real series mirrors the lower one.
            float2 value = points[i < half ? i : b.points - i];
            in[i] = {value.x, i < half ? value.y : -value.y};
        }
        transform(in.data(), out.data(), b.points, 1.0);
        float *reals = (float *)points;
        for (unsigned i = 0; i < b.points; i++) reals[i] = (float)out[i].real();
    }
    launch(b.jobs, 1, SEARCH_THREADS, [](void *) {
        peak(b.data.data(), b.peaks.data(), b.points, b.lags, b.origin, b.apart);
    }, nullptr);
    fwrite(b.peaks.data(), sizeof(unsigned), b.peaks.size(), stdout);
    return 0;
}
