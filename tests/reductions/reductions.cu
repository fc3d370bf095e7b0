// Bulk copies that combine numbers with those in global memory: each kernel brings 4,096 bytes to shared memory, and one thread has them
// combined with as many others, or with a box of a tensor.
typedef unsigned u32;
struct alignas(64) tensor_map { unsigned long long words[16]; };
__device__ u32 place_of(const void* variable) { return u32(__cvta_generic_to_shared(variable)); }

#define BRING \
    __shared__ alignas(1024) u32 data[1024]; \
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) data[i] = from[i]; \
    asm volatile("fence.proxy.async;" : : : "memory"); \
    __syncthreads(); \
    if (threadIdx.x != 0) return;
#define DONE \
    asm volatile("cp.async.bulk.commit_group;" : : : "memory"); \
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");

#define BYTES(name, operation) \
    extern "C" __global__ void name(const u32* from, char* to) { \
        BRING \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation " [%0], [%1], 4096;" \
            : : "l"(to), "r"(place_of(data)) : "memory"); \
        DONE \
    }
BYTES(add_u32, "add.u32")
BYTES(add_s32, "add.s32")
BYTES(add_u64, "add.u64")
BYTES(add_f16, "add.noftz.f16")
BYTES(add_bf16, "add.noftz.bf16")
BYTES(add_f32, "add.f32")
BYTES(add_f64, "add.f64")
BYTES(min_u32, "min.u32")
BYTES(min_s32, "min.s32")
BYTES(min_u64, "min.u64")
BYTES(min_s64, "min.s64")
BYTES(min_f16, "min.f16")
BYTES(min_bf16, "min.bf16")
BYTES(max_u32, "max.u32")
BYTES(max_s32, "max.s32")
BYTES(max_u64, "max.u64")
BYTES(max_s64, "max.s64")
BYTES(max_f16, "max.f16")
BYTES(max_bf16, "max.bf16")
BYTES(inc_u32, "inc.u32")
BYTES(dec_u32, "dec.u32")
BYTES(and_b32, "and.b32")
BYTES(or_b32, "or.b32")
BYTES(xor_b32, "xor.b32")
BYTES(and_b64, "and.b64")
BYTES(or_b64, "or.b64")
BYTES(xor_b64, "xor.b64")

#define BOX(operation) \
    extern "C" __global__ void box_##operation(const u32* from, int x, int y, const __grid_constant__ tensor_map map) { \
        BRING \
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #operation ".tile.bulk_group [%0, {%1, %2}], [%3];" \
            : : "l"(&map), "r"(x), "r"(y), "r"(place_of(data)) : "memory"); \
        DONE \
    }
BOX(add)
BOX(min)
BOX(max)
BOX(inc)
BOX(dec)
BOX(and)
BOX(or)
BOX(xor)
