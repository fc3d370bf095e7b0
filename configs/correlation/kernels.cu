// Kernels of common kinds, for holding the simulator against a GPU.

// Two loads and a store an element, nothing else.
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// Rows are read, columns written: 32 lines a store.
extern "C" __global__ void transpose_plain(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

// The same through a tile of shared memory, padded against bank conflicts.
extern "C" __global__ void transpose_tiled(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Sums of a grid-stride loop, by shuffles and shared memory, one atomic a CTA.
extern "C" __global__ void reduce(const int* in, int* out, int n) {
    __shared__ int sums[32];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
        if (lane == 0) atomicAdd(out, sum);
    }
}

// 256 counters a CTA in shared memory, then added to those of all.
extern "C" __global__ void histogram(const unsigned* in, unsigned* counts, int n) {
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned word = in[i];
        for (int shift = 0; shift < 32; shift += 8) atomicAdd(&mine[word >> shift & 255], 1);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// Forces between all pairs: arithmetic, and tiles of shared memory that all threads read alike.
extern "C" __global__ void bodies(const float4* in, float4* out, int n) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = in[i];
    float x = 0, y = 0, z = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        #pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float square = dx * dx + dy * dy + dz * dz + 0.01f;
            float inverse = __frcp_rn(square);
            float force = other.w * inverse;
            x += dx * force;
            y += dy * force;
            z += dz * force;
        }
        __syncthreads();
    }
    out[i] = make_float4(x, y, z, me.w);
}

// Threads of a warp leave the loop at different times.
extern "C" __global__ void mandelbrot(int* out, int width, int height, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    float cx = 3.0f * i / width - 2.0f, cy = 2.0f * j / height - 1.0f, x = 0, y = 0;
    int steps = 0;
    while (steps < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++steps;
    }
    out[j * width + i] = steps;
}

// Rows of a matrix, a warp each: the greatest element, the sum, the quotient. Integers, so that every order is right.
extern "C" __global__ void rows(const int* in, int* out, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int* mine = in + row * columns;
    int greatest = mine[lane], sum = 0;
    for (int i = lane; i < columns; i += 32) greatest = max(greatest, mine[i]);
    for (int step = 16; step > 0; step /= 2) greatest = max(greatest, __shfl_xor_sync(~0u, greatest, step));
    for (int i = lane; i < columns; i += 32) sum += greatest - mine[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    for (int i = lane; i < columns; i += 32) out[row * columns + i] = (mine[i] << 8) / (sum | 1);
}

// Random gathers of words.
extern "C" __global__ void gather(const int* table, const int* places, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[places[i]];
}

// Rounds of an integer hash, in registers.
extern "C" __global__ void hash(unsigned* out, int rounds) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < rounds; ++i) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        x ^= x >> 16;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
