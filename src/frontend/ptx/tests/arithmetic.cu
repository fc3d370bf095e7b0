// Arithmetic of every kind, one kernel for each. `arithmetic.ptx` is what NVRTC 13 makes of it for
// compute_80 with --device-int128, without blank lines.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const float *in, float *out) {
    int i = threadIdx.x;
    __half a = __float2half(in[i]), b = __float2half_rz(in[i + 32]);
    __half2 c = __halves2half2(a, b), d = __floats2half2_rn(in[i + 32], in[i]);
    __half2 e = __hfma2(c, d, __hadd2_sat(c, d));
    __half f = __hfma_sat(a, b, __hmul(a, b));
    __half g = __hmax(__hsub(a, b), __hmin(__habs(a), __hneg(b)));
    __half k = __hdiv(a, b) + hexp2(a) + hsqrt(__habs(b)) + htanh_approx(a);
    if (__hlt(a, b)) g = __hadd(g, __int2half_rn(i * 100));
    if (__hbgt2(c, d)) g = __hmul(g, __ushort2half_rz(3));
    float2 h = __half22float2(__hgt2(c, d));
    out[8 * i] = __half2float(__low2half(e));
    out[8 * i + 1] = __high2float(e);
    out[8 * i + 2] = __half2float(f);
    out[8 * i + 3] = __half2float(g);
    out[8 * i + 4] = __half2float(k);
    out[8 * i + 5] = h.x + 2 * h.y;
    out[8 * i + 6] = (float)__half2int_rd(b) + (float)__half2ll_ru(a);
    out[8 * i + 7] = __half2float(hrint(a)) + __half2float(hfloor(b));
}

extern "C" __global__ void brains(const float *in, float *out) {
    int i = threadIdx.x;
    __nv_bfloat16 a = __float2bfloat16(in[i]), b = __float2bfloat16_rz(in[i + 32]);
    __nv_bfloat162 c = __halves2bfloat162(a, b), d = __floats2bfloat162_rn(in[i + 32], in[i]);
    __nv_bfloat162 e = __hfma2_relu(c, d, __hadd2(c, d));
    __nv_bfloat16 f = __hmax_nan(__hsub(a, b), __hmul(a, b));
    if (__heq(a, b)) f = __hneg(f);
    out[8 * i] = __low2float(e);
    out[8 * i + 1] = __high2float(e);
    out[8 * i + 2] = __bfloat162float(f);
    out[8 * i + 3] = (float)__bfloat162int_rz(b);
    out[8 * i + 4] = __bfloat162float(__int2bfloat16_rn(i * 12345));
    out[8 * i + 5] = __bfloat162float(h2exp2(c).x);
    out[8 * i + 6] = __bfloat162float(hsqrt(__habs(b)));
    out[8 * i + 7] = __bfloat162float(__hdiv(a, b));
}

extern "C" __global__ void directions(const double *in, double *out) {
    int i = threadIdx.x;
    double a = in[i], b = in[i + 32];
    float x = (float)a, y = (float)b;
    out[8 * i] = __dadd_ru(a, b) - __dsub_rd(a, b);
    out[8 * i + 1] = __dmul_rz(a, b);
    out[8 * i + 2] = __fma_ru(a, b, a);
    out[8 * i + 3] = __ddiv_rd(a, b) + __dsqrt_ru(fabs(a)) + __drcp_rz(b);
    out[8 * i + 4] = __fadd_rz(x, y) + (double)__fmul_ru(x, y) + __fmaf_rd(x, y, x);
    out[8 * i + 5] = __fdiv_ru(x, y) + (double)__fsqrt_rd(fabsf(x)) + __frcp_rz(y);
    out[8 * i + 6] = (double)__double2uint_rd(a) + __double2ll_ru(b) + __float2int_rn(x);
    out[8 * i + 7] = __double2float_rz(a) + (double)__ll2float_ru(1234567890123ll + i) + __uint2float_rd(0xffffff01u + i);
}

extern "C" __global__ void integers(const unsigned long long *in, unsigned long long *out) {
    int i = threadIdx.x;
    unsigned long long a = in[i], b = in[i + 32];
    unsigned __int128 p = (unsigned __int128)a * b + ((unsigned __int128)b << 64 | a);
    p -= (unsigned __int128)(a ^ b) << 17;
    unsigned x = a, y = b;
    out[8 * i] = p;
    out[8 * i + 1] = p >> 64;
    out[8 * i + 2] = (unsigned long long)(p / (b | 1));
    out[8 * i + 3] = __dp4a((int)x, (int)y, 7) + ((unsigned long long)__dp4a(x, y, 9u) << 32);
    out[8 * i + 4] = __dp2a_lo((int)x, (int)y, 7) ^ __dp2a_hi(x, y, 9u);
    out[8 * i + 5] = __byte_perm(x, y, 0x1640) + ((unsigned long long)__funnelshift_r(x, y, i) << 32);
    out[8 * i + 6] = __usad(x, y, 3) + ((unsigned long long)__mul24(x, y) << 32) + __fns(x, i, 2);
    out[8 * i + 7] = __ffsll(a) + __clzll(b) * 100 + __brev(x) + __mulhi((int)x, (int)y) + __vadd2(x, y) + __vmaxs4(x, y);
}

extern "C" __global__ void functions(const double *in, double *out) {
    int i = threadIdx.x;
    double a = in[i], b = in[i + 32];
    double *o = out + 24 * i;
    o[0] = sin(a);
    o[1] = cos(b * 1000);
    o[2] = exp(b);
    o[3] = pow(fabs(a) + 0.5, b);
    o[4] = log(fabs(a) + 1e-300);
    o[5] = fmod(a, b);
    o[6] = cbrt(a);
    o[7] = erf(b);
    o[8] = tgamma(fabs(b) + 1);
    o[9] = a / b;
    o[10] = sqrt(fabs(a));
    o[11] = rsqrt(fabs(b));
    o[12] = atan2(a, b);
    o[13] = tanh(b);
    float x = (float)a, y = (float)b;
    o[14] = sinf(x);
    o[15] = expf(y);
    o[16] = powf(fabsf(x) + 0.5f, y);
    o[17] = logf(fabsf(x) + 1);
    o[18] = x / y;
    o[19] = sqrtf(fabsf(x));
    o[20] = fmodf(x, y);
    o[21] = __expf(y) + __logf(fabsf(x) + 1) + __fdividef(x, y);
    o[22] = __sinf(y) * __cosf(y) + rsqrtf(fabsf(y)) + __tanf(0.5f);
    o[23] = __saturatef(x) + fminf(x, y) + fmaxf(x, y) + copysignf(x, y) + (signbit(y) ? 1 : 0);
}
