// The applications of Ino et al., "A Parallel Scheme for Accelerating Parameter Sweep Applications on a GPU", 2013, as far as the
// paper describes them: each as one task a launch, and as 32 tasks at once, of which every warp has one in each lane. Element p of
// task t lies at 32 p + t then.

#define TASKS 32

__device__ unsigned hash(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    x ^= x >> 16;
    return x;
}

// Arrangement: `size` elements of each task, from task after task to interleaved, or back with the sides exchanged. A CTA turns a
// tile of 32 x 32 elements in shared memory; the pad of one column avoids bank conflicts.
template <typename T>
__device__ void turn(const T* in, T* out, int columns, int rows) {
    __shared__ T tile[TASKS][TASKS + 1];
    int column = blockIdx.x * TASKS + threadIdx.x;
    int row = blockIdx.y * TASKS + threadIdx.y;
    if (column < columns && row < rows) tile[threadIdx.y][threadIdx.x] = in[row * columns + column];
    __syncthreads();
    column = blockIdx.x * TASKS + threadIdx.y;
    row = blockIdx.y * TASKS + threadIdx.x;
    if (column < columns && row < rows) out[column * rows + row] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void turn_words(const int* in, int* out, int columns, int rows) { turn(in, out, columns, rows); }
extern "C" __global__ void turn_shorts(const short* in, short* out, int columns, int rows) { turn(in, out, columns, rows); }

// Joint histogram of a reference and a floating image, of 256 x 256 bins.

#define BINS 256

// Images that are alike, as those of one part of a body: dark around, two kinds of tissue within, each with some noise; every task's
// is moved and brightened a little. With `noise`, every element is any value.
__device__ short grey(int x, int y, int z, int task, int side, int noise) {
    unsigned random = hash(x + side * (y + side * (z + 64 * task)));
    if (noise) return random % BINS;
    float u = (x + task % 5 - 2) * 2.0f / side - 1.0f;
    float v = (y + task % 3 - 1) * 2.0f / side - 1.0f;
    float distance = u * u + 1.6f * v * v;
    int grain = random % 8;
    if (distance > 0.8f) return random % 2;
    return (distance > 0.35f ? 90 : 150) + task % 4 + grain;
}

extern "C" __global__ void images(short* reference, short* floating, int side, int slices, int noise) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    int size = side * side * slices;
    for (int z = 0; z < slices; ++z) {
        int at = x + side * (y + side * z);
        reference[at] = grey(x, y, z, TASKS, side, noise);
        for (int task = 0; task < TASKS; ++task) floating[task * size + at] = grey(x, y, z, task, side, noise);
    }
}

// CTAs of 32 x 32 threads, a pixel of all slices each.
extern "C" __global__ void histogram(const short* reference, const short* floating, int* bins, int side, int slices) {
    int at = side * (blockIdx.y * blockDim.y + threadIdx.y) + blockIdx.x * blockDim.x + threadIdx.x;
    for (int z = 0; z < slices; ++z) {
        atomicAdd(&bins[BINS * floating[at] + reference[at]], 1);
        at += side * side;
    }
}

// CTAs of 32 tasks x 32 pixels of a row.
extern "C" __global__ void histogram_swept(const short* reference, const short* floating, int* bins, int side, int slices) {
    int task = threadIdx.x;
    int at = side * blockIdx.y + blockIdx.x * blockDim.y + threadIdx.y;
    for (int z = 0; z < slices; ++z) {
        atomicAdd(&bins[(BINS * floating[at * TASKS + task] + reference[at]) * TASKS + task], 1);
        at += side * side;
    }
}

// Separable Gaussian filter of a square image: 17 weights, eight results a thread, the tile and its halo in shared memory.

#define RADIUS 8
#define RESULTS 8
#define NEAR 8

__constant__ float weights[2 * RADIUS + 1] = {
    0.0009f, 0.0033f, 0.0090f, 0.0206f, 0.0400f, 0.0658f, 0.0918f, 0.1086f, 0.1200f,
    0.1086f, 0.0918f, 0.0658f, 0.0400f, 0.0206f, 0.0090f, 0.0033f, 0.0009f,
};

// One task: CTAs of 32 x 8 threads filter 256 columns of eight rows. The halo is one step of 32 columns on each side.
extern "C" __global__ void filter_rows(const float* in, float* out, int side) {
    __shared__ float tile[8][(RESULTS + 2) * 32];
    int x = blockIdx.x * RESULTS * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    const float* row = in + y * side;
#pragma unroll
    for (int step = -1; step <= RESULTS; ++step) {
        int at = x + step * 32;
        tile[threadIdx.y][threadIdx.x + (step + 1) * 32] = at >= 0 && at < side ? row[at] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < RESULTS; ++step) {
        float sum = 0;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; ++k) {
            sum += weights[RADIUS + k] * tile[threadIdx.y][threadIdx.x + (step + 1) * 32 + k];
        }
        out[y * side + x + step * 32] = sum;
    }
}

// One task: CTAs of 32 x 8 threads filter 64 rows of 32 columns. The halo is one step of eight rows on each side.
extern "C" __global__ void filter_columns(const float* in, float* out, int side) {
    __shared__ float tile[(RESULTS + 2) * 8][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * RESULTS * 8 + threadIdx.y;
#pragma unroll
    for (int step = -1; step <= RESULTS; ++step) {
        int at = y + step * 8;
        tile[threadIdx.y + (step + 1) * 8][threadIdx.x] = at >= 0 && at < side ? in[at * side + x] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < RESULTS; ++step) {
        float sum = 0;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; ++k) {
            sum += weights[RADIUS + k] * tile[threadIdx.y + (step + 1) * 8 + k][threadIdx.x];
        }
        out[(y + step * 8) * side + x] = sum;
    }
}

// 32 tasks: CTAs of 32 tasks x 8 threads filter 64 pixels in the filter's direction, in which neighbours lie `stride` pixels apart.
__device__ void filter_swept(const float* in, float* out, int side, int stride, int line, int first) {
    __shared__ float tile[(RESULTS + 2) * NEAR][TASKS];
    int task = threadIdx.x;
    int place = first + threadIdx.y;
#pragma unroll
    for (int step = -1; step <= RESULTS; ++step) {
        int at = place + step * NEAR;
        bool within = at >= 0 && at < side;
        tile[threadIdx.y + (step + 1) * NEAR][task] = within ? in[(line + at * stride) * TASKS + task] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < RESULTS; ++step) {
        float sum = 0;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; ++k) {
            sum += weights[RADIUS + k] * tile[threadIdx.y + (step + 1) * NEAR + k][task];
        }
        out[(line + (place + step * NEAR) * stride) * TASKS + task] = sum;
    }
}

extern "C" __global__ void filter_rows_swept(const float* in, float* out, int side) {
    filter_swept(in, out, side, 1, blockIdx.y * side, blockIdx.x * RESULTS * NEAR);
}

extern "C" __global__ void filter_columns_swept(const float* in, float* out, int side) {
    filter_swept(in, out, side, side, blockIdx.x, blockIdx.y * RESULTS * NEAR);
}

// Neural network for digits of 29 x 29 pixels: 6 maps of 13 x 13 neurons, 50 maps of 5 x 5, 100 neurons, 10 neurons. A neuron has a
// weight for its bias first. `task` is 0 and `tasks` 1 for one task.

__device__ float squash(float sum) { return 1.7159f * tanhf(0.66666667f * sum); }

// A neuron of the first layer: 5 x 5 pixels, every other pixel.
__device__ void first(const float* pixels, const float* weights, float* out, int map, int x, int y, int tasks, int task) {
    const float* own = weights + map * 26;
    float sum = own[0];
    for (int row = 0; row < 5; ++row) {
        for (int column = 0; column < 5; ++column) {
            int at = 29 * (2 * y + row) + 2 * x + column;
            sum += pixels[at * tasks + task] * own[1 + 5 * row + column];
        }
    }
    out[(169 * map + 13 * y + x) * tasks + task] = squash(sum);
}

// A neuron of the second layer: 5 x 5 neurons of each of the six maps.
__device__ void second(const float* maps, const float* weights, float* out, int map, int x, int y, int tasks, int task) {
    const float* own = weights + map * 156;
    float sum = own[0];
    for (int from = 0; from < 6; ++from) {
        for (int row = 0; row < 5; ++row) {
            for (int column = 0; column < 5; ++column) {
                int at = 169 * from + 13 * (2 * y + row) + 2 * x + column;
                sum += maps[at * tasks + task] * own[1 + 25 * from + 5 * row + column];
            }
        }
    }
    out[(25 * map + 5 * y + x) * tasks + task] = squash(sum);
}

// A neuron that all of a layer lead to.
__device__ void dense(const float* in, const float* weights, float* out, int count, int neuron, int tasks, int task) {
    const float* own = weights + neuron * (count + 1);
    float sum = own[0];
    for (int at = 0; at < count; ++at) sum += in[at * tasks + task] * own[1 + at];
    out[neuron * tasks + task] = squash(sum);
}

// CTAs of 13 x 13 threads, a map each.
extern "C" __global__ void first_layer(const float* in, const float* weights, float* out) {
    first(in, weights, out, blockIdx.x, threadIdx.x, threadIdx.y, 1, 0);
}

// CTAs of 32 tasks x 13 threads, of which each has a column of the map.
extern "C" __global__ void first_layer_swept(const float* in, const float* weights, float* out) {
    for (int y = 0; y < 13; ++y) first(in, weights, out, blockIdx.x, threadIdx.y, y, TASKS, threadIdx.x);
}

// CTAs of 5 x 5 threads, a map each, and of 32 tasks x 5 x 5.
extern "C" __global__ void second_layer(const float* in, const float* weights, float* out) {
    second(in, weights, out, blockIdx.x, threadIdx.x, threadIdx.y, 1, 0);
}

extern "C" __global__ void second_layer_swept(const float* in, const float* weights, float* out) {
    second(in, weights, out, blockIdx.x, threadIdx.y, threadIdx.z, TASKS, threadIdx.x);
}

// CTAs of a thread, and of 32 tasks; a neuron each.
extern "C" __global__ void dense_layer(const float* in, const float* weights, float* out, int count) {
    dense(in, weights, out, count, blockIdx.x, 1, 0);
}

extern "C" __global__ void dense_layer_swept(const float* in, const float* weights, float* out, int count) {
    dense(in, weights, out, count, blockIdx.x, TASKS, threadIdx.x);
}

// Shortest paths from a vertex each, in rounds: the vertices of a mask relax the edges that leave them; those that have come nearer are
// the next mask. Vertex v has edges starts[v] to starts[v + 1].

#define FAR 1000000000

// One to seven edges a vertex, four in the mean.
extern "C" __global__ void graph(int* starts, int vertices) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex <= vertices) starts[vertex] = 4 * vertex + (vertex == 0 || vertex == vertices ? 0 : hash(vertex) % 4);
}

// Task t begins at vertex t, stored at `t * far + v * near`.
extern "C" __global__ void sources(int* mask, int* cost, int* update, int vertices, int far, int near) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices) return;
    for (int task = 0; task < TASKS; ++task) {
        int at = task * far + vertex * near;
        mask[at] = vertex == task;
        cost[at] = update[at] = vertex == task ? 0 : FAR;
    }
}

extern "C" __global__ void relax(
    const int* starts, const int* ends, const int* lengths, int* mask, const int* cost, int* update, int vertices) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices || !mask[vertex]) return;
    mask[vertex] = 0;
    for (int edge = starts[vertex]; edge < starts[vertex + 1]; ++edge) {
        atomicMin(&update[ends[edge]], cost[vertex] + lengths[edge]);
    }
}

// CTAs of 32 tasks x 4 vertices, whose edges are brought to shared memory first; there are at most seven of each.
extern "C" __global__ void relax_swept(
    const int* starts, const int* ends, const int* lengths, int* mask, const int* cost, int* update, int vertices) {
    __shared__ int from[5], to[28], length[28];
    int task = threadIdx.x;
    int number = threadIdx.y * TASKS + task;
    int vertex = blockIdx.x * 4 + threadIdx.y;
    int first = starts[blockIdx.x * 4];
    if (number < 5) from[number] = starts[blockIdx.x * 4 + number] - first;
    __syncthreads();
    if (number < from[4]) {
        to[number] = ends[first + number];
        length[number] = lengths[first + number];
    }
    __syncthreads();
    int own = vertex * TASKS + task;
    if (!mask[own]) return;
    mask[own] = 0;
    int so_far = cost[own];
    for (int edge = from[threadIdx.y]; edge < from[threadIdx.y + 1]; ++edge) {
        atomicMin(&update[to[edge] * TASKS + task], so_far + length[edge]);
    }
}

// For one task and for all: `count` vertices of all tasks.
__device__ void advance(int at, int count, int* mask, int* cost, int* update, int* changed) {
    if (at >= count) return;
    if (cost[at] > update[at]) {
        cost[at] = update[at];
        mask[at] = 1;
        *changed = 1;
    }
    update[at] = cost[at];
}

extern "C" __global__ void settle(int* mask, int* cost, int* update, int* changed, int vertices) {
    advance(blockIdx.x * blockDim.x + threadIdx.x, vertices, mask, cost, update, changed);
}

// CTAs of 64 x 4 threads: two vertices of 32 tasks, four times.
extern "C" __global__ void settle_swept(int* mask, int* cost, int* update, int* changed, int vertices) {
    int at = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    advance(at, vertices * TASKS, mask, cost, update, changed);
}
