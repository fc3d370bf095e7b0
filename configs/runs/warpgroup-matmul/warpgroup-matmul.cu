// A matrix product on the tensor cores of Hopper: C = A B, of half precision, added up in single precision. A CTA of two warpgroups makes
// 128 by 128 numbers of C. Tiles of A and B are copied to shared memory, four of each at most; the tensor cores read them there
// (`wgmma`), while the warps see to the next copies.
typedef unsigned short half_bits;
typedef unsigned long long descriptor;

constexpr int TILE = 128, DEPTH = 64, STAGES = 4, THREADS = 256;
// Numbers in 128 bytes, a row of the patterns in which pieces of 16 bytes change places.
constexpr int ROW = 64, PIECE = 8;

// Places in the tiles, in numbers: rows of 128 bytes, whose pieces change places by the row's number. A row of A's tile has 64 numbers of
// one row, a row of B's the same of one of its rows: first those of columns 0 to 63, then those of columns 64 to 127.
__device__ int place_in_a(int row, int column) { return row * ROW + (column / PIECE ^ row % 8) * PIECE; }
__device__ int place_in_b(int row, int column) {
    return column / ROW * DEPTH * ROW + row * ROW + (column % ROW / PIECE ^ row % 8) * PIECE;
}

__device__ void copy(half_bits* to, const half_bits* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

// Of a matrix that begins there, with patterns of 128 bytes: eight rows of a pattern after the other, and 64 columns after others.
__device__ descriptor matrix(const half_bits* first, unsigned columns_apart) {
    unsigned place = unsigned(__cvta_generic_to_shared(first)) & 0x3ffff;
    return descriptor(place >> 4) | descriptor(columns_apart >> 4) << 16 | descriptor(8 * 128 >> 4) << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9,"

// 64 by 128 numbers of C, 16 deep.
__device__ void multiply(float (&sums)[64], descriptor a, descriptor b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,"
        TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 1;"
        : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48) : "l"(a), "l"(b));
}

// Rows and columns are multiples of 128, and `depth`, the columns of A and rows of B, is one of 64. All matrices are row by row.
extern "C" __global__ void __launch_bounds__(THREADS)
warpgroup_matmul(int columns, int depth, const half_bits* a, const half_bits* b, float* c) {
    extern __shared__ __align__(1024) half_bits tiles[];
    half_bits *a_tiles = tiles, *b_tiles = tiles + STAGES * TILE * DEPTH;
    int thread = threadIdx.x, group = thread / 128;
    int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE, count = depth / DEPTH;

    auto fetch = [&](int tile) {
        if (tile < count) {
            int start = tile * DEPTH, stage = tile % STAGES * TILE * DEPTH;
            #pragma unroll
            for (int i = 0; i < TILE * DEPTH / PIECE / THREADS; ++i) {
                int piece = i * THREADS + thread;
                int row = piece / (DEPTH / PIECE), column = piece % (DEPTH / PIECE) * PIECE;
                copy(&a_tiles[stage + place_in_a(row, column)], a + (first_row + row) * depth + start + column);
            }
            #pragma unroll
            for (int i = 0; i < TILE * DEPTH / PIECE / THREADS; ++i) {
                int piece = i * THREADS + thread;
                int row = piece / (TILE / PIECE), column = piece % (TILE / PIECE) * PIECE;
                copy(&b_tiles[stage + place_in_b(row, column)], b + (start + row) * columns + first_column + column);
            }
        }
        asm volatile("cp.async.commit_group;" : : : "memory");
    };

    float sums[64] = {};
    fetch(0);
    fetch(1);
    for (int tile = 0; tile < count; ++tile) {
        // This tile has come, and the products of the last but one are made, of both warpgroups: its place is free.
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" : : : "memory");
        __syncthreads();
        int stage = tile % STAGES * TILE * DEPTH;
        descriptor of_a = matrix(&a_tiles[stage + group * 64 * ROW], 16), of_b = matrix(&b_tiles[stage], DEPTH * 128);
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
        #pragma unroll
        for (int step = 0; step < DEPTH / 16; ++step) multiply(sums, of_a + step * 32 / 16, of_b + step * 16 * 128 / 16);
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
        fetch(tile + 2);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
    int row = first_row + thread / 32 * 16 + thread % 32 / 4;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        int column = first_column + 8 * i + thread % 4 * 2;
        *reinterpret_cast<float2*>(c + row * columns + column) = make_float2(sums[4 * i], sums[4 * i + 1]);
        *reinterpret_cast<float2*>(c + (row + 8) * columns + column) = make_float2(sums[4 * i + 2], sums[4 * i + 3]);
    }
}
