// Matrix products of warpgroups, of matrices of every kind in shared memory and in registers. `warpgroup.ptx` is what NVRTC 13 makes of it
// for compute_90a, without blank lines. Each kernel runs with two warpgroups; a lane writes one word, made of all of its sums.
typedef unsigned u32;
typedef unsigned long long u64;

// Random words.
__device__ u32 word(u32 number, u32 place) {
    u64 x = (u64(number) << 32 | place) + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return u32((x ^ (x >> 31)) >> 16);
}
// Two numbers of half precision, or one of single precision that has 8 bits of exponent, in 16 or in 32 bits: not far from 1.
__device__ u32 f16(u32 x) { return (x & 0x83ff83ff) | (12 + (x >> 10 & 7)) << 10 | (12 + (x >> 26 & 7)) << 26; }
__device__ u32 bf16(u32 x) { return (x & 0x807f807f) | (124 + (x >> 7 & 7)) << 7 | (124 + (x >> 23 & 7)) << 23; }
__device__ u32 tf32(u32 x) { return (x & 0x807fffff) | (124 + (x >> 23 & 7)) << 23; }
__device__ u32 any(u32 x) { return x; }
// Four numbers of 8 bits that are less than 2, whatever their format.
__device__ u32 low(u32 x) { return x & 0xbfbfbfbf; }
// Sums that the range of 32 bits does not hold are near.
__device__ u32 large(u32 x) { return (x & 0xffff) + (x >> 31 ? 0x7fff0000 : 0x80000000); }

// A descriptor: the first byte behind `words`, two distances, the offset of a pattern, and how pieces change places.
__device__ u64 matrix(const u32* words, u32 start, u32 leading, u32 stride, u32 offset, u32 kind) {
    u32 first = (u32(__cvta_generic_to_shared(words)) + start) & 0x3ffff;
    return u64(first) >> 4 | u64(leading) << 12 | u64(stride) << 28 | u64(offset) << 49 | u64(kind) << 62;
}

#define KERNEL(name, number, factors, count, before, first, second, body) \
    extern "C" __global__ void name(u32* out) { \
        __shared__ __align__(1024) u32 words[8192]; \
        for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = factors(word(number, i)); \
        asm volatile("fence.proxy.async;" : : : "memory"); \
        __syncthreads(); \
        u64 a = first, b = second; \
        u32 x[4], d[count]; \
        for (u32 i = 0; i < 4; ++i) x[i] = factors(word(number + 100, threadIdx.x * 4 + i)); \
        for (u32 i = 0; i < count; ++i) d[i] = before(word(number + 200, threadIdx.x * 128 + i)); \
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); \
        body; \
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); \
        asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory"); \
        u32 all = 0; \
        for (u32 i = 0; i < count; ++i) all = all * 31 + d[i]; \
        out[threadIdx.x] = all + u32(a) * 0 + x[0] * 0; \
    }
#define FOUR(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define D2 "+r"(d[0]), "+r"(d[1])
#define D4 FOUR(0)
#define D8 D4, FOUR(4)
#define D12 D8, FOUR(8)
#define D16 D12, FOUR(12)
#define D20 D16, FOUR(16)
#define D32 D20, FOUR(20), FOUR(24), FOUR(28)
#define D128 D32, FOUR(32), FOUR(36), FOUR(40), FOUR(44), FOUR(48), FOUR(52), FOUR(56), FOUR(60), FOUR(64), FOUR(68), FOUR(72), FOUR(76), \
    FOUR(80), FOUR(84), FOUR(88), FOUR(92), FOUR(96), FOUR(100), FOUR(104), FOUR(108), FOUR(112), FOUR(116), FOUR(120), FOUR(124)
#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9"
#define UNTIL9 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9"
#define X "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
#define PRODUCT(shape, text, sums, ...) asm volatile("wgmma.mma_async.sync.aligned." shape " {" text ";" : sums : __VA_ARGS__)
#define BOTH "l"(a), "l"(b)

// Two products: the first without what was there before.
KERNEL(half_shared, 0, f16, 32, tf32, matrix(words, 1024 + 32, 16, 1024, 0, 1), matrix(words, 9216, 4096, 1024, 0, 1),
    PRODUCT("m64n64k16.f32.f16.f16", UNTIL9 "," TEN(1) "," TEN(2) ",%30,%31}, %32, %33, 0, 1, 1, 0, 1", D32, BOTH);
    PRODUCT("m64n64k16.f32.f16.f16", UNTIL9 "," TEN(1) "," TEN(2) ",%30,%31}, %32, %33, 1, -1, 1, 0, 1", D32, BOTH))
KERNEL(half_registers, 1, f16, 12, tf32, 0, matrix(words, 4096, 384, 128, 0, 0),
    PRODUCT("m64n24k16.f32.f16.f16", UNTIL9 ",%10,%11}, {%12,%13,%14,%15}, %16, 1, 1, -1, 0", D12, X, "l"(b)))
KERNEL(half_registers_turned, 2, f16, 12, tf32, 0, matrix(words, 4096, 1024, 512, 0, 3),
    PRODUCT("m64n24k16.f32.f16.f16", UNTIL9 ",%10,%11}, {%12,%13,%14,%15}, %16, 1, -1, 1, 1", D12, X, "l"(b)))
KERNEL(half_sums, 3, f16, 4, f16, matrix(words, 512, 2048, 1536, 4, 2), matrix(words, 8192 + 256, 16, 256, 2, 3),
    PRODUCT("m64n16k16.f16.f16.f16", "%0,%1,%2,%3}, %4, %5, 1, 1, 1, 1, 0", D4, BOTH))
KERNEL(brain, 4, bf16, 4, tf32, matrix(words, 16, 128, 1024, 0, 0), matrix(words, 16384, 2048, 1024, 0, 2),
    PRODUCT("m64n8k16.f32.bf16.bf16", "%0,%1,%2,%3}, %4, %5, 1, 1, -1, 1, 1", D4, BOTH))
KERNEL(tf32_shared, 5, tf32, 20, tf32, matrix(words, 768, 16, 256, 6, 3), matrix(words, 8192 + 64, 16, 1024, 0, 1),
    PRODUCT("m64n40k8.f32.tf32.tf32", UNTIL9 "," TEN(1) "}, %20, %21, 1, -1, 1", D20, BOTH))
KERNEL(tf32_registers, 6, tf32, 4, tf32, 0, matrix(words, 8192 + 64, 16, 1024, 0, 1),
    PRODUCT("m64n8k8.f32.tf32.tf32", "%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, -1, 1", D4, X, "l"(b)))
KERNEL(bytes_held, 7, any, 16, large, matrix(words, 0, 128, 256, 0, 0), matrix(words, 8192, 16, 512, 0, 2),
    PRODUCT("m64n32k32.s32.s8.s8.satfinite", UNTIL9 ",%10,%11,%12,%13,%14,%15}, %16, %17, 1", D16, BOTH))
KERNEL(bytes_registers, 8, any, 8, large, 0, matrix(words, 8192, 16, 512, 0, 2),
    PRODUCT("m64n16k32.s32.u8.s8", "%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, 1", D8, X, "l"(b)))
KERNEL(half_wide, 9, f16, 128, tf32, matrix(words, 1024, 128, 256, 0, 0), matrix(words, 12288, 128, 512, 0, 0),
    PRODUCT("m64n256k16.f32.f16.f16", UNTIL9 "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5) "," TEN(6) "," TEN(7) "," TEN(8) "," TEN(9) ","
        TEN(10) "," TEN(11) ",%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0", D128, BOTH))
KERNEL(short_shared, 10, low, 20, tf32, matrix(words, 768, 16, 256, 6, 3), matrix(words, 8192 + 64, 16, 1024, 0, 1),
    PRODUCT("m64n40k32.f32.e4m3.e4m3", UNTIL9 "," TEN(1) "}, %20, %21, 0, -1, 1", D20, BOTH);
    PRODUCT("m64n40k32.f32.e4m3.e5m2", UNTIL9 "," TEN(1) "}, %20, %21, 1, 1, -1", D20, BOTH))
KERNEL(short_registers, 11, low, 8, tf32, 0, matrix(words, 8192, 16, 512, 0, 2),
    PRODUCT("m64n16k32.f32.e5m2.e5m2", "%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, 1, 1, 1", D8, X, "l"(b));
    PRODUCT("m64n16k32.f32.e5m2.e4m3", "%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, 1, 1, 1", D8, X, "l"(b)))
KERNEL(short_any, 12, any, 4, tf32, 0, matrix(words, 8192, 16, 512, 0, 2),
    PRODUCT("m64n8k32.f32.e5m2.e4m3", "%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1", D4, X, "l"(b)))
KERNEL(short_sums, 13, low, 4, f16, matrix(words, 512, 128, 256, 0, 0), matrix(words, 8192 + 256, 16, 256, 2, 3),
    PRODUCT("m64n16k32.f16.e5m2.e4m3", "%0,%1,%2,%3}, %4, %5, 1, 1, -1", D4, BOTH))
KERNEL(short_sums_any, 14, any, 2, f16, 0, matrix(words, 4096, 128, 256, 0, 0),
    PRODUCT("m64n8k32.f16.e4m3.e4m3", "%0,%1}, {%2,%3,%4,%5}, %6, 1, 1, 1", D2, X, "l"(b)))
