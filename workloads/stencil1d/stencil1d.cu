// 1D stencil of Lashgar and Baniasadi, "A Case Against Small Data Types in GPGPUs", 2014, Section V:
// out[i] is the average of three neighbours; the first and the last element are copied.
//
// The host launches it once per iteration and swaps the arrays in between. Sums are of type int,
// whatever the elements are, and the division truncates towards zero.

template <typename T>
__device__ __forceinline__ void stencil1d(const T* in, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;
    } else if (i < n) {
        out[i] = in[i];
    }
}

extern "C" __global__ void stencil1d_int(const int* in, int* out, int n) {
    stencil1d(in, out, n);
}

extern "C" __global__ void stencil1d_short(const short* in, short* out, int n) {
    stencil1d(in, out, n);
}

// `char` of x86 hosts is signed; said here, so that the kernel does not depend on the host.
extern "C" __global__ void stencil1d_char(const signed char* in, signed char* out, int n) {
    stencil1d(in, out, n);
}
