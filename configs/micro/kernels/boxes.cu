// Bulk copies of boxes of tensors. A lane of each warp copies `times` times: it begins `copies` copies of a box of `bytes` bytes, and waits for
// all of them. The first box begins at element `x` of row `y`, each further one `step` rows behind, and those of the next turn `advance` rows.
typedef unsigned long long State;
struct alignas(64) Map { State words[16]; };

__device__ __forceinline__ unsigned place_of(const void* variable) { return unsigned(__cvta_generic_to_shared(variable)); }
__device__ __forceinline__ void init(unsigned barrier) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" : : "r"(barrier) : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}
__device__ __forceinline__ void load(unsigned to, const Map& map, int x, int y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
        : : "r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void store(const Map& map, int x, int y, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
        : : "l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}
__device__ __forceinline__ void add(const Map& map, int x, int y, unsigned from) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
        : : "l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}
__device__ __forceinline__ bool is_elected() {
    unsigned elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
    return elected;
}

constexpr int LARGEST = 65536;

// What a warp that stays does at each of `times` turns, from row `at` on.
#define TURNS(name, warp, stays, turn) \
    extern "C" __global__ void name(int times, int copies, int bytes, int x, int y, int step, int advance, const __grid_constant__ Map map) { \
        extern __shared__ __align__(1024) char data[]; \
        __shared__ State words[32]; \
        unsigned one = place_of(words + warp), here = place_of(data); \
        for (int i = threadIdx.x; i < LARGEST / 4; i += blockDim.x) ((int*)data)[i] = i; \
        if (threadIdx.x % 32 == 0) init(one); \
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); \
        __syncthreads(); \
        if (!(stays)) return; \
        int at = y + (blockIdx.x * (blockDim.x / 32) + warp) * copies * step; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i, at += advance) { turn; } \
    }

#define EACH(copy) _Pragma("unroll 1") for (int c = 0; c < copies; ++c) { copy; }
#define LOADS expect(one, copies * bytes); EACH(load(here, map, x, at + c * step, one)); wait(one, i & 1)
#define STORES EACH(store(map, x, at + c * step, here)); asm volatile("cp.async.bulk.commit_group;" : : : "memory")

// A lane of each warp, whose operands the compiler cannot know to be those of all lanes.
TURNS(loads, (threadIdx.x / 32), threadIdx.x % 32 == 0, LOADS)
TURNS(stores, (threadIdx.x / 32), threadIdx.x % 32 == 0, STORES; asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"))
TURNS(reads_of_stores, (threadIdx.x / 32), threadIdx.x % 32 == 0, STORES; asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory"))
// The same where what is in global memory is added to.
#define SUMS EACH(add(map, x, at + c * step, here)); asm volatile("cp.async.bulk.commit_group;" : : : "memory"); \
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory")
TURNS(sums, (threadIdx.x / 32), threadIdx.x % 32 == 0, SUMS)
TURNS(sums_of_first, 0, threadIdx.x == 0, SUMS)
// The first thread of the only warp, or an elected one.
TURNS(loads_of_first, 0, threadIdx.x == 0, LOADS)
TURNS(loads_of_elected, 0, is_elected(), LOADS)
TURNS(stores_of_first, 0, threadIdx.x == 0, STORES; asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"))
