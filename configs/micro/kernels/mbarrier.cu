// Mbarriers: barriers in shared memory, which count arrivals phase by phase. One CTA does each thing `times` times.
typedef unsigned long long State;

__device__ __forceinline__ unsigned place_of(const void* variable) { return unsigned(__cvta_generic_to_shared(variable)); }
__device__ __forceinline__ void init(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ State arrive(unsigned barrier) {
    State state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
    return state;
}
__device__ __forceinline__ void wait_state(unsigned barrier, State state) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "l"(state) : "memory");
    } while (!done);
}
__device__ __forceinline__ unsigned test(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    return done;
}
__device__ __forceinline__ void wait_parity(unsigned barrier, unsigned parity) { while (!test(barrier, parity)) {} }

// Two mbarriers for so many arrivals; each thread's turns, and what it writes in the end.
#define TURNS(name, count, turn) \
    extern "C" __global__ void name(int times, unsigned* out) { \
        __shared__ State words[2]; \
        unsigned one = place_of(words), other = place_of(words + 1), sum = 0; \
        unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32; \
        if (threadIdx.x == 0) { init(one, count); init(other, count); } \
        __syncthreads(); \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i) { turn; } \
        out[threadIdx.x] = sum + lane + warp; \
    }

// All threads meet: at a barrier of the CTA, each by itself at an mbarrier, or a lane for each warp.
TURNS(barrier, 1, __syncthreads())
TURNS(all_lanes, blockDim.x, wait_state(one, arrive(one)))
TURNS(leaders, blockDim.x / 32, __syncwarp(); if (lane == 0) arrive(one); wait_parity(one, i & 1))
// Threads arrive, and do not wait.
TURNS(arrivals, blockDim.x, arrive(one))
TURNS(arrivals_of_leaders, blockDim.x / 32, if (lane == 0) arrive(one))
// A phase that has ended is asked for, each time where the answer before says.
TURNS(questions, 1, sum += test(one + (sum >> 31), 1))
// Two warps in turn.
TURNS(ping_pong, 1, if (warp == 0) { if (lane == 0) arrive(one); wait_parity(other, i & 1); }
    else { wait_parity(one, i & 1); if (lane == 0) arrive(other); })
