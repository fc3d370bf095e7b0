// Bandwidth: every CTA goes `passes` times through `count` elements of its own, or of all where `distance` is 0.
// `count` is a multiple of 4096, and 1024 is one of the threads of a CTA.
typedef unsigned long long u64;
struct alignas(16) wide { unsigned x, y, z, w; };

__device__ __forceinline__ unsigned ca(const unsigned* p) {
    unsigned v; asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;
}
__device__ __forceinline__ unsigned cg(const unsigned* p) {
    unsigned v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;
}
__device__ __forceinline__ unsigned ca(const wide* p) {
    wide v; asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v.x ^ v.y ^ v.z ^ v.w;
}
__device__ __forceinline__ unsigned cg(const wide* p) {
    wide v; asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v.x ^ v.y ^ v.z ^ v.w;
}

// Four loads at fixed distances from one pointer, so that little but loads is on the way from one round to the next.
#define READ(NAME, TYPE, LOAD)                                                                      \
    extern "C" __global__ void NAME(const TYPE* data, u64 distance, int count, int passes, unsigned* out) { \
        const TYPE* mine = data + blockIdx.x * distance + threadIdx.x;                              \
        unsigned sum = 0;                                                                           \
        for (int pass = 0; pass < passes; ++pass) {                                                 \
            const TYPE* p = mine;                                                                   \
            for (int i = 0; i < count; i += 4096, p += 3072) {                                      \
                for (int j = 0; j < 1024; j += blockDim.x, p += blockDim.x) {                       \
                    unsigned a = LOAD(p), b = LOAD(p + 1024), c = LOAD(p + 2048), d = LOAD(p + 3072); \
                    sum ^= a ^ b ^ c ^ d;                                                           \
                }                                                                                   \
            }                                                                                       \
        }                                                                                           \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                           \
    }
READ(read_ca_4, unsigned, ca)
READ(read_ca_16, wide, ca)
READ(read_cg_4, unsigned, cg)
READ(read_cg_16, wide, cg)

extern "C" __global__ void write_16(wide* data, u64 distance, int count, int passes) {
    wide* mine = data + blockIdx.x * distance;
    for (int pass = 0; pass < passes; ++pass) {
        for (int i = threadIdx.x; i < count; i += 4 * blockDim.x) {
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};"
                             : : "l"(mine + i + j * blockDim.x), "r"(i) : "memory");
        }
    }
}

// A word a lane, `step` words apart.
extern "C" __global__ void write_step(unsigned* data, u64 distance, int count, int passes, int step) {
    unsigned* mine = data + blockIdx.x * distance;
    for (int pass = 0; pass < passes; ++pass) {
        for (int i = threadIdx.x; i < count; i += 4 * blockDim.x) {
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                asm volatile("st.global.u32 [%0], %1;" : : "l"(mine + (i + j * blockDim.x) * step), "r"(i) : "memory");
        }
    }
}

extern "C" __global__ void copy_16(const wide* from, wide* to, u64 distance, int count) {
    const wide* source = from + blockIdx.x * distance;
    wide* target = to + blockIdx.x * distance;
    for (int i = threadIdx.x; i < count; i += 4 * blockDim.x) {
        wide v[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) v[j] = source[i + j * blockDim.x];
        #pragma unroll
        for (int j = 0; j < 4; ++j) target[i + j * blockDim.x] = v[j];
    }
}

// A word a thread, as streaming kernels have it: many CTAs that each do little.
extern "C" __global__ void one_read(const unsigned* from, unsigned* to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = from[i];
    if (value == ~0u) to[i] = value;
}
extern "C" __global__ void one_copy(const unsigned* from, unsigned* to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
