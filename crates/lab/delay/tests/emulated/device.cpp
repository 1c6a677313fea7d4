// Takes the place of the driver (libcuda.so.1) and of cuFFT (libcufft.so.12) with a device that is
// emulated on the CPU, so that the whole back end is tested where there is no GPU.
//
// Work of a stream is done when the stream is waited for, and not before: a host buffer that is reused
// too early gives wrong answers. Each buffer ends where a page without access begins: a kernel that
// leaves it ends the process. Settings are variables of the environment:
//
//   EMULATED_MEMORY    bytes of the device
//   EMULATED_LAUNCHES  launches after which the device is lost

#include "threads.h"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_PTX = 218, LAUNCH_FAILED = 719 };
enum { L2_CACHE_SIZE = 38, COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76, POOLS = 115 };

struct Stream {
    std::deque<std::function<void()>> work;
};
struct Event {
    Stream *recorded = nullptr;
};
struct Plan {
    Stream *stream;
    int points, in_distance, out_distance, kind, jobs;
    size_t bytes;
};

static std::recursive_mutex mutex;
#define ALONE std::lock_guard<std::recursive_mutex> alone(mutex)
static std::set<Stream *> streams;
static std::map<char *, size_t> buffers, pinned;
static std::map<int, Plan> plans;
static size_t used;
static long launched;
static thread_local void *current;

static long setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

static size_t memory() { return setting("EMULATED_MEMORY", 1L << 30); }

// Whether the device works; a failure stays.
static int state() {
    return launched > setting("EMULATED_LAUNCHES", 1L << 60) ? LAUNCH_FAILED : SUCCESS;
}

static int drain(Stream *stream) {
    while (!stream->work.empty()) {
        auto next = stream->work.front();
        stream->work.pop_front();
        if (state() == SUCCESS) next();
    }
    return state();
}

// As many whole pages as are needed, and one more without access, directly after the buffer.
static char *guarded(size_t bytes) {
    size_t room = (bytes + 15) / 16 * 16;
    size_t pages = (room + 4095) / 4096 * 4096;
    char *start = (char *)mmap(nullptr, pages + 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) abort();
    memset(start, 0xa5, pages);
    mprotect(start + pages, 4096, PROT_NONE);
    return start + pages - room;
}

static void release(char *start, size_t bytes) {
    size_t pages = ((bytes + 15) / 16 * 16 + 4095) / 4096 * 4096;
    munmap((char *)((size_t)start / 4096 * 4096), pages + 4096);
}

static bool is_pinned(const void *at) {
    auto next = pinned.upper_bound((char *)at);
    return next != pinned.begin() && (char *)at < std::prev(next)->first + std::prev(next)->second;
}

static int copy(void *to, const void *from, size_t bytes, Stream *stream, bool is_deferred) {
    ALONE;
    stream->work.push_back([=] { memcpy(to, from, bytes); });
    return is_deferred ? state() : drain(stream);
}

static unsigned number(void **arguments, int at) { return *(unsigned *)arguments[at]; }

template <typename T> static T *address(void **arguments, int at) { return *(T **)arguments[at]; }

static void run(unsigned x, unsigned y, unsigned threads, const std::function<void()> &kernel) {
    launch(x, y, threads, [](void *with) { (*(const std::function<void()> *)with)(); }, (void *)&kernel);
}

typedef std::complex<double> Complex;

// Transforms `points` values at a distance of `step`: sums over each prime factor.
static void transform(const Complex *in, size_t step, Complex *out, unsigned points,
                      const std::vector<Complex> &turns) {
    if (points == 1) {
        out[0] = in[0];
        return;
    }
    unsigned prime = 2;
    while (points % prime != 0) prime++;
    unsigned part = points / prime;
    for (unsigned i = 0; i < prime; i++) {
        transform(in + i * step, step * prime, out + i * part, part, turns);
    }
    std::vector<Complex> terms(prime);
    for (unsigned k = 0; k < part; k++) {
        for (unsigned i = 0; i < prime; i++) terms[i] = out[k + i * part];
        for (unsigned i = 0; i < prime; i++) {
            Complex sum = 0;
            for (unsigned j = 0; j < prime; j++) {
                sum += terms[j] * turns[(size_t)j * (k + i * part) * step % turns.size()];
            }
            out[k + i * part] = sum;
        }
    }
}

static std::vector<Complex> transformed(const std::vector<Complex> &in, double sign) {
    std::vector<Complex> turns(in.size()), out(in.size());
    for (size_t k = 0; k < in.size(); k++) turns[k] = std::polar(1.0, sign * 2 * M_PI * k / in.size());
    transform(in.data(), 1, out.data(), in.size(), turns);
    return out;
}

extern "C" {

int cuInit(unsigned) { return SUCCESS; }
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int *device, int) { return *device = 0, SUCCESS; }
int cuDeviceGetName(char *name, int room, int) { return snprintf(name, room, "emulated"), SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = memory(), SUCCESS; }
int cuDeviceGetAttribute(int *value, int which, int) {
    *value = which == L2_CACHE_SIZE ? 1 << 20 : which == COMPUTE_MAJOR ? 9 : which == POOLS;
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &mutex, SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxGetCurrent(void **context) { return *context = current, SUCCESS; }
int cuCtxSetCurrent(void *context) { return current = context, SUCCESS; }
int cuCtxSynchronize() {
    ALONE;
    for (Stream *stream : streams) drain(stream);
    return state();
}
int cuGetErrorName(int, const char **text) { return *text = "EMULATED", SUCCESS; }
int cuGetErrorString(int error, const char **text) {
    *text = error == LAUNCH_FAILED ? "unspecified launch failure" : "an emulated failure";
    return SUCCESS;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    ALONE;
    *total = memory();
    *free = *total - used;
    return state();
}

int cuModuleLoadData(void **module, const char *image) {
    *module = &plans;
    return strstr(image, ".visible .entry sample(") ? SUCCESS : INVALID_PTX;
}
int cuModuleUnload(void *) { return SUCCESS; }
int cuModuleGetFunction(const char **function, void *, const char *name) {
    for (const char *known : {"nothing", "sample", "multiply", "peak"}) {
        if (strcmp(known, name) == 0) return *function = known, SUCCESS;
    }
    return INVALID_VALUE;
}

int cuStreamCreate(Stream **stream, unsigned) {
    ALONE;
    streams.insert(*stream = new Stream);
    return state();
}
int cuStreamDestroy_v2(Stream *stream) {
    ALONE;
    drain(stream);
    streams.erase(stream);
    delete stream;
    return state();
}
int cuStreamSynchronize(Stream *stream) {
    ALONE;
    return drain(stream);
}
int cuEventCreate(Event **event, unsigned) { return *event = new Event, state(); }
int cuEventDestroy_v2(Event *event) { return delete event, state(); }
int cuEventRecord(Event *event, Stream *stream) { return event->recorded = stream, state(); }
int cuEventSynchronize(Event *event) {
    ALONE;
    return event->recorded ? drain(event->recorded) : state();
}
int cuStreamWaitEvent(Stream *, Event *event, unsigned) { return cuEventSynchronize(event); }

int cuMemAllocAsync(char **start, size_t bytes, Stream *) {
    ALONE;
    if (used + bytes > memory()) return OUT_OF_MEMORY;
    used += bytes;
    *start = guarded(bytes);
    buffers[*start] = bytes;
    return state();
}
int cuMemFreeAsync(char *start, Stream *stream) {
    ALONE;
    drain(stream);
    used -= buffers.at(start);
    release(start, buffers.at(start));
    buffers.erase(start);
    return state();
}
int cuMemHostAlloc(char **start, size_t bytes, unsigned) {
    ALONE;
    *start = guarded(bytes);
    pinned[*start] = bytes;
    return state();
}
int cuMemFreeHost(char *start) {
    ALONE;
    release(start, pinned.at(start));
    pinned.erase(start);
    return state();
}
int cuMemsetD8Async(void *start, unsigned char value, size_t bytes, Stream *stream) {
    ALONE;
    stream->work.push_back([=] { memset(start, value, bytes); });
    return state();
}
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, Stream *stream) {
    return copy(to, from, bytes, stream, is_pinned(from));
}
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, Stream *stream) {
    return copy(to, from, bytes, stream, is_pinned(to));
}
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, Stream *stream) {
    return copy(to, from, bytes, stream, true);
}

int cuLaunchKernel(const char *kernel, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared, Stream *stream,
                   void **with, void **) {
    ALONE;
    if (z * threads_y * threads_z != 1 || shared != 0) return INVALID_VALUE;
    unsigned expected = strcmp(kernel, "peak") == 0 ? SEARCH_THREADS : THREADS;
    if (threads != expected) return INVALID_VALUE;
    launched++;
    std::function<void()> body;
    if (strcmp(kernel, "sample") == 0) {
        auto starts = address<unsigned>(with, 0);
        auto changes = address<uint2>(with, 1);
        auto data = address<float2>(with, 2);
        unsigned points = number(with, 3), is_level = number(with, 4);
        body = [=] { sample(starts, changes, data, points, is_level); };
    } else if (strcmp(kernel, "multiply") == 0) {
        auto data = address<float2>(with, 0);
        auto weights = address<float>(with, 1), floors = address<float>(with, 2);
        unsigned points = number(with, 3);
        body = [=] { multiply(data, weights, floors, points); };
    } else if (strcmp(kernel, "peak") == 0) {
        auto data = address<float2>(with, 0);
        auto peaks = address<unsigned>(with, 1);
        unsigned points = number(with, 2), lags = number(with, 3);
        unsigned origin = number(with, 4), apart = number(with, 5);
        body = [=] { peak(data, peaks, points, lags, origin, apart); };
    } else {
        body = [] { nothing(); };
    }
    stream->work.push_back([=] { run(x, y, threads, body); });
    return state();
}

int cufftPlanMany(int *handle, int rank, int *points, int *in_stored, int in_step, int in_distance,
                  int *out_stored, int out_step, int out_distance, int kind, int jobs) {
    ALONE;
    if (rank != 1 || !in_stored || !out_stored || in_step != 1 || out_step != 1) return 4;
    // A work area as large as the data.
    size_t bytes = (size_t)8 * *points * jobs;
    if (used + bytes > memory()) return 2;
    used += bytes;
    static int last;
    plans[*handle = ++last] = {nullptr, *points, in_distance, out_distance, kind, jobs, bytes};
    return 0;
}
int cufftSetStream(int handle, Stream *stream) { return plans.at(handle).stream = stream, 0; }
int cufftGetSize(int handle, size_t *bytes) { return *bytes = plans.at(handle).bytes, 0; }
int cufftDestroy(int handle) {
    ALONE;
    used -= plans.at(handle).bytes;
    plans.erase(handle);
    return state() == SUCCESS ? 0 : 5;
}
int cufftExecC2C(int handle, float2 *in, float2 *out, int sign) {
    ALONE;
    Plan plan = plans.at(handle);
    plan.stream->work.push_back([=] {
        for (int job = 0; job < plan.jobs; job++) {
            std::vector<Complex> values(plan.points);
            const float2 *from = in + (size_t)job * plan.in_distance;
            for (int i = 0; i < plan.points; i++) values[i] = {from[i].x, from[i].y};
            values = transformed(values, sign);
            float2 *to = out + (size_t)job * plan.out_distance;
            for (int i = 0; i < plan.points; i++) {
                to[i] = {(float)values[i].real(), (float)values[i].imag()};
            }
        }
    });
    return plan.kind == 0x29 && state() == SUCCESS ? 0 : 6;
}
int cufftExecC2R(int handle, float2 *in, float *out) {
    ALONE;
    Plan plan = plans.at(handle);
    plan.stream->work.push_back([=] {
        for (int job = 0; job < plan.jobs; job++) {
            std::vector<Complex> values(plan.points);
            const float2 *from = in + (size_t)job * plan.in_distance;
            // The upper half of the spectrum of a real series mirrors the lower one.
            for (int i = 0; i < plan.points; i++) {
                bool is_lower = i <= plan.points / 2;
                float2 value = from[is_lower ? i : plan.points - i];
                values[i] = {value.x, is_lower ? value.y : -value.y};
            }
            values = transformed(values, 1);
            float *to = out + (size_t)job * plan.out_distance;
            for (int i = 0; i < plan.points; i++) to[i] = (float)values[i].real();
        }
    });
    return plan.kind == 0x2c && state() == SUCCESS ? 0 : 6;
}
}
