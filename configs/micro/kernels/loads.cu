// Loads at once: each warp makes COUNT loads side by side, of zeros, and the next round's addresses wait for all of them.
typedef unsigned long long u64;

__device__ __forceinline__ unsigned load(const void* p, unsigned (&)[1], bool l1) {
    unsigned x;
    if (l1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p));
    else asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned load(const void* p, unsigned (&)[2], bool l1) {
    unsigned x, y;
    if (l1) asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(p));
    else asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(p));
    return x | y;
}
__device__ __forceinline__ unsigned load(const void* p, unsigned (&)[4], bool l1) {
    unsigned x, y, z, w;
    if (l1) asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p));
    else asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p));
    return x | y | z | w;
}

// WORDS words a lane; of a CTA of 256 threads, no word is another thread's. `rounds` is a multiple of 4.
#define LOADS(NAME, WORDS, COUNT, L1)                                                    \
    extern "C" __global__ void NAME(const unsigned* zeros, int rounds, unsigned* out) {  \
        const unsigned* place = zeros + threadIdx.x * WORDS;                             \
        for (int round = 0; round < rounds; round += 4) {                                \
            _Pragma("unroll") for (int j = 0; j < 4; ++j) {                              \
                unsigned values[COUNT], words[WORDS], any = 0;                           \
                _Pragma("unroll") for (int i = 0; i < COUNT; ++i)                        \
                    values[i] = load(place + i * 256 * WORDS, words, L1);                \
                _Pragma("unroll") for (int i = 0; i < COUNT; ++i) any |= values[i];      \
                place += any;                                                            \
            }                                                                            \
        }                                                                                \
        out[threadIdx.x] = (unsigned)(place - zeros);                                    \
    }
LOADS(ca_4_1, 1, 1, true)
LOADS(ca_8_1, 2, 1, true)
LOADS(ca_16_1, 4, 1, true)
LOADS(ca_4_4, 1, 4, true)
LOADS(ca_8_4, 2, 4, true)
LOADS(ca_16_4, 4, 4, true)
LOADS(cg_4_1, 1, 1, false)
LOADS(cg_8_1, 2, 1, false)
LOADS(cg_16_1, 4, 1, false)
LOADS(cg_4_4, 1, 4, false)
LOADS(cg_8_4, 2, 4, false)
LOADS(cg_16_4, 4, 4, false)
