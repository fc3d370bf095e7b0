// Arithmetic: a chain of `times` operations, a multiple of 32, each on the result of the one before. One warp shows the
// latency, a full SM the throughput.
#define CHAIN(NAME, TYPE, CODE)                                                               \
    extern "C" __global__ void NAME(TYPE first, TYPE a, TYPE b, int times, TYPE* out) {       \
        TYPE x = first;                                                                       \
        for (int i = 0; i < times; i += 32) {                                                 \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) { CODE; }                          \
        }                                                                                     \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x;                                       \
    }
#define R(OP) asm volatile(OP : "+r"(x) : "r"(a), "r"(b))
#define F(OP) asm volatile(OP : "+f"(x) : "f"(a), "f"(b))
#define D(OP) asm volatile(OP : "+d"(x) : "d"(a), "d"(b))
#define L(OP) asm volatile(OP : "+l"(x) : "l"(a), "l"(b))

// Two operations a step: additions alone would be joined.
CHAIN(int_add, int, R("add.s32 %0, %0, %1; xor.b32 %0, %0, %2;"))
CHAIN(int_shift, int, R("shl.b32 %0, %0, %1; xor.b32 %0, %0, %2;"))
CHAIN(int_min, int, R("min.s32 %0, %0, %1; xor.b32 %0, %0, %2;"))
CHAIN(int_select, int, R("{ .reg .pred p; setp.lt.s32 p, %0, %1; selp.b32 %0, %1, %2, p; }"))
CHAIN(int_mul, int, R("mul.lo.s32 %0, %0, %1;"))
CHAIN(int_mad, int, R("mad.lo.s32 %0, %0, %1, %2;"))
CHAIN(int_mul_high, int, R("mul.hi.s32 %0, %0, %1; xor.b32 %0, %0, %2;"))
CHAIN(int_div, int, R("div.s32 %0, %1, %0;"))
CHAIN(int_popc, int, R("popc.b32 %0, %0;"))
CHAIN(long_add, long long, L("add.s64 %0, %0, %1; xor.b64 %0, %0, %2;"))
CHAIN(long_mul, long long, L("mul.lo.s64 %0, %0, %1;"))
CHAIN(float_add, float, F("add.rn.f32 %0, %0, %1;"))
CHAIN(float_mul, float, F("mul.rn.f32 %0, %0, %1;"))
CHAIN(float_fma, float, F("fma.rn.f32 %0, %0, %1, %2;"))
CHAIN(float_div, float, F("div.rn.f32 %0, %1, %0;"))
CHAIN(float_sqrt, float, F("sqrt.rn.f32 %0, %0;"))
CHAIN(float_convert, float, F("{ .reg .s32 t; cvt.rzi.s32.f32 t, %0; cvt.rn.f32.s32 %0, t; }"))
CHAIN(float_ex2, float, F("ex2.approx.ftz.f32 %0, %0;"))
CHAIN(float_rsqrt, float, F("rsqrt.approx.ftz.f32 %0, %0;"))
CHAIN(double_add, double, D("add.rn.f64 %0, %0, %1;"))
CHAIN(double_mul, double, D("mul.rn.f64 %0, %0, %1;"))
CHAIN(double_fma, double, D("fma.rn.f64 %0, %0, %1, %2;"))
CHAIN(double_div, double, D("div.rn.f64 %0, %1, %0;"))
