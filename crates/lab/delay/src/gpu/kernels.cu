// Kernels of the GPU back end: sampling of changes, product of spectra, peaks.
//
// Plain CUDA C without headers: kernels.ptx is made from it by scripts/gpu/kernels, and a test
// compiles it as C++ and runs it on the CPU (tests/emulated). It uses no warp functions for that reason.
// launch.rs checks every bound that the kernels rely on, and names them.

// Points that one block samples, or multiplies.
#define TILE 2048
// Threads of a block that samples or multiplies, and of one that searches a correlation.
#define THREADS 256
#define SEARCH_THREADS 1024
// Numbers that a correlation is reduced to: see `Found` in launch.rs.
#define PEAK_WORDS 5

// Does nothing: what a launch costs.
extern "C" __global__ void nothing() {}

// Samples the sparse cells of both feeds of each job: the first feed into the real parts, the second
// into the imaginary parts. Grid: tiles of a transform by jobs.
//
// A change is a cell, which rises, and the bits of a value. `starts` has a position for each tile of
// each feed of each job, and one more: the changes from there to before the next are in that tile. If
// `is_level`, a value lasts until the next cell that is named, else a cell has its value and the
// others have zero.
extern "C" __global__ void sample(const unsigned *starts, const uint2 *changes,
                                  float2 *points_of_jobs, unsigned points, unsigned is_level) {
    __shared__ float tile[2 * TILE];
    unsigned from = blockIdx.x * TILE;
    unsigned until = from + TILE < points ? from + TILE : points;
    for (unsigned i = threadIdx.x; i < 2 * TILE; i += THREADS) {
        tile[i] = 0.0f;
    }
    __syncthreads();
    for (unsigned feed = 0; feed < 2; feed++) {
        unsigned first_tile = (2 * blockIdx.y + feed) * gridDim.x;
        unsigned low = starts[first_tile + blockIdx.x];
        unsigned high = starts[first_tile + blockIdx.x + 1];
        if (!is_level) {
            for (unsigned at = low + threadIdx.x; at < high; at += THREADS) {
                tile[2 * (changes[at].x - from) + feed] = __uint_as_float(changes[at].y);
            }
            continue;
        }
        // The value that lasts into the tile. Groups of 32 threads write a value each, so that a
        // long one is written in few steps.
        low = low > starts[first_tile] ? low - 1 : low;
        for (unsigned at = low + threadIdx.x / 32; at < high; at += THREADS / 32) {
            unsigned first = changes[at].x > from ? changes[at].x : from;
            unsigned last = at + 1 < high ? changes[at + 1].x : until;
            for (unsigned cell = first + threadIdx.x % 32; cell < last; cell += 32) {
                tile[2 * (cell - from) + feed] = __uint_as_float(changes[at].y);
            }
        }
    }
    __syncthreads();
    float2 *out = points_of_jobs + (unsigned long long)blockIdx.y * points;
    for (unsigned cell = from + threadIdx.x; cell < until; cell += THREADS) {
        float2 both;
        both.x = tile[2 * (cell - from)];
        both.y = tile[2 * (cell - from) + 1];
        out[cell] = both;
    }
}

// Multiplies the conjugate of the first feed's spectrum by the second's, and weighs the product.
// Grid: tiles of points / 2 + 1 frequencies by jobs.
//
// Both spectra are in the transform of first + i * second: at frequency k they are its even and odd
// parts, which need the values at k and at points - k. The product takes the place of the values up
// to points / 2. No other thread reads these: each reads its own and one from the upper half.
//
// `floors[job]` is negative, or what is added to the magnitude by which the product is divided.
extern "C" __global__ void multiply(float2 *points_of_jobs, const float *weights,
                                    const float *floors, unsigned points) {
    float2 *spectrum = points_of_jobs + (unsigned long long)blockIdx.y * points;
    float floor = floors[blockIdx.y];
    unsigned last = points / 2;
    unsigned end = (blockIdx.x + 1) * TILE;
    for (unsigned k = blockIdx.x * TILE + threadIdx.x; k < end && k <= last; k += THREADS) {
        unsigned mirror = k == 0 ? 0 : points - k;
        float2 here = spectrum[k];
        float2 there = spectrum[mirror];
        float first_real = 0.5f * (here.x + there.x);
        float first_imaginary = 0.5f * (here.y - there.y);
        float second_real = 0.5f * (here.y + there.y);
        float second_imaginary = 0.5f * (there.x - here.x);
        float weight = weights[k];
        float2 product;
        product.x = first_real * second_real + first_imaginary * second_imaginary;
        product.y = first_real * second_imaginary - first_imaginary * second_real;
        if (floor >= 0.0f) {
            float magnitude = sqrtf(product.x * product.x + product.y * product.y) + floor;
            weight = magnitude > 0.0f ? weight / magnitude : 0.0f;
        }
        product.x *= weight;
        // A frequency that is its own mirror is real.
        product.y = k == mirror ? 0.0f : product.y * weight;
        spectrum[k] = product;
    }
}

// Leaves the largest value, and the first position of it, in the first place. All threads call it.
__device__ void reduce_to_largest(float *values, unsigned *places) {
    __syncthreads();
    for (unsigned half = SEARCH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = values[threadIdx.x + half];
            unsigned place = places[threadIdx.x + half];
            if (other > values[threadIdx.x] ||
                (other == values[threadIdx.x] && place < places[threadIdx.x])) {
                values[threadIdx.x] = other;
                places[threadIdx.x] = place;
            }
        }
        __syncthreads();
    }
}

// Reduces each correlation to the best lag, its neighbours, and the best lag that is more than
// `apart` places from it. Grid: jobs.
//
// A correlation has 2 * lags + 1 places; place p is the real number (p + origin) % points of the
// job.
extern "C" __global__ void peak(const float2 *points_of_jobs, unsigned *peaks, unsigned points,
                                unsigned lags, unsigned origin, unsigned apart) {
    __shared__ float values[SEARCH_THREADS];
    __shared__ unsigned places[SEARCH_THREADS];
    const float *correlation =
        (const float *)(points_of_jobs + (unsigned long long)blockIdx.x * points);
    unsigned end = 2 * lags + 1;
    // Below every correlation.
    const float none = -3.402823466e38f;
    float best = none;
    unsigned best_place = 0;
    for (unsigned place = threadIdx.x; place < end; place += SEARCH_THREADS) {
        float value = correlation[(place + origin) % points];
        if (value > best) {
            best = value;
            best_place = place;
        }
    }
    values[threadIdx.x] = best;
    places[threadIdx.x] = best_place;
    reduce_to_largest(values, places);
    best = values[0];
    best_place = places[0];
    // Every thread has read them before the next round overwrites them.
    __syncthreads();
    float next = none;
    for (unsigned place = threadIdx.x; place < end; place += SEARCH_THREADS) {
        unsigned distance = place > best_place ? place - best_place : best_place - place;
        float value = correlation[(place + origin) % points];
        if (distance > apart && value > next) {
            next = value;
        }
    }
    values[threadIdx.x] = next;
    places[threadIdx.x] = 0;
    reduce_to_largest(values, places);
    if (threadIdx.x == 0) {
        unsigned *out = peaks + PEAK_WORDS * blockIdx.x;
        unsigned at = (best_place + origin) % points;
        out[0] = best_place;
        out[1] = __float_as_uint(correlation[at == 0 ? points - 1 : at - 1]);
        out[2] = __float_as_uint(best);
        out[3] = __float_as_uint(correlation[at + 1 == points ? 0 : at + 1]);
        out[4] = __float_as_uint(values[0]);
    }
}
