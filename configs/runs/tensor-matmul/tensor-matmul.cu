// A matrix product on tensor cores: C = A B, of half precision, added up in single precision. A CTA of four warps makes 64 by 64 numbers
// of C. While it multiplies one tile of A and of B, the next ones are copied to shared memory; `ldmatrix` reads them from there.
typedef unsigned short half_bits;

constexpr int TILE = 64, DEPTH = 32;

// Places in the tiles, in numbers. Groups of eight change places, so that eight rows of a matrix of eight by eight lie in different
// banks, and so do the groups that eight threads copy.
__device__ int place_in_a(int row, int column) { return row * DEPTH + (column / 8 ^ row / 2 % 4) * 8; }
__device__ int place_in_b(int row, int column) { return row * TILE + (column / 8 ^ row % 8) * 8; }

__device__ void copy(half_bits* to, const half_bits* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

__device__ void load(unsigned (&registers)[4], const half_bits* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
        : "r"(unsigned(__cvta_generic_to_shared(row))) : "memory");
}

__device__ void load_transposed(unsigned (&registers)[4], const half_bits* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
        : "r"(unsigned(__cvta_generic_to_shared(row))) : "memory");
}

__device__ void multiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Rows and columns are multiples of 64, and `depth`, the columns of A and rows of B, is one of 32. All matrices are row by row.
extern "C" __global__ void __launch_bounds__(128)
tensor_matmul(int columns, int depth, const half_bits* a, const half_bits* b, float* c) {
    __shared__ __align__(128) half_bits a_tile[2][TILE * DEPTH];
    __shared__ __align__(128) half_bits b_tile[2][DEPTH * TILE];
    int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;

    auto fetch = [&](int tile) {
        int start = tile * DEPTH, place = tile % 2;
        for (int i = thread; i < TILE * DEPTH / 8; i += 128) {
            int row = i / (DEPTH / 8), column = i % (DEPTH / 8) * 8;
            copy(&a_tile[place][place_in_a(row, column)], a + (first_row + row) * depth + start + column);
        }
        for (int i = thread; i < TILE * DEPTH / 8; i += 128) {
            int row = i / (TILE / 8), column = i % (TILE / 8) * 8;
            copy(&b_tile[place][place_in_b(row, column)], b + (start + row) * columns + first_column + column);
        }
        asm volatile("cp.async.commit_group;" : : : "memory");
    };

    // A warp has 32 by 32 numbers: two by four products of 16 by 8.
    int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
    float sums[2][4][4] = {};
    int tiles = depth / DEPTH;
    fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(tile + 1);
            asm volatile("cp.async.wait_group 1;" : : : "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" : : : "memory");
        }
        __syncthreads();
        #pragma unroll
        for (int step = 0; step < DEPTH; step += 16) {
            unsigned of_a[2][4], of_b[2][4];
            for (int i = 0; i < 2; ++i) {
                load(of_a[i], &a_tile[tile % 2][place_in_a(warp_row + 16 * i + lane % 16, step + lane / 16 * 8)]);
                load_transposed(of_b[i], &b_tile[tile % 2][place_in_b(step + lane % 16, warp_column + 16 * i + lane / 16 * 8)]);
            }
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 4; ++j) multiply(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
            int row = first_row + warp_row + 16 * i + lane / 4, column = first_column + warp_column + 8 * j + lane % 4 * 2;
            *reinterpret_cast<float2*>(c + row * columns + column) = make_float2(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<float2*>(c + (row + 8) * columns + column) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
