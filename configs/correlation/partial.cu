// Stores of single words, which write sectors of 32 bytes in part.

// One word of each `step`: in the order of addresses, and in none. `count` is a power of two.
extern "C" __global__ void words(int* out, int count, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i * step] = i;
}
extern "C" __global__ void words_mixed(int* out, int count, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[(i * 4099 & (count - 1)) * step] = i;
}

// CTAs of 32 x 8 threads, 32 words a warp: in a line each, or in a sector each. The warps of a CTA fill sectors together, or CTAs do so
// that are far apart in time.
extern "C" __global__ void lines_together(int* out, int n, int) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = x + y;
}
extern "C" __global__ void lines_apart(int* out, int n, int) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + (y + j) % (n / 8) * 8 + (y + j) / (n / 8)] = x + y;
}
extern "C" __global__ void sectors_together(int* out, int n, int) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) / 8 * (n * 8) + x * 8 + (y + j) % 8] = x + y;
}
extern "C" __global__ void sectors_apart(int* out, int n, int) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) % (n / 8) * (n * 8) + x * 8 + (y + j) / (n / 8)] = x + y;
}
