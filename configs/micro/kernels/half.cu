// Arithmetic on pairs of numbers of half precision and of `bf16`: a chain of `times` operations, a multiple of 32, each on the result of the
// one before. One warp shows the latency, a full SM the throughput.
typedef unsigned pair;

#define CHAIN(NAME, CODE)                                                                     \
    extern "C" __global__ void NAME(pair first, pair a, pair b, int times, pair* out) {       \
        pair x = first, y = first + threadIdx.x; /* else computed once for a warp */            \
        for (int i = 0; i < times; i += 32) {                                                 \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) { CODE; }                          \
        }                                                                                     \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;                                   \
    }
// Each writes a register of its own, as the functions of `cuda_fp16.h` do.
#define ON(X, OP) { pair t; asm volatile(OP : "=r"(t) : "r"(X), "r"(a), "r"(b)); X = t; }
#define X(OP) ON(x, OP)
#define Y(OP) ON(y, OP)
// The same on single precision, in the bits of a register.
#define F(OP) ON(y, "{ .reg .f32 t, u, v; mov.b32 t, %1; mov.b32 u, %2; mov.b32 v, %3; " OP " mov.b32 %0, t; }")
// On single numbers.
#define ONE(NAME, CODE)                                                                        \
    extern "C" __global__ void NAME(pair first, pair a, pair b, int times, pair* out) {        \
        unsigned short x = first, u = a, v = b;                                                \
        for (int i = 0; i < times; i += 32) {                                                  \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) { CODE; }                           \
        }                                                                                      \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x;                                        \
    }
#define H(OP) { unsigned short t; asm volatile(OP : "=h"(t) : "h"(x), "h"(u), "h"(v)); x = t; }

CHAIN(half_add, X("add.rn.f16x2 %0, %1, %2;"))
CHAIN(half_mul, X("mul.rn.f16x2 %0, %1, %2;"))
CHAIN(half_fma, X("fma.rn.f16x2 %0, %1, %2, %3;"))
CHAIN(half_relu, X("fma.rn.relu.f16x2 %0, %1, %2, %3;"))
CHAIN(half_min, X("min.f16x2 %0, %1, %2;"))
CHAIN(half_set, X("set.lt.f16x2.f16x2 %0, %1, %2;"))
ONE(half_select, H("{ .reg .pred p; setp.lt.f16 p, %1, %2; selp.b16 %0, %2, %3, p; }"))
ONE(half_one, H("fma.rn.f16 %0, %1, %2, %3;"))
ONE(half_convert, H("{ .reg .f32 t; cvt.f32.f16 t, %1; cvt.rn.f16.f32 %0, t; }"))
CHAIN(half_ex2, X("ex2.approx.f16x2 %0, %1;"))
CHAIN(half_tanh, X("tanh.approx.f16x2 %0, %1;"))
CHAIN(brain_add, X("add.rn.bf16x2 %0, %1, %2;"))
CHAIN(brain_mul, X("mul.rn.bf16x2 %0, %1, %2;"))
CHAIN(brain_fma, X("fma.rn.bf16x2 %0, %1, %2, %3;"))
CHAIN(brain_min, X("min.bf16x2 %0, %1, %2;"))
ONE(brain_convert, H("{ .reg .f32 t; cvt.f32.bf16 t, %1; cvt.rn.bf16.f32 %0, t; }"))
CHAIN(brain_ex2, X("ex2.approx.ftz.bf16x2 %0, %1;"))
CHAIN(brain_tanh, X("tanh.approx.bf16x2 %0, %1;"))

// Beside each other: which of them share a pipeline.
CHAIN(halves, X("fma.rn.f16x2 %0, %1, %2, %3;"); Y("fma.rn.f16x2 %0, %1, %2, %3;"))
CHAIN(halves_and_floats, X("fma.rn.f16x2 %0, %1, %2, %3;"); F("fma.rn.f32 t, t, u, v;"))
CHAIN(halves_and_products, X("fma.rn.f16x2 %0, %1, %2, %3;"); Y("mad.lo.s32 %0, %1, %2, %3;"))
CHAIN(halves_and_logic, X("fma.rn.f16x2 %0, %1, %2, %3;"); Y("add.s32 %0, %1, %2; xor.b32 %0, %0, %3;"))
CHAIN(sums_and_halves, X("add.rn.f16x2 %0, %1, %2;"); Y("fma.rn.f16x2 %0, %1, %2, %3;"))
CHAIN(sums_and_products, X("add.rn.f16x2 %0, %1, %2;"); Y("mad.lo.s32 %0, %1, %2, %3;"))
CHAIN(sums_and_brains, X("add.rn.f16x2 %0, %1, %2;"); Y("add.rn.bf16x2 %0, %1, %2;"))
CHAIN(least_and_logic, X("min.f16x2 %0, %1, %2;"); Y("add.s32 %0, %1, %2; xor.b32 %0, %0, %3;"))
CHAIN(least_and_halves, X("min.f16x2 %0, %1, %2;"); Y("fma.rn.f16x2 %0, %1, %2, %3;"))
CHAIN(specials, X("ex2.approx.f16x2 %0, %1;"); Y("ex2.approx.f16x2 %0, %1;"))

// Chains that do not depend on each other.
#define ROWS(NAME, COUNT, CODE)                                                               \
    extern "C" __global__ void NAME(pair first, pair a, pair b, int times, pair* out) {       \
        pair all[COUNT], sum = 0;                                                             \
        _Pragma("unroll") for (int k = 0; k < COUNT; ++k) all[k] = first + k;                 \
        for (int i = 0; i < times; i += 32) {                                                 \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) {                                  \
                _Pragma("unroll") for (int k = 0; k < COUNT; ++k) { pair& x = all[k]; CODE; } \
            }                                                                                 \
        }                                                                                     \
        _Pragma("unroll") for (int k = 0; k < COUNT; ++k) sum += all[k];                      \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                     \
    }
ROWS(half_fma_3, 3, X("fma.rn.f16x2 %0, %1, %2, %3;"))
ROWS(half_fma_4, 4, X("fma.rn.f16x2 %0, %1, %2, %3;"))
ROWS(half_fma_8, 8, X("fma.rn.f16x2 %0, %1, %2, %3;"))
ROWS(half_add_4, 4, X("add.rn.f16x2 %0, %1, %2;"))
ROWS(half_mul_4, 4, X("mul.rn.f16x2 %0, %1, %2;"))
