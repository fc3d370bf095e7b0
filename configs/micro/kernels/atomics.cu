// Atomics: every thread adds `times` times, a multiple of 8, to the counter `stride` words from its neighbour's.
// Threads whose places are `places` apart share a counter.
extern "C" __global__ void atomic_add(unsigned* counters, int times, int stride, int places) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* mine = counters + (thread % places) * stride;
    for (int i = 0; i < times; i += 8) {
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            asm volatile("red.global.add.u32 [%0], %1;" : : "l"(mine), "r"(thread) : "memory");
    }
}

// One thread, each addition of the old value that the one before gave.
extern "C" __global__ void atomic_chain(unsigned* counter, int times) {
    unsigned value = 1;
    for (int i = 0; i < times; i += 8) {
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(value) : "l"(counter) : "memory");
    }
    counter[1] = value;
}
