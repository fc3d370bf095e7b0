// Boxes of tensors to shared memory and from there: what the run file beside this says, one box for each launch.
typedef unsigned long long State;
struct alignas(64) Map { State words[16]; };

__device__ unsigned place_of(const void* variable) { return unsigned(__cvta_generic_to_shared(variable)); }
#define ONE "{%4}"
#define TWO "{%4, %5}"
#define THREE "{%4, %5, %6}"
#define FOUR "{%4, %5, %6, %7}"
#define FIVE "{%4, %5, %6, %7, %8}"
#define COORDINATES "r"(a), "r"(b), "r"(c), "r"(d), "r"(e)

constexpr int BYTES = 8192;

// All of shared memory goes to `out`: what a box with these coordinates leaves there from byte `offset` on, and 0x55 elsewhere.
#define GET(rank, coordinates) \
    extern "C" __global__ void get##rank(int a, int b, int c, int d, int e, int bytes, int offset, const __grid_constant__ Map map, unsigned* out) { \
        __shared__ __align__(1024) unsigned data[BYTES / 4]; \
        __shared__ State word; \
        for (int i = threadIdx.x; i < BYTES / 4; i += blockDim.x) data[i] = 0x55555555; \
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); \
        if (threadIdx.x == 0) { \
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" : : "r"(place_of(&word)) : "memory"); \
            asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); \
        } \
        __syncthreads(); \
        if (threadIdx.x == 0) { \
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(place_of(&word)), "r"(bytes) : "memory"); \
            asm volatile("prefetch.tensormap [%0];" : : "l"(&map) : "memory"); \
            asm volatile("cp.async.bulk.prefetch.tensor." #rank "d.L2.global.tile [%1, " coordinates "];" \
                : : "r"(0), "l"(&map), "r"(0), "r"(0), COORDINATES : "memory"); \
            asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " coordinates "], [%2];" \
                : : "r"(place_of(data) + offset), "l"(&map), "r"(place_of(&word)), "r"(0), COORDINATES : "memory"); \
        } \
        unsigned done; \
        do { \
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" \
                : "=r"(done) : "r"(place_of(&word)) : "memory"); \
        } while (!done); \
        for (int i = threadIdx.x; i < BYTES / 4; i += blockDim.x) out[i] = data[i]; \
    }
GET(1, ONE)
GET(2, TWO)
GET(3, THREE)
GET(4, FOUR)
GET(5, FIVE)

// What shared memory holds from byte `offset` on goes to a box: word `i` of shared memory is `seed + i`.
#define PUT(rank, coordinates) \
    extern "C" __global__ void put##rank(int a, int b, int c, int d, int e, unsigned seed, int offset, const __grid_constant__ Map map) { \
        __shared__ __align__(1024) unsigned data[BYTES / 4]; \
        for (int i = threadIdx.x; i < BYTES / 4; i += blockDim.x) data[i] = seed + i; \
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); \
        __syncthreads(); \
        if (threadIdx.x == 0) { \
            asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.tile.bulk_group [%1, " coordinates "], [%0];" \
                : : "r"(place_of(data) + offset), "l"(&map), "r"(0), "r"(0), COORDINATES : "memory"); \
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" : : : "memory"); \
        } \
    }
PUT(1, ONE)
PUT(2, TWO)
PUT(3, THREE)
PUT(4, FOUR)
PUT(5, FIVE)
