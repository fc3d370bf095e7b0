// Matrix products of warpgroups. Matrices are zero; a warp waits for each group of products before it begins the next one.

// The sums, as operands and as text, and the texts of the operands behind them: descriptors, or registers and a descriptor.
#define FOUR(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define SUMS4 FOUR(0)
#define SUMS12 FOUR(0), FOUR(4), FOUR(8)
#define SUMS32 FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
#define SUMS128 SUMS32, FOUR(32), FOUR(36), FOUR(40), FOUR(44), FOUR(48), FOUR(52), FOUR(56), FOUR(60), FOUR(64), FOUR(68), \
    FOUR(72), FOUR(76), FOUR(80), FOUR(84), FOUR(88), FOUR(92), FOUR(96), FOUR(100), FOUR(104), FOUR(108), FOUR(112), \
    FOUR(116), FOUR(120), FOUR(124)
#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9"
#define UNTIL9 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9"
#define TEXT4 "{%0,%1,%2,%3}"
#define TEXT12 "{" UNTIL9 ",%10,%11}"
#define TEXT32 "{" UNTIL9 "," TEN(1) "," TEN(2) ",%30,%31}"
#define TEXT128 "{" UNTIL9 "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5) "," TEN(6) "," TEN(7) "," TEN(8) "," TEN(9) "," \
    TEN(10) "," TEN(11) ",%120,%121,%122,%123,%124,%125,%126,%127}"
#define SHARED4 "%4, %5"
#define SHARED12 "%12, %13"
#define SHARED32 "%32, %33"
#define SHARED128 "%128, %129"
#define REGISTERS4 "{%4,%5,%6,%7}, %8"
#define REGISTERS12 "{%12,%13,%14,%15}, %16"
#define REGISTERS32 "{%32,%33,%34,%35}, %36"
#define REGISTERS128 "{%128,%129,%130,%131}, %132"

#define SHARED(shape, sums, end) \
    asm volatile("wgmma.mma_async.sync.aligned." shape " " TEXT##sums ", " SHARED##sums ", 1" end ";" : SUMS##sums : "l"(a), "l"(b))
#define REGISTERS(shape, sums, end) \
    asm volatile("wgmma.mma_async.sync.aligned." shape " " TEXT##sums ", " REGISTERS##sums ", 1" end ";" \
        : SUMS##sums : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(b))
#define FENCE asm volatile("wgmma.fence.sync.aligned;" : : : "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory")
#define WAIT(left) asm volatile("wgmma.wait_group.sync.aligned " #left ";" : : : "memory")
#define REPEAT1(product) product
#define REPEAT2(product) product; product
#define REPEAT4(product) REPEAT2(product); REPEAT2(product)
#define REPEAT8(product) REPEAT4(product); REPEAT4(product)

// The descriptor of a matrix without changed places at a place in shared memory: 128 bytes from one block to the next one of the
// depth, 256 to the next rows or columns.
__device__ unsigned long long descriptor(const void* matrix) {
    unsigned long long place = unsigned(__cvta_generic_to_shared(matrix)) & 0x3ffff;
    return place >> 4 | 8ull << 16 | 16ull << 32;
}

__device__ void clear(unsigned* words, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) words[i] = 0;
    asm volatile("fence.proxy.async;" : : : "memory");
    __syncthreads();
}

// `times` groups of `many` products of each warpgroup. `far` is zero, or a distance of the warpgroups' matrices, which the compiler
// cannot know to be the same for the lanes of a warp.
#define PRODUCTS(name, sums, many, product, far) \
    extern "C" __global__ void __launch_bounds__(512) name##_##many(int times, int distance, unsigned zero, unsigned* out) { \
        extern __shared__ __align__(1024) unsigned words[]; \
        clear(words, 8192); \
        unsigned long long a = descriptor(words) + (far), b = a + 128; \
        unsigned x[4] = {zero, zero * 3, zero * 5, zero * 7}, d[sums]; \
        _Pragma("unroll") for (int i = 0; i < sums; ++i) d[i] = zero; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i) { FENCE; REPEAT##many(product); COMMIT; WAIT(0); } \
        unsigned all = unsigned(a) * zero + x[0]; \
        _Pragma("unroll") for (int i = 0; i < sums; ++i) all += d[i]; \
        out[threadIdx.x] = all; \
    }
#define BOTH(name, sums, product) PRODUCTS(name, sums, 1, product, 0) PRODUCTS(name, sums, 8, product, 0)
#define HALF(columns) "m64n" #columns "k16.f32.f16.f16"
BOTH(shared_8, 4, SHARED(HALF(8), 4, ", 1, 1, 0, 0"))
BOTH(shared_24, 12, SHARED(HALF(24), 12, ", 1, 1, 0, 0"))
BOTH(shared_64, 32, SHARED(HALF(64), 32, ", 1, 1, 0, 0"))
BOTH(registers_8, 4, REGISTERS(HALF(8), 4, ", 1, 1, 0"))
BOTH(registers_24, 12, REGISTERS(HALF(24), 12, ", 1, 1, 0"))
BOTH(registers_64, 32, REGISTERS(HALF(64), 32, ", 1, 1, 0"))
PRODUCTS(tf32_64, 32, 8, SHARED("m64n64k8.f32.tf32.tf32", 32, ", 1, 1"), 0)
PRODUCTS(bytes_64, 32, 8, SHARED("m64n64k32.s32.s8.s8", 32, ""), 0)
BOTH(short_8, 4, SHARED("m64n8k32.f32.e4m3.e4m3", 4, ", 1, 1"))
BOTH(short_64, 32, SHARED("m64n64k32.f32.e4m3.e4m3", 32, ", 1, 1"))
BOTH(short_registers_64, 32, REGISTERS("m64n64k32.f32.e4m3.e5m2", 32, ", 1, 1"))
PRODUCTS(lanes_64, 32, 1, SHARED(HALF(64), 32, ", 1, 1, 0, 0"), threadIdx.x / 128 * distance)
PRODUCTS(lanes_64, 32, 8, SHARED(HALF(64), 32, ", 1, 1, 0, 0"), threadIdx.x / 128 * distance)

// The same with sums for 256 columns, which leave room for fewer warps.
#define LARGE(name, many, product) \
    extern "C" __global__ void __launch_bounds__(256) name##_##many(int times, int distance, unsigned zero, unsigned* out) { \
        extern __shared__ __align__(1024) unsigned words[]; \
        clear(words, 8192); \
        unsigned long long a = descriptor(words), b = a + 128; \
        unsigned x[4] = {zero, zero * 3, zero * 5, zero * 7}, d[128]; \
        _Pragma("unroll") for (int i = 0; i < 128; ++i) d[i] = zero; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i) { FENCE; REPEAT##many(product); COMMIT; WAIT(0); } \
        unsigned all = unsigned(a) * zero + x[0]; \
        _Pragma("unroll") for (int i = 0; i < 128; ++i) all += d[i]; \
        out[threadIdx.x] = all; \
    }
LARGE(shared_256, 1, SHARED(HALF(256), 128, ", 1, 1, 0, 0"))
LARGE(shared_256, 8, SHARED(HALF(256), 128, ", 1, 1, 0, 0"))
LARGE(registers_256, 1, REGISTERS(HALF(256), 128, ", 1, 1, 0"))
LARGE(registers_256, 8, REGISTERS(HALF(256), 128, ", 1, 1, 0"))
LARGE(short_256, 1, SHARED("m64n256k32.f32.e4m3.e4m3", 128, ", 1, 1"))
LARGE(short_256, 8, SHARED("m64n256k32.f32.e4m3.e4m3", 128, ", 1, 1"))

// A chain of `steps` multiply-adds, a multiple of 16, between products of 64 columns and the wait for these.
#define BEHIND(many) \
    extern "C" __global__ void __launch_bounds__(128) behind_##many(int times, int steps, unsigned zero, unsigned* out) { \
        extern __shared__ __align__(1024) unsigned words[]; \
        clear(words, 8192); \
        unsigned long long a = descriptor(words), b = a + 128; \
        unsigned d[32]; \
        float chain = zero; \
        _Pragma("unroll") for (int i = 0; i < 32; ++i) d[i] = zero; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; ++i) { \
            FENCE; REPEAT##many(SHARED(HALF(64), 32, ", 1, 1, 0, 0")); COMMIT; \
            _Pragma("unroll 1") \
            for (int j = 0; j < steps; j += 16) { \
                _Pragma("unroll") for (int k = 0; k < 16; ++k) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(chain)); \
            } \
            WAIT(0); \
        } \
        unsigned all = __float_as_uint(chain) * zero; \
        _Pragma("unroll") for (int i = 0; i < 32; ++i) all += d[i]; \
        out[threadIdx.x] = all; \
    }
BEHIND(1)
BEHIND(2)
BEHIND(4)
BEHIND(8)

// One warpgroup makes groups of eight products, `times` of them; the warps behind it load from shared memory, four loads at once,
// `loads` times for each group: a little longer than the products take.
#define BESIDE(name, sums, loads, product) \
    extern "C" __global__ void __launch_bounds__(384) beside_##name(int times, int distance, unsigned zero, unsigned* out) { \
        extern __shared__ __align__(1024) unsigned words[]; \
        clear(words, 8192); \
        unsigned all = 0; \
        if (threadIdx.x < 128) { \
            unsigned long long a = descriptor(words), b = a + 128; \
            unsigned x[4] = {zero, zero * 3, zero * 5, zero * 7}, d[sums]; \
            _Pragma("unroll") for (int i = 0; i < sums; ++i) d[i] = zero; \
            _Pragma("unroll 1") \
            for (int i = 0; i < times; ++i) { FENCE; REPEAT8(product); COMMIT; WAIT(0); } \
            _Pragma("unroll") for (int i = 0; i < sums; ++i) all += d[i]; \
            all += unsigned(a) * zero + x[0]; \
        } else { \
            unsigned place = unsigned(__cvta_generic_to_shared(words)) + 4 * (threadIdx.x - 128); \
            _Pragma("unroll 1") \
            for (int i = 0; i < times * loads; ++i) { \
                unsigned w[4]; \
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(place + all)); \
                asm volatile("ld.shared.u32 %0, [%1+1024];" : "=r"(w[1]) : "r"(place + all)); \
                asm volatile("ld.shared.u32 %0, [%1+2048];" : "=r"(w[2]) : "r"(place + all)); \
                asm volatile("ld.shared.u32 %0, [%1+3072];" : "=r"(w[3]) : "r"(place + all)); \
                all += w[0] + w[1] + w[2] + w[3]; \
            } \
        } \
        out[threadIdx.x] = all; \
    }
BESIDE(shared_24, 12, 6, SHARED(HALF(24), 12, ", 1, 1, 0, 0"))
BESIDE(shared_64, 32, 8, SHARED(HALF(64), 32, ", 1, 1, 0, 0"))
BESIDE(none, 32, 8, )
BESIDE(registers_64, 32, 8, REGISTERS(HALF(64), 32, ", 1, 1, 0"))
BESIDE(shared_256, 128, 24, SHARED(HALF(256), 128, ", 1, 1, 0, 0"))
