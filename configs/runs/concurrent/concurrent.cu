// Two kernels that want different things of a GPU.

// Arithmetic alone: so many steps of a generator of random numbers (xorshift, Marsaglia 2003) from the thread's number on.
extern "C" __global__ void compute(unsigned* out, int steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i + 1;
    for (int step = 0; step < steps; ++step) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    out[i] = x;
}

// Memory alone: each thread adds up `count` elements that lie a whole grid apart.
extern "C" __global__ void memory(const float* in, float* out, int count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned threads = gridDim.x * blockDim.x;
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += in[i + k * threads];
    out[i] = sum;
}
