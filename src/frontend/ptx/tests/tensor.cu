// Matrix products of every kind, of numbers that the lanes make up. `tensor.ptx` is what NVRTC 13 makes of it for compute_90, without
// blank lines. A block is a case: any numbers of some range, many zeros, infinities, sums that cancel, the largest numbers, NaNs.
#include <mma.h>
typedef unsigned u32;
typedef unsigned long long u64;

// Random words: SplitMix64.
struct Words {
    u64 at;
    __device__ __noinline__ u32 next() {
        u64 x = at++ + 0x9e3779b97f4a7c15ull;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        return u32((x ^ (x >> 31)) >> 16);
    }
    // Any fraction and sign, and an exponent of a range; so many bits of fraction.
    __device__ __noinline__ u32 number(u32 least, u32 most, u32 fraction, u32 sign) {
        u32 exponent = least + next() % (most - least + 1);
        return (next() & sign) | (next() & ((1u << fraction) - 1)) | (exponent << fraction);
    }
    __device__ bool one_of(u32 n) { return next() % n == 0; }
};

// A factor with so many bits of exponent and fraction.
__device__ __noinline__ u32 factor(Words& words, int exponent_bits, int fraction) {
    u32 sign = 1u << (exponent_bits + fraction), bias = (1u << (exponent_bits - 1)) - 1;
    u32 infinite = (sign - 1) >> fraction << fraction, largest = infinite - 1;
    u32 one = bias << fraction, s = words.next() & sign;
    switch (blockIdx.x) {
    case 0: return words.number(bias - 4, bias + 4, fraction, sign);
    case 1: return words.one_of(2) ? s : words.number(0, exponent_bits == 5 ? 30 : 254, fraction, sign);
    case 2: return words.one_of(3) ? s : words.one_of(2) ? s | (words.next() & ((1u << fraction) - 1)) : s | (infinite - (2u << fraction));
    case 3: return s | (words.one_of(12) ? infinite : words.one_of(3) ? 0 : one);
    case 4: return s | (words.one_of(2) ? one : one + (1u << fraction));
    case 5: return s | (exponent_bits == 5 ? largest : one + (64u << fraction));
    default: return s | (words.one_of(40) ? infinite + 1 : one);
    }
}
__device__ u32 half_bits(Words& words) { return factor(words, 5, 10); }
__device__ u32 brain(Words& words) { return factor(words, 8, 7); }
__device__ u32 f16(Words& words) { u32 low = half_bits(words); return low | half_bits(words) << 16; }
__device__ u32 bf16(Words& words) { u32 low = brain(words); return low | brain(words) << 16; }
// What is behind the ten bits of fraction does not count.
__device__ u32 tf32(Words& words) { return factor(words, 8, 10) << 13 | (words.next() & 0x1fff); }
__device__ u32 any(Words& words) { return words.next(); }
// Four numbers of 8 bits: less than 2, many zeros, the largest, few of what may be infinite or NaN, any.
__device__ __noinline__ u32 bytes(Words& words, u32 special) {
    u32 all = 0;
    for (int i = 0; i < 4; ++i) {
        u32 x = words.next() & 0xff, s = x & 0x80, size;
        switch (blockIdx.x) {
        case 0: size = x & 0x3f; break;
        case 1: size = words.one_of(2) ? 0 : x & 0x5f; break;
        case 2: size = special - 1 - (x & 3); break;
        case 3: size = words.one_of(40) ? special : 0x38; break;
        default: size = x & 0x7f;
        }
        all |= (s | size) << (8 * i);
    }
    return all;
}
__device__ u32 e4m3(Words& words) { return bytes(words, 0x7f); }
__device__ u32 e5m2(Words& words) { return bytes(words, 0x7c); }
__device__ __noinline__ u32 single(Words& words) {
    u32 sign = 0x80000000;
    switch (blockIdx.x) {
    case 0: return words.number(123, 131, 23, sign);
    case 1: return words.one_of(4) ? words.next() & sign : words.number(90, 140, 23, sign);
    case 2: return words.one_of(2) ? words.next() & sign : words.number(0, 110, 23, sign);
    case 3: return words.one_of(4) ? (words.next() & sign) | 0x7f800000 : words.number(120, 130, 23, sign);
    case 4: return (words.next() & sign) | (words.one_of(3) ? 0x40000000 : 0);
    case 5: return words.number(252, 254, 23, sign);
    default: return words.one_of(8) ? 0x7fc12345 : words.number(120, 130, 23, sign);
    }
}
// Sums that the range of 32 bits does not hold, in every second block.
__device__ __noinline__ u32 whole(Words& words) { return blockIdx.x % 2 ? (words.next() & 0xff) + (words.one_of(2) ? 0x7fffff80 : 0x80000000) : words.next(); }

#define START(number) Words words = { u64(number) << 32 | blockIdx.x << 16 | threadIdx.x << 8 };
#define REGISTERS(number, factors, sums) START(number) u32 a[4], b[2], c[4], d[4] = {0, 0, 0, 0}; \
    for (int i = 0; i < 4; ++i) a[i] = factors(words); \
    for (int i = 0; i < 2; ++i) b[i] = factors(words); \
    for (int i = 0; i < 4; ++i) c[i] = sums(words);
#define STORE for (int i = 0; i < 4; ++i) out[(blockIdx.x * 32 + threadIdx.x) * 4 + i] = d[i];
#define PRODUCT(name, number, factors, sums, product) \
    extern "C" __global__ void name(u32* out) { REGISTERS(number, factors, sums) product; STORE }
#define D2 "=r"(d[0]), "=r"(d[1])
#define D4 D2, "=r"(d[2]), "=r"(d[3])
#define A2 "r"(a[0]), "r"(a[1])
#define A4 A2, "r"(a[2]), "r"(a[3])
#define C2 "r"(c[0]), "r"(c[1])
#define C4 C2, "r"(c[2]), "r"(c[3])
#define LARGE(text) asm("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};" : D4 : A4, "r"(b[0]), "r"(b[1]), C4)
#define SHORT(text) asm("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10};" : D4 : A2, "r"(b[0]), C4)
#define LARGE_HALF(text) asm("mma.sync.aligned." text " {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9};" : D2 : A4, "r"(b[0]), "r"(b[1]), C2)
#define SHORT_HALF(text) asm("mma.sync.aligned." text " {%0,%1},{%2,%3},{%4},{%5,%6};" : D2 : A2, "r"(b[0]), C2)
#define SMALL(text) asm("mma.sync.aligned." text " {%0,%1},{%2},{%3},{%4,%5};" : D2 : "r"(a[0]), "r"(b[0]), C2)

PRODUCT(half_16, 0, f16, single, LARGE("m16n8k16.row.col.f32.f16.f16.f32"))
PRODUCT(half_8, 1, f16, single, SHORT("m16n8k8.row.col.f32.f16.f16.f32"))
PRODUCT(half_sums_16, 2, f16, f16, LARGE_HALF("m16n8k16.row.col.f16.f16.f16.f16"))
PRODUCT(half_sums_8, 3, f16, f16, SHORT_HALF("m16n8k8.row.col.f16.f16.f16.f16"))
PRODUCT(brain_16, 4, bf16, single, LARGE("m16n8k16.row.col.f32.bf16.bf16.f32"))
PRODUCT(brain_8, 5, bf16, single, SHORT("m16n8k8.row.col.f32.bf16.bf16.f32"))
PRODUCT(tf32_8, 6, tf32, single, LARGE("m16n8k8.row.col.f32.tf32.tf32.f32"))
PRODUCT(tf32_4, 7, tf32, single, SHORT("m16n8k4.row.col.f32.tf32.tf32.f32"))
PRODUCT(short_32, 40, e4m3, single, LARGE("m16n8k32.row.col.f32.e4m3.e4m3.f32"))
PRODUCT(short_16, 41, e5m2, single, SHORT("m16n8k16.row.col.f32.e5m2.e4m3.f32"))
PRODUCT(short_sums_32, 42, e4m3, f16, LARGE_HALF("m16n8k32.row.col.f16.e4m3.e5m2.f16"))
PRODUCT(short_sums_16, 43, e5m2, f16, SHORT_HALF("m16n8k16.row.col.f16.e5m2.e5m2.f16"))
PRODUCT(bytes_32, 8, any, whole, LARGE("m16n8k32.row.col.s32.s8.u8.s32"))
PRODUCT(bytes_16, 9, any, whole, SHORT("m16n8k16.row.col.satfinite.s32.u8.s8.s32"))
PRODUCT(bytes_small, 10, any, whole, SMALL("m8n8k16.row.col.satfinite.s32.s8.s8.s32"))
PRODUCT(bits_256, 11, any, whole, LARGE("m16n8k256.row.col.s32.b1.b1.s32.and.popc"))
PRODUCT(bits_128, 12, any, whole, SHORT("m16n8k128.row.col.s32.b1.b1.s32.and.popc"))
PRODUCT(bits_small, 13, any, whole, SMALL("m8n8k128.row.col.s32.b1.b1.s32.and.popc"))

__device__ __noinline__ double real(Words& words) {
    u64 high = words.number(1023 - 6, 1023 + 6, 20, 0x80000000);
    return __longlong_as_double(high << 32 | words.next());
}
#define DOUBLES(name, number, product) \
    extern "C" __global__ void name(double* out) { \
        START(number) double a[8], b[4], c[4], d[4] = {0, 0, 0, 0}; \
        for (int i = 0; i < 8; ++i) a[i] = real(words); \
        for (int i = 0; i < 4; ++i) b[i] = real(words); \
        for (int i = 0; i < 4; ++i) c[i] = real(words); \
        product; STORE \
    }
#define DD2 "=d"(d[0]), "=d"(d[1])
#define DD4 DD2, "=d"(d[2]), "=d"(d[3])
#define DC4 "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3])
DOUBLES(double_small, 14, asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%4,%5};" : DD2 : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1])))
DOUBLES(double_4, 15, asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10};" : DD4 : "d"(a[0]), "d"(a[1]), "d"(b[0]), DC4))
DOUBLES(double_8, 16, asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};" : DD4 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), DC4))
DOUBLES(double_16, 17, asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%16,%17,%18,%19};" : DD4 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), DC4))

// Matrices from shared memory and back, as they are and transposed: 24 words of a lane.
extern "C" __global__ void matrices(u32* out) {
    __shared__ __align__(128) u32 words_of[128], back[256];
    START(18)
    u32 lane = threadIdx.x, d[24];
    for (int i = 0; i < 4; ++i) words_of[i * 32 + lane] = words.next();
    __syncthreads();
    u32 row = u32(__cvta_generic_to_shared(words_of)) + lane * 7 % 32 * 16;
    u32 to = u32(__cvta_generic_to_shared(back)) + lane * 5 % 32 * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(row) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7]) : "r"(row) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(d[8]), "=r"(d[9]) : "r"(row) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d[10]) : "r"(row) : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d[11]) : "r"(d[1]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(d[12]) : "l"(&words_of[lane * 7 % 32 * 4]) : "memory");
    for (int i = 0; i < 8; ++i) back[i * 32 + lane] = 0;
    __syncthreads();
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" : : "r"(to), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0+512], {%1,%2};" : : "r"(to), "r"(d[0]), "r"(d[1]) : "memory");
    __syncthreads();
    for (int i = 0; i < 8; ++i) d[13 + i] = back[i * 32 + lane];
    d[21] = d[22] = d[23] = 0;
    for (int i = 0; i < 24; ++i) out[(blockIdx.x * 32 + lane) * 24 + i] = d[i];
}

// The same products by `wmma`, of matrices in memory whose rows or columns are so many numbers apart. Block by bits: columns of A are contiguous, of B, of C.
using namespace nvcuda::wmma;
constexpr int FACTOR = 24, SUM = 24, WORDS = 2 * 16 * FACTOR / 2 + 16 * SUM;
__device__ __align__(32) u32 filled[8][WORDS];

// Normal numbers of 16 bits with so many bits of fraction, then sums.
__device__ __noinline__ void fill(u32* words_of, int number, int fraction, bool half_sums) {
    Words words = { u64(number) << 32 | blockIdx.x << 16 | threadIdx.x << 8 };
    u32 bias = fraction == 10 ? 15 : 127;
    for (int i = threadIdx.x; i < WORDS; i += 32) {
        u32 low = words.number(bias - 4, bias + 4, fraction, 0x8000), high = words.number(bias - 4, bias + 4, fraction, 0x8000);
        words_of[i] = i < 16 * FACTOR || half_sums ? low | high << 16 : words.number(123, 131, 23, 0x80000000);
    }
    __syncthreads();
}

template<typename Number, typename Total, typename A, typename B>
__device__ void multiply(const u32* a_words, const u32* words_of, Total* out, layout_t sums) {
    const Number* factors = reinterpret_cast<const Number*>(a_words);
    const Total* before = reinterpret_cast<const Total*>(words_of + 16 * FACTOR);
    fragment<matrix_a, 16, 16, 16, Number, A> a;
    fragment<matrix_b, 16, 16, 16, Number, B> b;
    fragment<accumulator, 16, 16, 16, Total> c;
    load_matrix_sync(a, factors, FACTOR);
    load_matrix_sync(b, factors + 16 * FACTOR, FACTOR);
    load_matrix_sync(c, before, SUM, sums);
    mma_sync(c, a, b, c);
    store_matrix_sync(out + blockIdx.x * 256, c, 16, sums);
}

template<typename Number, typename Total>
__device__ void by_layouts(const u32* a_words, const u32* words_of, Total* out) {
    layout_t sums = blockIdx.x & 4 ? mem_col_major : mem_row_major;
    switch (blockIdx.x & 3) {
    case 0: return multiply<Number, Total, row_major, row_major>(a_words, words_of, out, sums);
    case 1: return multiply<Number, Total, col_major, row_major>(a_words, words_of, out, sums);
    case 2: return multiply<Number, Total, row_major, col_major>(a_words, words_of, out, sums);
    default: return multiply<Number, Total, col_major, col_major>(a_words, words_of, out, sums);
    }
}

extern "C" __global__ void wmma_global(float* out) {
    fill(filled[blockIdx.x], 20, 10, false);
    by_layouts<half, float>(filled[blockIdx.x], filled[blockIdx.x], out);
}

extern "C" __global__ void wmma_shared(float* out) {
    __shared__ __align__(32) u32 near[WORDS];
    fill(filled[blockIdx.x], 21, 10, false);
    fill(near, 21, 10, false);
    by_layouts<half, float>(near, filled[blockIdx.x], out);
}

extern "C" __global__ void wmma_half(half* out) {
    fill(filled[blockIdx.x], 22, 10, true);
    by_layouts<half, half>(filled[blockIdx.x], filled[blockIdx.x], out);
}

// Strides that the compiler knows.
extern "C" __global__ void wmma_brain(float* out) {
    fill(filled[blockIdx.x], 23, 7, false);
    by_layouts<__nv_bfloat16, float>(filled[blockIdx.x], filled[blockIdx.x], out);
}
