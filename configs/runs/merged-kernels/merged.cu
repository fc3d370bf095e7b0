// The kernels of Guevara et al., "Enabling Task Parallelism in the CUDA Scheduler", 2009, as far as the paper describes them: each
// alone, and two merged by blocks, so that the first CTAs do the work of one kernel and the others that of the other.

// Loops stay loops: with 512 threads a CTA, a thread has 16 registers on a GeForce 9800 GT.

// Arithmetic: a generator of random numbers (xorshift, Marsaglia 2003), `steps` numbers a thread.
__device__ void compute_work(unsigned block, unsigned* out, int steps) {
    unsigned i = block * blockDim.x + threadIdx.x;
    unsigned x = i + 1;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    out[i] = x;
}

// Memory: `count` elements a thread, read in order by neighbouring threads.
__device__ void memory_work(unsigned block, unsigned blocks, const float* in, float* out, int count) {
    unsigned i = block * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < count; ++k) sum += in[i + k * blocks * blockDim.x];
    out[i] = sum;
}

// Nearest neighbour: the distance of a record of 32 bytes from a target; each thread reads its own record.
__device__ void nn_work(unsigned block, const float* records, float* distances, int n, float target) {
    unsigned i = block * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
#pragma unroll 1
    for (int word = 0; word < 8; ++word) {
        float difference = records[8 * i + word] - target;
        sum += difference * difference;
    }
    distances[i] = sqrtf(sum);
}

// Gaussian elimination, column k of an n x n matrix: the multipliers, and the rows below.
__device__ void multipliers_work(unsigned block, const float* a, float* m, int n, int k) {
    unsigned row = block * blockDim.x + threadIdx.x + k + 1;
    if (row < n) m[row] = a[row * n + k] / a[k * n + k];
}

__device__ void rows_work(unsigned block, unsigned row_block, float* a, const float* m, int n, int k) {
    unsigned column = block * blockDim.x + threadIdx.x + k;
    unsigned row = row_block * blockDim.y + threadIdx.y + k + 1;
    if (row < n && column < n) a[row * n + column] -= m[row] * a[k * n + column];
}

extern "C" __global__ void compute(unsigned* out, int steps) { compute_work(blockIdx.x, out, steps); }

extern "C" __global__ void memory(const float* in, float* out, int count) {
    memory_work(blockIdx.x, gridDim.x, in, out, count);
}

extern "C" __global__ void compute_and_memory(
    unsigned* numbers, int steps, unsigned compute_blocks, const float* in, float* sums, int count) {
    if (blockIdx.x < compute_blocks) {
        compute_work(blockIdx.x, numbers, steps);
    } else {
        memory_work(blockIdx.x - compute_blocks, gridDim.x - compute_blocks, in, sums, count);
    }
}

extern "C" __global__ void nn(const float* records, float* distances, int n, float target) {
    nn_work(blockIdx.x, records, distances, n, target);
}

extern "C" __global__ void nn_and_nn(
    const float* records, float* distances, unsigned blocks, const float* others, float* other_distances, int n, float target) {
    if (blockIdx.x < blocks) {
        nn_work(blockIdx.x, records, distances, n, target);
    } else {
        nn_work(blockIdx.x - blocks, others, other_distances, n, target);
    }
}

extern "C" __global__ void multipliers(const float* a, float* m, int n, int k) { multipliers_work(blockIdx.x, a, m, n, k); }

extern "C" __global__ void rows(float* a, const float* m, int n, int k) { rows_work(blockIdx.x, blockIdx.y, a, m, n, k); }

extern "C" __global__ void multipliers_of_two(
    const float* a, float* m, unsigned blocks, const float* b, float* o, int n, int k) {
    if (blockIdx.x < blocks) {
        multipliers_work(blockIdx.x, a, m, n, k);
    } else {
        multipliers_work(blockIdx.x - blocks, b, o, n, k);
    }
}

extern "C" __global__ void rows_of_two(
    float* a, const float* m, unsigned blocks, float* b, const float* o, int n, int k) {
    if (blockIdx.x < blocks) {
        rows_work(blockIdx.x, blockIdx.y, a, m, n, k);
    } else {
        rows_work(blockIdx.x - blocks, blockIdx.y, b, o, n, k);
    }
}
