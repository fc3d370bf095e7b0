// A matrix product of floating-point numbers of 8 bits on the tensor cores of Hopper: C = A B', both with what is multiplied side by side. A
// thread of the first warpgroup has boxes of A and B copied to shared memory (`cp.async.bulk.tensor`); two other warpgroups multiply
// (`wgmma`), each 64 rows of a tile of 128 by 128. A sum of such products keeps 14 bits in a tensor core, so that the sums of each tile of
// 128 columns are added up in single precision.
typedef unsigned char number;
typedef unsigned long long descriptor;
typedef unsigned long long barrier;
struct alignas(64) tensor_map { unsigned long long words[16]; };

constexpr int TILE = 128, DEPTH = 128, STAGES = 4, MULTIPLIERS = 2, THREADS = (1 + MULTIPLIERS) * 128;
constexpr int TILE_BYTES = TILE * DEPTH;

__device__ unsigned place_of(const void* variable) { return unsigned(__cvta_generic_to_shared(variable)); }

__device__ void init(barrier& one, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(place_of(&one)), "r"(arrivals) : "memory");
}
__device__ void arrive(barrier& one) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(place_of(&one)) : "memory");
}
__device__ void expect(barrier& one, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(place_of(&one)), "r"(bytes) : "memory");
}
__device__ void wait(barrier& one, int parity) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(place_of(&one)), "r"(parity) : "memory");
    } while (!done);
}
__device__ void copy(number* to, const tensor_map& map, int column, int row, barrier& one) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        : : "r"(place_of(to)), "l"(&map), "r"(column), "r"(row), "r"(place_of(&one)) : "memory");
}

// Of a matrix that begins there, with patterns of 128 bytes: eight rows of a pattern after the other.
__device__ descriptor matrix(const number* first) {
    unsigned place = place_of(first) & 0x3ffff;
    return descriptor(place >> 4) | 1ull << 16 | descriptor(8 * 128 >> 4) << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9,"

// 64 by 128 numbers, 32 deep; added to what was there, or not.
__device__ void multiply(float (&sums)[64], descriptor a, descriptor b, int adds) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,"
        TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60,%61,%62,%63}, %64, %65, p, 1, 1; }"
        : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48) : "l"(a), "l"(b), "r"(adds));
}

// Rows, columns and `depth`, the columns of A and B, are multiples of 128. Boxes have 128 columns and 128 rows; C lies row by row.
extern "C" __global__ void __launch_bounds__(THREADS)
fp8_matmul(int columns, int depth, const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b, float* c) {
    extern __shared__ __align__(1024) number tiles[];
    __shared__ barrier come[STAGES], used[STAGES];
    number *a_tiles = tiles, *b_tiles = tiles + STAGES * TILE_BYTES;
    int thread = threadIdx.x, group = thread / 128 - 1;
    int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE, count = depth / DEPTH;
    if (thread == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init(come[stage], 1);
            init(used[stage], MULTIPLIERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    __syncthreads();

    if (group < 0) {
        if (thread != 0) return;
        for (int tile = 0; tile < count; ++tile) {
            int stage = tile % STAGES, start = tile * DEPTH;
            // The place is free from the start in the first round.
            wait(used[stage], tile / STAGES % 2 ^ 1);
            expect(come[stage], 2 * TILE_BYTES);
            copy(a_tiles + stage * TILE_BYTES, a, start, first_row, come[stage]);
            copy(b_tiles + stage * TILE_BYTES, b, start, first_column, come[stage]);
        }
        return;
    }

    float sums[64], totals[64] = {};
    for (int tile = 0; tile < count; ++tile) {
        int stage = tile % STAGES, place = stage * TILE_BYTES;
        wait(come[stage], tile / STAGES % 2);
        descriptor of_a = matrix(&a_tiles[place + group * 64 * DEPTH]), of_b = matrix(&b_tiles[place]);
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
        #pragma unroll
        for (int step = 0; step < DEPTH / 32; ++step) multiply(sums, of_a + step * 32 / 16, of_b + step * 32 / 16, step);
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
        if (thread % 128 == 0) arrive(used[stage]);
        #pragma unroll
        for (int i = 0; i < 64; ++i) totals[i] += sums[i];
    }
    int row = first_row + group * 64 + thread % 128 / 32 * 16 + thread % 32 / 4;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        int column = first_column + 8 * i + thread % 4 * 2;
        *reinterpret_cast<float2*>(c + row * columns + column) = make_float2(totals[4 * i], totals[4 * i + 1]);
        *reinterpret_cast<float2*>(c + (row + 8) * columns + column) = make_float2(totals[4 * i + 2], totals[4 * i + 3]);
    }
}
