// Instructions that look across the lanes of a warp: a chain of `times` operations, a multiple of 32, each on the result of the one
// before. One warp shows the latency, a full SM the throughput.
#define CHAIN(NAME, FIRST, CODE)                                                              \
    extern "C" __global__ void NAME(unsigned first, unsigned a, int times, unsigned* out) {   \
        unsigned lane = threadIdx.x % 32, x = FIRST;                                          \
        _Pragma("unroll 1") for (int i = 0; i < times; i += 32) {                             \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) { CODE; }                          \
        }                                                                                     \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x + lane;                                \
    }
#define STEP(OP) asm volatile(OP : "+r"(x) : "r"(a))

CHAIN(shuffle_xor, first + lane, STEP("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;"))
CHAIN(shuffle_index, first + lane, STEP("shfl.sync.idx.b32 %0, %0, %0, 0x1f, 0xffffffff;"))
// A comparison and a vote on it.
CHAIN(vote_ballot, first + lane,
    STEP("{ .reg .pred p; setp.ne.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff; }"))
CHAIN(vote_any, first + lane,
    STEP("{ .reg .pred p; setp.ne.u32 p, %0, %1; vote.sync.any.pred p, p, 0xffffffff; selp.b32 %0, %0, %1, p; }"))
// A value that all lanes have, and one for each lane.
CHAIN(match_any_of_one, first, STEP("match.any.sync.b32 %0, %0, 0xffffffff;"))
CHAIN(match_any_of_all, first + lane, STEP("match.any.sync.b32 %0, %0, 0xffffffff;"))
CHAIN(match_any_of_pairs, (first + lane) / 2, STEP("match.any.sync.b32 %0, %0, 0xffffffff;"))
CHAIN(match_any_of_fours, (first + lane) / 8, STEP("match.any.sync.b32 %0, %0, 0xffffffff;"))
CHAIN(match_all, first, STEP("match.all.sync.b32 %0, %0, 0xffffffff;"))
CHAIN(reduce_add, first + lane, STEP("redux.sync.add.u32 %0, %0, 0xffffffff;"))
CHAIN(reduce_min, first + lane, STEP("redux.sync.min.u32 %0, %0, 0xffffffff;"))
CHAIN(reduce_and, first + lane, STEP("redux.sync.and.b32 %0, %0, 0xffffffff;"))
// The same on what differs between lanes again.
CHAIN(reduce_add_of_all, first + lane, STEP("redux.sync.add.u32 %0, %0, 0xffffffff;"); x += lane)
CHAIN(elect, first + lane,
    STEP("{ .reg .pred p; .reg .b32 t; elect.sync t|p, 0xffffffff; selp.b32 %0, %0, %1, p; }"))

// Rows of operations on eight values that do not need each other: `times` in all, alone or two kinds of them side by side.
#define ROWS(NAME, CODE)                                                                      \
    extern "C" __global__ void NAME(unsigned first, unsigned a, int times, unsigned* out) {   \
        __shared__ unsigned words[1024];                                                      \
        unsigned x[8], y[8];                                                                  \
        float z[8];                                                                           \
        words[threadIdx.x] = first;                                                           \
        __syncthreads();                                                                      \
        unsigned place = unsigned(__cvta_generic_to_shared(words + threadIdx.x));             \
        for (int k = 0; k < 8; ++k) { x[k] = first + k + threadIdx.x; y[k] = x[k] * a; z[k] = float(x[k]); } \
        _Pragma("unroll 1") for (int i = 0; i < times; i += 32) {                             \
            _Pragma("unroll") for (int j = 0; j < 32; ++j) { const int k = j % 8; CODE; }     \
        }                                                                                     \
        for (int k = 1; k < 8; ++k) x[0] += x[k] + y[k] + unsigned(z[k]);                     \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x[0] + y[0] + unsigned(z[0]);            \
    }
#define SHUFFLE asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(x[k]))
#define SPECIAL asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(z[k]))
#define LOAD asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(y[k]) : "r"(place) : "memory")
#define MATCH asm volatile("match.any.sync.b32 %0, %0, 0xffffffff;" : "+r"(y[k]))
#define REDUCE asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(y[k]))
#define ADD asm volatile("add.u32 %0, %0, %1;" : "+r"(y[k]) : "r"(a))

ROWS(shuffles, SHUFFLE)
ROWS(shuffles_and_loads, SHUFFLE; LOAD)
ROWS(shuffles_and_specials, SHUFFLE; SPECIAL)
ROWS(shuffles_and_additions, SHUFFLE; ADD)
ROWS(reductions, REDUCE)
ROWS(reductions_and_shuffles, REDUCE; SHUFFLE)
ROWS(reductions_and_specials, REDUCE; SPECIAL)
ROWS(matches_and_shuffles, MATCH; SHUFFLE)
ROWS(matches_and_specials, MATCH; SPECIAL)
