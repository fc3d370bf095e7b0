// Bulk copies between global and shared memory. A lane of each warp copies `times` times: it begins `copies` copies of `bytes` bytes,
// and waits for all of them. The next turn's bytes lie `advance` bytes further; `offset` is where the first ones begin.
typedef unsigned long long State;

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
__device__ __forceinline__ void load(unsigned to, const char* from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        : : "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void store(char* to, unsigned from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to), "r"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }

__device__ __forceinline__ bool is_elected() {
    unsigned elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
    return elected;
}

constexpr int LARGEST = 16384;

// Where each warp that copies has an mbarrier, and its place in `x`; what it does at each of `times` turns.
#define TURNS(name, warp, stays, turn) \
    extern "C" __global__ void name(int times, int copies, int bytes, int advance, int offset, char* x) { \
        __shared__ alignas(128) char data[LARGEST]; \
        __shared__ State words[32]; \
        unsigned one = place_of(words + warp), here = place_of(data); \
        for (int i = threadIdx.x; i < LARGEST / 4; i += blockDim.x) ((int*)data)[i] = i; \
        if (threadIdx.x % 32 == 0) init(one); \
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); \
        __syncthreads(); \
        if (!(stays)) return; \
        char* at = x + offset + (blockIdx.x * (blockDim.x / 32) + warp) * LARGEST; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i, at += advance) { turn; } \
    }

#define EACH(copy) _Pragma("unroll 1") for (int c = 0; c < copies; ++c) { copy; }
#define LOADS expect(one, copies * bytes); EACH(load(here, at + c * bytes, bytes, one)); wait(one, i & 1)
#define STORES EACH(store(at + c * bytes, here, bytes)); commit(); asm volatile("cp.async.bulk.wait_group 0;" : : : "memory")

// A lane of each warp, whose addresses the compiler cannot know to be those of all lanes.
TURNS(loads, (threadIdx.x / 32), threadIdx.x % 32 == 0, LOADS)
TURNS(stores, (threadIdx.x / 32), threadIdx.x % 32 == 0, STORES)
TURNS(reads_of_stores, (threadIdx.x / 32), threadIdx.x % 32 == 0,
    EACH(store(at + c * bytes, here, bytes)); commit(); asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory"))
// What is in global memory is combined with the bytes: added to, in numbers of a type, or another operation.
#define REDUCE(operation) EACH(asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation " [%0], [%1], %2;" \
    : : "l"(at + c * bytes), "r"(here), "r"(bytes) : "memory")); commit()
#define REDUCTIONS(name, operation) \
    TURNS(name, (threadIdx.x / 32), threadIdx.x % 32 == 0, REDUCE(operation); asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"))
REDUCTIONS(add_u32, "add.u32")
REDUCTIONS(add_f32, "add.f32")
REDUCTIONS(add_f16, "add.noftz.f16")
REDUCTIONS(add_bf16, "add.noftz.bf16")
REDUCTIONS(add_u64, "add.u64")
REDUCTIONS(add_f64, "add.f64")
REDUCTIONS(min_s32, "min.s32")
REDUCTIONS(or_b32, "or.b32")
TURNS(reads_of_sums, (threadIdx.x / 32), threadIdx.x % 32 == 0, REDUCE("add.f32"); asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory"))
TURNS(sums_of_first, 0, threadIdx.x == 0, REDUCE("add.f32"); asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"))
// The first thread of the only warp, or an elected one.
TURNS(loads_of_first, 0, threadIdx.x == 0, LOADS)
TURNS(stores_of_first, 0, threadIdx.x == 0, STORES)
TURNS(loads_of_elected, 0, is_elected(), LOADS)

// What goes with them, by all threads: a word is written to shared memory, and a fence orders it before copies, or within the CTA; other
// fences; and a thread's group without any copies.
#define WRITE ((volatile int*)data)[threadIdx.x] = i
TURNS(writes, 0, true, WRITE)
TURNS(writes_for_copies, 0, true, WRITE; asm volatile("fence.proxy.async.shared::cta;" : : : "memory"))
TURNS(writes_for_cta, 0, true, WRITE; asm volatile("fence.acq_rel.cta;" : : : "memory"))
TURNS(fence_of_global, 0, true, asm volatile("fence.proxy.async.global;" : : : "memory"))
TURNS(fence_of_all, 0, true, asm volatile("fence.proxy.async;" : : : "memory"))
TURNS(empty_groups, 0, threadIdx.x == 0, commit(); asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory"))
