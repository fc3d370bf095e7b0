// Stream compaction of Pirjan, "Solutions for optimizing the stream compaction algorithmic function using the Compute Unified Device
// Architecture", 2012, as far as the paper describes it: flags of 0 and 1, their prefix sum, and each kept element to its place.

// A block has 1,024 elements: the paper's times have a step at 1,024 * 1,024. A thread has eight (Solution 3).
#define THREADS 128
#define EACH 8
#define ELEMENTS (THREADS * EACH)
#define FRAGMENTS 8

// Four elements in one access; one by one where the array ends.
__device__ uint4 load_four(const unsigned* in, int i, int n) {
    if (i + 3 < n) return *(const uint4*)(in + i);
    uint4 four = make_uint4(0, 0, 0, 0);
    if (i < n) four.x = in[i];
    if (i + 1 < n) four.y = in[i + 1];
    if (i + 2 < n) four.z = in[i + 2];
    return four;
}

__device__ void store_four(unsigned* out, int i, int n, uint4 four) {
    if (i + 3 < n) {
        *(uint4*)(out + i) = four;
        return;
    }
    if (i < n) out[i] = four.x;
    if (i + 1 < n) out[i + 1] = four.y;
    if (i + 2 < n) out[i + 2] = four.z;
}

// The flags of four values, where there is no array of flags.
__device__ uint4 test_four(const float* v, int i, int n, float threshold) {
    uint4 flags = make_uint4(0, 0, 0, 0);
    if (i + 3 < n) {
        float4 four = *(const float4*)(v + i);
        flags = make_uint4(four.x > threshold, four.y > threshold, four.z > threshold, four.w > threshold);
    } else {
        if (i < n) flags.x = v[i] > threshold;
        if (i + 1 < n) flags.y = v[i + 1] > threshold;
        if (i + 2 < n) flags.z = v[i + 2] > threshold;
    }
    return flags;
}

// Four elements become the sums of those before each; the sum of all four.
__device__ unsigned scan_four(uint4& four) {
    unsigned two = four.x + four.y;
    unsigned three = two + four.z;
    unsigned all = three + four.w;
    four = make_uint4(0, four.x, two, three);
    return all;
}

__device__ void add_four(uint4& four, unsigned sum) {
    four.x += sum;
    four.y += sum;
    four.z += sum;
    four.w += sum;
}

// The exclusive prefix sum of a block's elements: two groups of four a thread, 4 * i and 512 + 4 * i. The threads' sums are eight
// fragments of 32, of which a warp scans two, without a barrier (Solutions 4 and 5) and with zeros before each in place of a branch;
// one warp sums the fragments. The sum of the block.
__device__ unsigned scan_block(uint4& low, uint4& high) {
    __shared__ volatile unsigned fragments[FRAGMENTS][16 + 32];
    __shared__ volatile unsigned totals[2 * FRAGMENTS];
    unsigned lane = threadIdx.x & 31;
    unsigned warp = threadIdx.x / 32;
    unsigned low_own = scan_four(low);
    unsigned high_own = scan_four(high);
    unsigned low_sum = low_own;
    unsigned high_sum = high_own;
    volatile unsigned* low_place = &fragments[warp][16 + lane];
    volatile unsigned* high_place = &fragments[warp + FRAGMENTS / 2][16 + lane];
    low_place[-16] = 0;
    high_place[-16] = 0;
    low_place[0] = low_sum;
    high_place[0] = high_sum;
#pragma unroll
    for (int back = 1; back < 32; back *= 2) {
        low_sum += low_place[-back];
        high_sum += high_place[-back];
        low_place[0] = low_sum;
        high_place[0] = high_sum;
    }
    if (lane == 31) {
        totals[FRAGMENTS + warp] = low_sum;
        totals[FRAGMENTS + FRAGMENTS / 2 + warp] = high_sum;
    }
    __syncthreads();
    if (threadIdx.x < FRAGMENTS) {
        volatile unsigned* place = &totals[FRAGMENTS + threadIdx.x];
        unsigned sum = place[0];
        place[-FRAGMENTS] = 0;
#pragma unroll
        for (int back = 1; back < FRAGMENTS; back *= 2) {
            sum += place[-back];
            place[0] = sum;
        }
    }
    __syncthreads();
    add_four(low, totals[FRAGMENTS - 1 + warp] + low_sum - low_own);
    add_four(high, totals[FRAGMENTS - 1 + FRAGMENTS / 2 + warp] + high_sum - high_own);
    return totals[2 * FRAGMENTS - 1];
}

// Step 1: what is kept.
extern "C" __global__ void flags(const float* v, unsigned* kept, int n, float threshold) {
    int first = blockIdx.x * ELEMENTS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int i = first + k * THREADS;
        if (i < n) kept[i] = v[i] > threshold;
    }
}

// Step 2: each block for itself, and its sum; `in` may be `out`. The sums are scanned likewise, and added.
extern "C" __global__ void scan(const unsigned* in, unsigned* out, unsigned* sums, int n) {
    int i = blockIdx.x * ELEMENTS + 4 * threadIdx.x;
    uint4 low = load_four(in, i, n);
    uint4 high = load_four(in, i + ELEMENTS / 2, n);
    unsigned sum = scan_block(low, high);
    store_four(out, i, n, low);
    store_four(out, i + ELEMENTS / 2, n, high);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void add(unsigned* data, const unsigned* sums, int n) {
    int i = blockIdx.x * ELEMENTS + 4 * threadIdx.x;
    unsigned sum = sums[blockIdx.x];
    uint4 low = load_four(data, i, n);
    uint4 high = load_four(data, i + ELEMENTS / 2, n);
    add_four(low, sum);
    add_four(high, sum);
    store_four(data, i, n, low);
    store_four(data, i + ELEMENTS / 2, n, high);
}

// Step 3: to its place.
extern "C" __global__ void scatter(
    const float* v, const unsigned* kept, const unsigned* positions, float* out, unsigned* count, int n) {
    int first = blockIdx.x * ELEMENTS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int i = first + k * THREADS;
        if (i < n) {
            if (kept[i]) out[positions[i]] = v[i];
            if (i == n - 1) *count = positions[i] + kept[i];
        }
    }
}

// Other readings of the paper. No array of flags: whoever needs a flag tests the value.
extern "C" __global__ void scan_tested(const float* v, unsigned* out, unsigned* sums, int n, float threshold) {
    int i = blockIdx.x * ELEMENTS + 4 * threadIdx.x;
    uint4 low = test_four(v, i, n, threshold);
    uint4 high = test_four(v, i + ELEMENTS / 2, n, threshold);
    unsigned sum = scan_block(low, high);
    store_four(out, i, n, low);
    store_four(out, i + ELEMENTS / 2, n, high);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void scatter_tested(
    const float* v, const unsigned* positions, float* out, unsigned* count, int n, float threshold) {
    int first = blockIdx.x * ELEMENTS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int i = first + k * THREADS;
        if (i < n) {
            float value = v[i];
            if (value > threshold) out[positions[i]] = value;
            if (i == n - 1) *count = positions[i] + (value > threshold);
        }
    }
}

// Nor is the sum of the blocks before added to the positions: it is added here.
extern "C" __global__ void scatter_added(
    const float* v, const unsigned* positions, const unsigned* sums, float* out, unsigned* count, int n, float threshold) {
    int first = blockIdx.x * ELEMENTS + threadIdx.x;
    unsigned sum = sums[blockIdx.x];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int i = first + k * THREADS;
        if (i < n) {
            float value = v[i];
            if (value > threshold) out[sum + positions[i]] = value;
            if (i == n - 1) *count = sum + positions[i] + (value > threshold);
        }
    }
}

// The same by one thread, element after element: how many differ, for a test.
extern "C" __global__ void check(const float* v, const float* out, const unsigned* count, unsigned* errors, int n, float threshold) {
    unsigned wrong = 0;
    unsigned place = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        float value = v[i];
        if (value > threshold) {
            if (out[place] != value) ++wrong;
            ++place;
        }
    }
    if (*count != place) ++wrong;
    *errors = wrong;
}
