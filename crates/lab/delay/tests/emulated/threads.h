// Runs kernels of CUDA on the CPU: each thread of a block is a context of its own, and a barrier
// switches to the next one. Threads that pass different numbers of barriers end the program.
//
// Contexts are made once and run kernel after kernel. They are switched with jumps, since
// `swapcontext` makes two system calls. Checks of jumps by the library do not know of contexts.

#undef _FORTIFY_SOURCE

#include <csetjmp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

struct float2 { float x, y; };
struct uint2 { unsigned x, y; };
struct Dim { unsigned x, y; };
static Dim blockIdx, threadIdx, gridDim;

static unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const size_t STACK = 64 << 10;
struct Thread {
    ucontext_t context;
    jmp_buf at;
    bool is_started, is_ended;
};
static std::vector<Thread> contexts;
static jmp_buf scheduler;
static unsigned running;

static void __syncthreads() {
    if (!_setjmp(contexts[running].at)) _longjmp(scheduler, 1);
}

#define __global__
#define __device__ static
#define __shared__ static
#include "../../src/gpu/kernels.cu"

static void (*body)(void *);
static void *arguments;

// What a context runs: the kernel, once for each block.
static void run_blocks() {
    for (;;) {
        body(arguments);
        contexts[running].is_ended = true;
        __syncthreads();
    }
}

// Runs a thread until its next barrier, or until the kernel ends.
__attribute__((noinline)) static void resume(Thread &thread) {
    if (_setjmp(scheduler)) return;
    if (thread.is_started) _longjmp(thread.at, 1);
    thread.is_started = true;
    setcontext(&thread.context);
}

static void launch(unsigned blocks_x, unsigned blocks_y, unsigned threads, void (*kernel)(void *),
                   void *with) {
    static std::vector<char> stacks(SEARCH_THREADS * STACK);
    body = kernel;
    arguments = with;
    gridDim = {blocks_x, blocks_y};
    while (contexts.size() < SEARCH_THREADS) {
        contexts.reserve(SEARCH_THREADS);
        contexts.push_back({});
        ucontext_t &context = contexts.back().context;
        getcontext(&context);
        context.uc_stack.ss_sp = &stacks[(contexts.size() - 1) * STACK];
        context.uc_stack.ss_size = STACK;
        makecontext(&context, run_blocks, 0);
    }
    for (unsigned block = 0; block < blocks_x * blocks_y; block++) {
        blockIdx = {block % blocks_x, block / blocks_x};
        for (unsigned thread = 0; thread < threads; thread++) contexts[thread].is_ended = false;
        for (unsigned left = threads; left > 0;) {
            for (running = 0; running < threads; running++) {
                threadIdx = {running, 0};
                resume(contexts[running]);
                left -= contexts[running].is_ended;
            }
            if (left != 0 && left != threads) {
                fprintf(stderr, "%u threads wait at a barrier that the others do not pass\n", left);
                exit(1);
            }
        }
    }
}
