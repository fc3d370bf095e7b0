// Matrix product of Lashgar and Baniasadi, "A Case Against Small Data Types in GPGPUs", 2014, Section II:
// c = a b for square matrices of n rows, stored row by row. A thread makes one element of c: it reads a
// whole row of a and a whole column of b, both from global memory.
//
// Sums are of type int, whatever the elements are; an element of c keeps their low bits.

template <typename T>
__device__ __forceinline__ void matmul(const T* a, const T* b, T* c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        int sum = 0;
        // Unrolled, products of char become dp4a, which chips before compute capability 6.1 do not have, and
        // the types no longer run the same instructions.
#pragma unroll 1
        for (int k = 0; k < n; ++k) {
            sum += a[row * n + k] * b[k * n + column];
        }
        c[row * n + column] = sum;
    }
}

extern "C" __global__ void matmul_int(const int* a, const int* b, int* c, int n) {
    matmul(a, b, c, n);
}

extern "C" __global__ void matmul_short(const short* a, const short* b, short* c, int n) {
    matmul(a, b, c, n);
}

// `char` of x86 hosts is signed; said here, so that the kernel does not depend on the host.
extern "C" __global__ void matmul_char(const signed char* a, const signed char* b, signed char* c, int n) {
    matmul(a, b, c, n);
}
