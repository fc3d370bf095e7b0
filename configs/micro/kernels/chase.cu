// Pointer chases: each load gives the address of the next one. The time of a hop is the latency of a load.
typedef unsigned long long u64;

// One thread of CTA `cta` follows the ring from `start` for `hops` hops, a multiple of 16.
#define CHASE(NAME, LOAD)                                                             \
    extern "C" __global__ void NAME(const u64* start, int hops, int cta, u64* out) {  \
        if (blockIdx.x != cta) return;                                                \
        u64 place = (u64)start;                                                       \
        for (int i = 0; i < hops; i += 16) {                                          \
            _Pragma("unroll") for (int j = 0; j < 16; ++j)                            \
                asm volatile(LOAD " %0, [%0];" : "+l"(place) : : "memory");           \
        }                                                                             \
        *out = place - (u64)start;                                                    \
    }
CHASE(chase_ca, "ld.global.ca.u64")
CHASE(chase_cg, "ld.global.cg.u64")

// Each thread follows the ring from an element of its own, `spacing` elements behind its neighbour's.
#define CHASE_THREADS(NAME, LOAD)                                                              \
    extern "C" __global__ void NAME(const u64* ring, int hops, int spacing, u64* out) {        \
        int thread = blockIdx.x * blockDim.x + threadIdx.x;                                    \
        u64 place = (u64)(ring + (u64)thread * spacing);                                       \
        for (int i = 0; i < hops; i += 16) {                                                   \
            _Pragma("unroll") for (int j = 0; j < 16; ++j)                                     \
                asm volatile(LOAD " %0, [%0];" : "+l"(place) : : "memory");                    \
        }                                                                                      \
        out[thread] = place - (u64)ring;                                                       \
    }
CHASE_THREADS(chase_threads, "ld.global.cg.u64")
CHASE_THREADS(chase_threads_ca, "ld.global.ca.u64")

// Each lane reads a zero of line `lane % lines` and adds it to the address of the next load; with `spread`, words of
// unlike banks, else of as few as there are lanes of a line.
extern "C" __global__ void chase_lines(const unsigned* zeros, int hops, int lines, int spread, unsigned* out) {
    int lane = threadIdx.x % 32;
    const unsigned* place = zeros + threadIdx.x / 32 * 1024 + lane % lines * 32 + (spread ? lane : lane / lines);
    for (int i = 0; i < hops; i += 16) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            unsigned zero;
            asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(zero) : "l"(place) : "memory");
            place += zero;
        }
    }
    out[threadIdx.x] = place - zeros;
}

// The same from the L2 by the first `lanes` lanes, whose words are `stride` bytes apart.
extern "C" __global__ void chase_sectors(const char* zeros, int hops, int lanes, int stride, unsigned* out) {
    if (threadIdx.x >= lanes) return;
    const unsigned* place = (const unsigned*)(zeros + threadIdx.x * stride);
    for (int i = 0; i < hops; i += 16) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            unsigned zero;
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(zero) : "l"(place) : "memory");
            place += zero;
        }
    }
    out[threadIdx.x] = (const char*)place - zeros;
}

// As chase_ca, and stores beside each pointer: does the store take the line out of the L1?
extern "C" __global__ void chase_store(const u64* start, int hops, u64* out) {
    u64 place = (u64)start;
    for (int i = 0; i < hops; i += 16) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            u64 next;
            asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(place) : "memory");
            asm volatile("st.global.u32 [%0 + 8], %1;" : : "l"(place), "r"(i) : "memory");
            place = next;
        }
    }
    *out = place - (u64)start;
}

// Each lane reads a word of shared memory that holds its own address, `stride` words from its neighbour's.
#define CHASE_SHARED(NAME, LANE)                                                               \
    extern "C" __global__ void NAME(int hops, int stride, int* out) {                          \
        __shared__ unsigned ring[32 * 32];                                                     \
        auto lane = LANE;                                                                      \
        unsigned place;                                                                        \
        asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"           \
                     : "=r"(place) : "l"(&ring[lane * stride]));                               \
        ring[lane * stride] = place;                                                           \
        __syncthreads();                                                                       \
        unsigned first = place;                                                                \
        for (int i = 0; i < hops; i += 16) {                                                   \
            _Pragma("unroll") for (int j = 0; j < 16; ++j)                                     \
                asm volatile("ld.shared.u32 %0, [%0];" : "+r"(place) : : "memory");            \
        }                                                                                      \
        out[threadIdx.x] = place - first;                                                      \
    }
CHASE_SHARED(chase_shared, threadIdx.x)
// In every warp of the CTA.
CHASE_SHARED(chase_shared_many, int(threadIdx.x % 32))
