// One warp of each CTA brings tiles of numbers to shared memory, four others compute with them: each stage of the pipeline has an
// mbarrier that says that it is full, and one that says that it is free. In `pipeline` the lanes of that warp copy 16 bytes each; in
// `in_bulk` one thread has the SM copy the tile as a whole, and the results as well.
constexpr int STAGES = 4, TILE = 512, CONSUMERS = 128;
typedef unsigned long long Mbarrier;

__device__ unsigned place_of(const void* variable) { return unsigned(__cvta_generic_to_shared(variable)); }
__device__ void init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals) : "memory");
}
__device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(barrier) : "memory");
}
__device__ void arrive_after_copies(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(barrier) : "memory");
}
__device__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}
__device__ void copy(unsigned to, const float4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
}

__device__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
__device__ void load_in_bulk(unsigned to, const float4* from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        : : "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
__device__ void store_in_bulk(float4* to, unsigned from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to), "r"(from), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}
__device__ void meet() { asm volatile("bar.sync 1, %0;" : : "n"(CONSUMERS) : "memory"); }
__device__ float4 polynomial(float4 at, int degree) {
    float4 sum = make_float4(1, 1, 1, 1);
    for (int i = 0; i < degree; ++i) {
        sum = make_float4(fmaf(sum.x, at.x, 1), fmaf(sum.y, at.y, 1), fmaf(sum.z, at.z, 1), fmaf(sum.w, at.w, 1));
    }
    return sum;
}

// A polynomial of `degree` at each of `tiles` times 512 places: y = 1 + x (1 + x (1 + ..)).
extern "C" __global__ void pipeline(int tiles, int degree, const float4* x, float4* y) {
    __shared__ float4 stages[STAGES][TILE / 4];
    __shared__ Mbarrier full[STAGES], free_again[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init(place_of(full + stage), 32);
            init(place_of(free_again + stage), CONSUMERS);
        }
    }
    __syncthreads();
    int stage = 0;
    unsigned parity = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (threadIdx.x >= CONSUMERS) {
            int lane = threadIdx.x - CONSUMERS;
            // At first all stages are free.
            wait(place_of(free_again + stage), parity ^ 1);
            unsigned to = place_of(stages[stage] + lane);
            const float4* from = x + tile * (TILE / 4) + lane;
            #pragma unroll
            for (int i = 0; i < TILE / 4; i += 32) copy(to + i * sizeof(float4), from + i);
            arrive_after_copies(place_of(full + stage));
        } else {
            wait(place_of(full + stage), parity);
            float4 at = stages[stage][threadIdx.x];
            arrive(place_of(free_again + stage));
            y[tile * (TILE / 4) + threadIdx.x] = polynomial(at, degree);
        }
        if (++stage == STAGES) { stage = 0; parity ^= 1; }
    }
}

// The same, by copies in bulk.
extern "C" __global__ void in_bulk(int tiles, int degree, const float4* x, float4* y) {
    constexpr int BYTES = TILE * sizeof(float);
    __shared__ alignas(128) float4 stages[STAGES][TILE / 4], results[2][TILE / 4];
    __shared__ Mbarrier full[STAGES], free_again[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init(place_of(full + stage), 1);
            init(place_of(free_again + stage), CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    __syncthreads();
    int stage = 0, slot = 0;
    unsigned parity = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (threadIdx.x == CONSUMERS) {
            wait(place_of(free_again + stage), parity ^ 1);
            expect(place_of(full + stage), BYTES);
            load_in_bulk(place_of(stages[stage]), x + tile * (TILE / 4), BYTES, place_of(full + stage));
        } else if (threadIdx.x < CONSUMERS) {
            wait(place_of(full + stage), parity);
            float4 at = stages[stage][threadIdx.x];
            arrive(place_of(free_again + stage));
            float4 sum = polynomial(at, degree);
            // What was in this slot has been read, as all but the youngest store have.
            if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" : : : "memory");
            meet();
            results[slot][threadIdx.x] = sum;
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
            meet();
            if (threadIdx.x == 0) store_in_bulk(y + tile * (TILE / 4), place_of(results[slot]), BYTES);
            slot ^= 1;
        }
        if (++stage == STAGES) { stage = 0; parity ^= 1; }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}
