// Memory of one CTA or thread: atomics on shared memory, constants by lane, and local memory.

// One CTA. The lanes of a warp add to `words` words of shared memory; `times` is a multiple of 8.
#define SHARED_ATOMIC(name, instruction) \
    extern "C" __global__ void name(int times, int words, unsigned* out) { \
        __shared__ unsigned counters[32]; \
        if (threadIdx.x < 32) counters[threadIdx.x] = 0; \
        __syncthreads(); \
        unsigned mine = (unsigned)__cvta_generic_to_shared(counters + threadIdx.x % words); \
        unsigned value = threadIdx.x; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            _Pragma("unroll") \
            for (int j = 0; j < 8; ++j) instruction; \
        } \
        __syncthreads(); \
        out[threadIdx.x] = counters[threadIdx.x % 32] + value; \
    }

SHARED_ATOMIC(shared_add, asm volatile("red.shared.add.u32 [%0], %1;" : : "r"(mine), "r"(value) : "memory"))
SHARED_ATOMIC(shared_count, asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(mine) : "memory"))
// One CTA. The warps of `schedulers` of an SM's four schedulers store to shared memory, each to its own words.
extern "C" __global__ void shared_store(int times, int schedulers, unsigned* out) {
    __shared__ unsigned words[8 * 1024];
    for (int j = 0; j < 8; ++j) words[1024 * j + threadIdx.x] = 0;
    unsigned mine = (unsigned)__cvta_generic_to_shared(words + threadIdx.x);
    if (threadIdx.x / 32 % 4 < schedulers) {
        #pragma unroll 1
        for (int i = 0; i < times; i += 8) {
            #pragma unroll
            for (int j = 0; j < 8; ++j)
                asm volatile("st.shared.u32 [%0], %1;" : : "r"(mine + 4096 * j), "r"(i) : "memory");
        }
    }
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x];
}

// Each adds what the one before gave.
SHARED_ATOMIC(shared_add_chain,
    asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(value) : "r"(mine) : "memory"))
SHARED_ATOMIC(shared_swap_chain,
    asm volatile("atom.shared.cas.b32 %0, [%1], %0, %0;" : "+r"(value) : "r"(mine) : "memory"))

// Zeros.
__constant__ unsigned table[64];

// One CTA. The lanes of a warp want `words` words of constants, at most 32; each load gives the place of the next one.
extern "C" __global__ void constant_chain(int times, int words, unsigned* out) {
    unsigned first = threadIdx.x % 32 % words;
    unsigned place = first;
    #pragma unroll 8
    for (int i = 0; i < times; ++i) place = first + table[place % 64];
    out[threadIdx.x] = place;
}

// One CTA. Every thread fills 16 words of local memory; then each load gives the place of the next one.
extern "C" __global__ void local_chain(int times, int step, unsigned* out) {
    volatile unsigned ring[16];
    for (int i = 0; i < 16; ++i) ring[i] = (i + step) % 16;
    unsigned place = step % 16;
    #pragma unroll 8
    for (int i = 0; i < times; ++i) place = ring[place];
    out[threadIdx.x] = place;
}

// One CTA. Every thread stores `words` words of local memory, at most 256, and loads each of them, `times` times.
extern "C" __global__ void local_frame(int times, int words, unsigned* out) {
    volatile unsigned frame[256];
    unsigned sum = 0;
    #pragma unroll 1
    for (int i = 0; i < times; ++i) {
        #pragma unroll 1
        for (int j = 0; j < words; ++j) frame[j] = i + j;
        #pragma unroll 1
        for (int j = 0; j < words; ++j) sum += frame[j];
    }
    out[threadIdx.x] = sum;
}
