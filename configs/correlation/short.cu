// Kernels so short that starting them is most of what they take.

extern "C" __global__ void nothing() {}

extern "C" __global__ void arguments(const int* in, int* out, int n) {
    if (blockIdx.x * blockDim.x + threadIdx.x >= n) out[0] = 1;
}

extern "C" __global__ void store(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = n;
}

extern "C" __global__ void load(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] == -1) out[i] = n;
}

extern "C" __global__ void copy(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

extern "C" __global__ void chain_2(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[in[i]];
}

extern "C" __global__ void chain_3(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[in[in[i]]];
}

// Eight chains of multiply-adds without a loop, so many instructions in all.
template <int COUNT>
__device__ void straight(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = n, y = i, sums[8];
#pragma unroll
    for (int chain = 0; chain < 8; ++chain) sums[chain] = i + chain;
#pragma unroll
    for (int step = 0; step < COUNT / 8; ++step) {
#pragma unroll
        for (int chain = 0; chain < 8; ++chain) sums[chain] = sums[chain] * x + y;
    }
    float sum = 0;
#pragma unroll
    for (int chain = 0; chain < 8; ++chain) sum += sums[chain];
    out[i] = sum;
}

extern "C" __global__ void straight_64(const int* in, int* out, int n) { straight<64>(out, n); }
extern "C" __global__ void straight_256(const int* in, int* out, int n) { straight<256>(out, n); }
extern "C" __global__ void straight_1024(const int* in, int* out, int n) { straight<1024>(out, n); }
extern "C" __global__ void straight_4096(const int* in, int* out, int n) { straight<4096>(out, n); }

extern "C" __global__ void barrier(const int* in, int* out, int n) {
    __shared__ int all[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    all[threadIdx.x] = n + threadIdx.x;
    __syncthreads();
    out[i] = all[threadIdx.x ^ 1];
}
