// Stereo matching by min-sum belief propagation: Lashgar and Baniasadi, "A Case Against Small Data Types in
// GPGPUs", 2014, Section II, which takes it from Felzenszwalb and Huttenlocher, "Efficient Belief
// Propagation for Early Vision", 2006.
//
// A pixel has five boxes of one value a label: the cost of its own data, and the message that came last
// from each side. A sweep goes over the whole image in one direction; a thread takes one line of pixels,
// a row for `right` and `left` and a column for `up` and `down`. From each pixel it sends a message to the
// next one, which it then reads there.
//
// A value is at offset box * box_stride + pixel * pixel_stride + label * label_stride, where pixel counts
// row by row. The strides say how the values lie in memory; the instructions are the same for every layout.
// Sums are of type int, whatever the elements are.

enum { LABELS = 16 };

// Cost of neighbours whose labels differ by d: min(d * SLOPE, TRUNCATION).
enum { SLOPE = 14, TRUNCATION = 25 };

// Boxes, by where their content came from.
enum Box { DATA, FROM_LEFT, FROM_RIGHT, FROM_BELOW, FROM_ABOVE };

struct Layout {
    int box_stride, pixel_stride, label_stride;
};

// Sends the message of `pixel`, which has heard `first`, `second` and `third`, into box `to` of `next`.
template <typename T>
__device__ __forceinline__ void send(T* values, Layout layout, int pixel, int next, Box first, Box second,
                                     Box third, Box to) {
    const T* from = values + pixel * layout.pixel_stride;
    int cost[LABELS];
    int least = 0x7fffffff;
#pragma unroll
    for (int label = 0; label < LABELS; ++label) {
        const T* value = from + label * layout.label_stride;
        cost[label] = value[DATA * layout.box_stride] + value[first * layout.box_stride] +
                      value[second * layout.box_stride] + value[third * layout.box_stride];
        least = min(least, cost[label]);
    }
    // The lower envelope of a cone from each label, by a pass up and a pass down.
#pragma unroll
    for (int label = 1; label < LABELS; ++label) {
        cost[label] = min(cost[label], cost[label - 1] + SLOPE);
    }
#pragma unroll
    for (int label = LABELS - 2; label >= 0; --label) {
        cost[label] = min(cost[label], cost[label + 1] + SLOPE);
    }
    // Truncated, and from zero: a message lies in 0..=TRUNCATION.
    T* message = values + next * layout.pixel_stride + to * layout.box_stride;
#pragma unroll
    for (int label = 0; label < LABELS; ++label) {
        message[label * layout.label_stride] = min(cost[label] - least, int(TRUNCATION));
    }
}

template <typename T>
__device__ __forceinline__ void right(T* values, Layout layout, int width, int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height) {
        for (int x = 0; x < width - 1; ++x) {
            int pixel = y * width + x;
            send(values, layout, pixel, pixel + 1, FROM_LEFT, FROM_BELOW, FROM_ABOVE, FROM_LEFT);
        }
    }
}

template <typename T>
__device__ __forceinline__ void left(T* values, Layout layout, int width, int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height) {
        for (int x = width - 1; x > 0; --x) {
            int pixel = y * width + x;
            send(values, layout, pixel, pixel - 1, FROM_RIGHT, FROM_BELOW, FROM_ABOVE, FROM_RIGHT);
        }
    }
}

template <typename T>
__device__ __forceinline__ void up(T* values, Layout layout, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width) {
        for (int y = height - 1; y > 0; --y) {
            int pixel = y * width + x;
            send(values, layout, pixel, pixel - width, FROM_LEFT, FROM_RIGHT, FROM_BELOW, FROM_BELOW);
        }
    }
}

template <typename T>
__device__ __forceinline__ void down(T* values, Layout layout, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width) {
        for (int y = 0; y < height - 1; ++y) {
            int pixel = y * width + x;
            send(values, layout, pixel, pixel + width, FROM_LEFT, FROM_RIGHT, FROM_ABOVE, FROM_ABOVE);
        }
    }
}

// The label of least belief of each pixel, the smallest of several; a thread a pixel.
template <typename T>
__device__ __forceinline__ void best(const T* values, T* labels, Layout layout, int pixels) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < pixels) {
        const T* at = values + pixel * layout.pixel_stride;
        int least = 0x7fffffff;
        int winner = 0;
#pragma unroll
        for (int label = 0; label < LABELS; ++label) {
            int belief = 0;
#pragma unroll
            for (int box = DATA; box <= FROM_ABOVE; ++box) {
                belief += at[box * layout.box_stride + label * layout.label_stride];
            }
            if (belief < least) {
                least = belief;
                winner = label;
            }
        }
        labels[pixel] = winner;
    }
}

#define SWEEP(direction, name, T)                                                              \
    extern "C" __global__ void stereo_##direction##_##name(                                    \
        T* values, int box_stride, int pixel_stride, int label_stride, int width, int height) { \
        direction(values, Layout{box_stride, pixel_stride, label_stride}, width, height);      \
    }

#define KERNELS(name, T)                                                                                \
    SWEEP(right, name, T)                                                                               \
    SWEEP(left, name, T)                                                                                \
    SWEEP(up, name, T)                                                                                  \
    SWEEP(down, name, T)                                                                                \
    extern "C" __global__ void stereo_best_##name(                                                      \
        const T* values, T* labels, int box_stride, int pixel_stride, int label_stride, int pixels) {   \
        best(values, labels, Layout{box_stride, pixel_stride, label_stride}, pixels);                   \
    }

KERNELS(int, int)
KERNELS(short, short)
// `char` of x86 hosts is signed; said here, so that the kernel does not depend on the host.
KERNELS(char, signed char)
