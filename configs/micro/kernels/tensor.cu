// Matrix products of warps, and the matrices that they need from shared memory.

// Each warp makes `times` products, a multiple of 8 and of the chains: in so many chains, each product of a chain added to the one
// before. Matrices are zero.
#define CHAINS(name, type, sums, factors, number, product) \
    extern "C" __global__ void name##_##number(type zero, int times, type* out) { \
        type a[factors], b[factors / 2 + 1], sum[number][sums]; \
        _Pragma("unroll") for (int i = 0; i < factors; ++i) a[i] = zero * (i + 2); \
        _Pragma("unroll") for (int i = 0; i < factors / 2 + 1; ++i) b[i] = zero * (i + 20); \
        _Pragma("unroll") for (int i = 0; i < number * sums; ++i) sum[i / sums][i % sums] = zero; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            _Pragma("unroll") for (int j = 0; j < 8; ++j) { type* d = sum[j % number]; product; } \
        } \
        type all = zero; \
        _Pragma("unroll") for (int i = 0; i < number * sums; ++i) all += sum[i / sums][i % sums]; \
        out[blockIdx.x * blockDim.x + threadIdx.x] = all; \
    }
#define PRODUCT(name, type, sums, factors, product) \
    CHAINS(name, type, sums, factors, 1, product) CHAINS(name, type, sums, factors, 2, product) \
    CHAINS(name, type, sums, factors, 4, product)
#define TEXT(shape) "mma.sync.aligned." shape
#define LARGE(text) asm volatile(TEXT(text) " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define SHORT(text) asm volatile(TEXT(text) " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" \
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define SMALL(text) asm volatile(TEXT(text) " {%0,%1},{%2},{%3},{%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(b[0]))
#define D4 "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
PRODUCT(half_16, unsigned, 4, 4, LARGE("m16n8k16.row.col.f32.f16.f16.f32"))
PRODUCT(half_8, unsigned, 4, 2, SHORT("m16n8k8.row.col.f32.f16.f16.f32"))
PRODUCT(tf32_8, unsigned, 4, 4, LARGE("m16n8k8.row.col.f32.tf32.tf32.f32"))
PRODUCT(bytes_32, unsigned, 4, 4, LARGE("m16n8k32.row.col.s32.s8.s8.s32"))
// Of numbers of 8 bits, each with other factors: what is multiplied is made of them, once where they are the same. A multiplication for
// each register of factors.
#define OTHER(factor) factor = factor * factor + threadIdx.x
#define OTHERS for (int k = 0; k < sizeof a / 4; ++k) OTHER(a[k]); for (int k = 0; k < sizeof a / 8; ++k) OTHER(b[k])
PRODUCT(short_32, unsigned, 4, 4, OTHERS; LARGE("m16n8k32.row.col.f32.e4m3.e4m3.f32"))
PRODUCT(short_16, unsigned, 4, 2, OTHERS; SHORT("m16n8k16.row.col.f32.e4m3.e4m3.f32"))
PRODUCT(bytes_small, unsigned, 2, 1, SMALL("m8n8k16.row.col.s32.s8.s8.s32"))
PRODUCT(double_small, double, 2, 1, asm volatile(TEXT("m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};")
    : "+d"(d[0]), "+d"(d[1]) : "d"(a[0]), "d"(b[0])))
PRODUCT(double_4, double, 4, 2, asm volatile(TEXT("m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};")
    : D4 : "d"(a[0]), "d"(a[1]), "d"(b[0])))
PRODUCT(double_8, double, 4, 4, asm volatile(TEXT("m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};")
    : D4 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1])))
PRODUCT(double_16, double, 4, 8, asm volatile(TEXT("m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%0,%1,%2,%3};")
    : D4 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3])))

// Numbers are converted to another format, `times` times, a multiple of 8: in so many chains.
#define CONVERT(name, number, text) \
    extern "C" __global__ void name##_##number(unsigned zero, int times, unsigned* out) { \
        unsigned one[number]; \
        _Pragma("unroll") for (int i = 0; i < number; ++i) one[i] = zero * (i + threadIdx.x); \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            _Pragma("unroll") for (int j = 0; j < 8; ++j) asm volatile("{ " text " }" : "+r"(one[j % number]) : "r"(zero)); \
        } \
        unsigned all = 0; \
        _Pragma("unroll") for (int i = 0; i < number; ++i) all += one[i]; \
        out[blockIdx.x * blockDim.x + threadIdx.x] = all; \
    }
#define PAIRS ".reg .b16 bytes; cvt.rn.satfinite.e4m3x2.f16x2 bytes, %0; cvt.rn.f16x2.e4m3x2 %0, bytes;"
#define SINGLES ".reg .f32 x; mov.b32 x, %0; cvt.rn.f16x2.f32 %0, x, x;"
#define HALVES ".reg .f32 x; .reg .b16 l, h; mov.b32 {l, h}, %0; cvt.f32.f16 x, h; mov.b32 %0, x;"
CONVERT(pairs, 1, PAIRS)
CONVERT(pairs, 8, PAIRS)
CONVERT(singles, 1, SINGLES)
CONVERT(singles, 8, SINGLES)
CONVERT(halves, 1, HALVES)
CONVERT(halves, 8, HALVES)
// The same with another instruction: of the pipelines for integers, and of those for products of integers.
CONVERT(pairs_xor, 8, PAIRS " xor.b32 %0, %0, %1;")
CONVERT(pairs_mad, 8, PAIRS " mad.lo.u32 %0, %0, %1, %1;")
CONVERT(singles_xor, 8, SINGLES " xor.b32 %0, %0, %1;")
CONVERT(singles_mad, 8, SINGLES " mad.lo.u32 %0, %0, %1, %1;")
CONVERT(halves_mad, 8, HALVES " mad.lo.u32 %0, %0, %1, %1;")

// Each warp reads matrices `times` times, a multiple of 8: rows so many bytes apart, 16 or more.
// In turn, each address with the number read before, which is zero; or eight at a time.
#define READ(name, count, text) \
    extern "C" __global__ void name##_chain(int times, int stride, unsigned* out) { \
        extern __shared__ unsigned words[]; \
        for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = 0; \
        __syncthreads(); \
        unsigned first = unsigned(__cvta_generic_to_shared(words)) + threadIdx.x % 32 * stride, row = first; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            _Pragma("unroll") for (int j = 0; j < 8; ++j) { unsigned x[4]; text(row); row += x[0]; } \
        } \
        out[threadIdx.x] = row - first; \
    } \
    extern "C" __global__ void name##_many(int times, int stride, unsigned* out) { \
        extern __shared__ unsigned words[]; \
        for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = 0; \
        __syncthreads(); \
        unsigned row = unsigned(__cvta_generic_to_shared(words)) + threadIdx.x % 32 * stride, sum = 0; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            unsigned all[8][count]; \
            _Pragma("unroll") for (int j = 0; j < 8; ++j) { unsigned* x = all[j]; text(row + 16 * j); } \
            _Pragma("unroll") for (int j = 0; j < 8 * count; ++j) sum += all[j / count][j % count]; \
        } \
        out[threadIdx.x] = sum; \
    }
#define LOAD(form) "ldmatrix.sync.aligned.m8n8." form ".shared.b16 "
#define ONE(row) asm volatile(LOAD("x1") "{%0}, [%1];" : "=r"(x[0]) : "r"(row) : "memory")
#define TWO(row) asm volatile(LOAD("x2") "{%0,%1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(row) : "memory")
#define FOUR(row) asm volatile(LOAD("x4") "{%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory")
#define TURNED(row) asm volatile(LOAD("x4.trans") "{%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory")
READ(one, 1, ONE)
READ(two, 2, TWO)
READ(four, 4, FOUR)
READ(turned, 4, TURNED)

// Each warp writes four matrices `times` times, a multiple of 8.
extern "C" __global__ void write_four(int times, int stride, unsigned* out) {
    extern __shared__ unsigned words[];
    unsigned row = unsigned(__cvta_generic_to_shared(words)) + threadIdx.x % 32 * stride;
    #pragma unroll 1
    for (int i = 0; i < times; i += 8) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" : : "r"(row + 16 * j), "r"(i) : "memory");
        }
    }
    out[threadIdx.x] = times;
}

// Each warp transposes a matrix `times` times, a multiple of 8.
extern "C" __global__ void transpose(int times, int stride, unsigned* out) {
    unsigned x = threadIdx.x;
    #pragma unroll 1
    for (int i = 0; i < times; i += 8) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    }
    out[threadIdx.x] = x;
}
