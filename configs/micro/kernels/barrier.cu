// Barriers of a CTA. Its warps meet `times` times.
#define BAR(name, id, threads) asm volatile("bar." name " %0, %1;" : : "r"(id), "r"(threads) : "memory")

#define TURNS(name, turn) \
    extern "C" __global__ void name(int times, unsigned* out) { \
        unsigned warp = threadIdx.x / 32, half = blockDim.x / 2, first = threadIdx.x < half, sum = threadIdx.x; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i) { turn; } \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum + warp + half + first; \
    }

// All warps, at one barrier after the other.
TURNS(all, __syncthreads())
// The same, and the number of threads is in a register.
TURNS(counted, BAR("sync", 0, blockDim.x))
// The same, and all have the number of threads whose sum is odd.
TURNS(popc, sum += __syncthreads_count(sum & 1))

// Four barriers, and so many instructions of a chain behind them.
#define BEHIND(name, instructions) TURNS(name, \
    __syncthreads(); __syncthreads(); __syncthreads(); __syncthreads(); \
    _Pragma("unroll") for (int k = 0; k < instructions; ++k) asm volatile("mad.lo.u32 %0, %0, %0, %0;" : "+r"(sum)))
BEHIND(behind_0, 0)
BEHIND(behind_2, 2)
BEHIND(behind_4, 4)
BEHIND(behind_8, 8)
BEHIND(behind_16, 16)
BEHIND(behind_64, 64)

// Four barriers, and a load of a chain from shared memory behind each.
extern "C" __global__ void loads(int times, unsigned* out) {
    __shared__ unsigned words[1024];
    unsigned first = unsigned(__cvta_generic_to_shared(words + threadIdx.x)), place = first;
    words[threadIdx.x] = first;
    _Pragma("unroll 1")
    for (int i = 0; i < times; ++i) {
        _Pragma("unroll") for (int j = 0; j < 4; ++j) {
            __syncthreads();
            asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(place) : "r"(place) : "memory");
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = place - first;
}

// Both halves by themselves.
TURNS(halves, BAR("sync", 1 + first, half))
// One half after the other.
TURNS(in_turn, if (first) { BAR("arrive", 1, 2 * half); BAR("sync", 2, 2 * half); }
    else { BAR("sync", 1, 2 * half); BAR("arrive", 2, 2 * half); })
