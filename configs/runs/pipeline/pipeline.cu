// One warp of each CTA brings tiles of numbers to shared memory, four others compute with them: each stage of the pipeline has an
// mbarrier that says that it is full, and one that says that it is free.
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
            float4 sum = make_float4(1, 1, 1, 1);
            for (int i = 0; i < degree; ++i) {
                sum = make_float4(fmaf(sum.x, at.x, 1), fmaf(sum.y, at.y, 1), fmaf(sum.z, at.z, 1), fmaf(sum.w, at.w, 1));
            }
            y[tile * (TILE / 4) + threadIdx.x] = sum;
        }
        if (++stage == STAGES) { stage = 0; parity ^= 1; }
    }
}
