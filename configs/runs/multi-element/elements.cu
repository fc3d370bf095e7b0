// Kernels of Ha et al., "A High-Performance Multi-Element Processing Framework on GPUs", 2013, as far as the paper describes them: the
// same operation on many small elements, by a thread each, by a CTA each, or by a group of threads each.

// Copy of `words` numbers, one a thread.
extern "C" __global__ void copy(const float* in, float* out, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) out[i] = in[i];
}

// Sum of two vectors, a number a thread.
extern "C" __global__ void add(const float* a, const float* b, float* sums, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) sums[i] = a[i] + b[i];
}

// Copy of n x n matrices, blockIdx.z says which: a thread for each number.
template <typename T>
__device__ void copy_numbers(const T* in, T* out, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int i = (blockIdx.z * n + row) * n + column;
    out[i] = in[i];
}

// The same with one CTA for each matrix, which goes over it tile by tile, along the rows first.
template <typename T>
__device__ void copy_tiles(const T* in, T* out, int n) {
    int matrix = blockIdx.x * n * n;
#pragma unroll 1
    for (int row = threadIdx.y; row < n; row += blockDim.y) {
#pragma unroll 1
        for (int column = threadIdx.x; column < n; column += blockDim.x) {
            int i = matrix + row * n + column;
            out[i] = in[i];
        }
    }
}

extern "C" __global__ void copy_numbers_float(const float* in, float* out, int n) { copy_numbers(in, out, n); }
extern "C" __global__ void copy_numbers_double(const double* in, double* out, int n) { copy_numbers(in, out, n); }
extern "C" __global__ void copy_tiles_float(const float* in, float* out, int n) { copy_tiles(in, out, n); }
extern "C" __global__ void copy_tiles_double(const double* in, double* out, int n) { copy_tiles(in, out, n); }

// Dot products of `count` pairs of vectors of n numbers, a thread each. Number k of all vectors stands together.
extern "C" __global__ void dot_thread(const double* a, const double* b, double* dots, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += a[k * count + i] * b[k * count + i];
    dots[i] = sum;
}

// A load that stays where it is written.
__device__ double load(const double* number) {
    double value;
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(value) : "l"(number));
    return value;
}

// The same with the loads of four steps under way at a time.
extern "C" __global__ void dot_thread_by_four(const double* a, const double* b, double* dots, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double sum = 0;
    int k = 0;
#pragma unroll 1
    for (; k + 4 <= n; k += 4) {
        double x[4], y[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            x[j] = load(a + (k + j) * count + i);
            y[j] = load(b + (k + j) * count + i);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) sum += x[j] * y[j];
    }
#pragma unroll 1
    for (; k < n; ++k) sum += a[k * count + i] * b[k * count + i];
    dots[i] = sum;
}

// The same, a CTA of 64 threads or more for each pair. A vector's numbers stand together. With `barriers` there is one after each
// step of the sum, else the last warp goes on without.
template <int threads, bool barriers>
__device__ void dot_block(const double* a, const double* b, double* dots, int n) {
    __shared__ double sums[threads];
    int t = threadIdx.x;
    int vector = blockIdx.x * n;
    double sum = 0;
#pragma unroll 1
    for (int k = t; k < n; k += threads) sum += a[vector + k] * b[vector + k];
    sums[t] = sum;
    __syncthreads();
#pragma unroll
    for (int half = threads / 2; half > (barriers ? 0 : 32); half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (!barriers && t < 32) {
        volatile double* warp = sums;
        warp[t] += warp[t + 32];
        warp[t] += warp[t + 16];
        warp[t] += warp[t + 8];
        warp[t] += warp[t + 4];
        warp[t] += warp[t + 2];
        warp[t] += warp[t + 1];
    }
    if (t == 0) dots[blockIdx.x] = sums[0];
}

extern "C" __global__ void dot_block_64(const double* a, const double* b, double* dots, int n) { dot_block<64, false>(a, b, dots, n); }
extern "C" __global__ void dot_block_128(const double* a, const double* b, double* dots, int n) { dot_block<128, false>(a, b, dots, n); }
extern "C" __global__ void dot_barriers_64(const double* a, const double* b, double* dots, int n) { dot_block<64, true>(a, b, dots, n); }

// Products of `count` n x n matrices with a vector each, a thread each. Number k of all matrices stands together, row by row, and so
// with the vectors. A thread has its vector in shared memory, n x blockDim.x numbers for a CTA.
extern "C" __global__ void gemv_thread(const double* a, const double* x, double* y, int n, int count) {
    extern __shared__ double vectors[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double* vector = vectors + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < n; ++k) vector[k * blockDim.x] = x[k * count + i];
    const double* number = a + i;
#pragma unroll 1
    for (int row = 0; row < n; ++row) {
        double sum = 0;
#pragma unroll 1
        for (double* v = vector; v < vector + n * blockDim.x; v += blockDim.x) {
            sum += *number * *v;
            number += count;
        }
        y[row * count + i] = sum;
    }
}

// The same, a CTA each. A matrix's numbers stand together, column by column; a thread takes every blockDim.x-th row.
extern "C" __global__ void gemv_block(const double* a, const double* x, double* y, int n) {
    extern __shared__ double vectors[];
    const double* matrix = a + blockIdx.x * n * n;
#pragma unroll 1
    for (int k = threadIdx.x; k < n; k += blockDim.x) vectors[k] = x[blockIdx.x * n + k];
    __syncthreads();
#pragma unroll 1
    for (int row = threadIdx.x; row < n; row += blockDim.x) {
        double sum = 0;
#pragma unroll 1
        for (int column = 0; column < n; ++column) sum += matrix[column * n + row] * vectors[column];
        y[blockIdx.x * n + row] = sum;
    }
}

// The same, a group of n threads each, and of 32 where n is a multiple of that: within a warp, so that no barrier is needed.
extern "C" __global__ void gemv_group(const double* a, const double* x, double* y, int n, int count) {
    extern __shared__ double vectors[];
    int threads = n < 32 ? n : 32;
    int group = threadIdx.x / threads;
    int t = threadIdx.x % threads;
    int element = blockIdx.x * (blockDim.x / threads) + group;
    if (element >= count) return;
    const double* matrix = a + element * n * n;
    volatile double* vector = vectors + group * n;
#pragma unroll 1
    for (int k = t; k < n; k += threads) vector[k] = x[element * n + k];
#pragma unroll 1
    for (int row = t; row < n; row += threads) {
        const double* number = matrix + row;
        double sum = 0;
#pragma unroll 1
        for (volatile double* v = vector; v < vector + n; ++v) {
            sum += *number * *v;
            number += n;
        }
        y[element * n + row] = sum;
    }
}
