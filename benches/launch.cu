// How kernels start and end on an H100 or H200: what parameters cost, when CTAs start on an SM, and what a kernel waits for at its end.
//
//     nvcc -arch=sm_90 -O3 -std=c++17 benches/launch.cu -o launch && ./launch > results/h100/launch.txt
//
// Times within a kernel are read from the SM's clock. Times of kernels are those between two events, less those of an empty kernel of one
// warp; kernels follow each other in a drawn order, and means are of some hundred launches.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

typedef unsigned u32;

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t error = (call);                                                     \
        if (error != cudaSuccess) {                                                     \
            fprintf(stderr, "launch.cu:%d: %s\n", __LINE__, cudaGetErrorString(error)); \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

#define KERNEL extern "C" __global__ void

// So much shared memory that an SM has one CTA.
const int SHARED = 200 * 1024;

__device__ __forceinline__ u32 cycles() {
    u32 now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

__device__ __forceinline__ u32 sm_number() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

__device__ __forceinline__ void wait(u32 time) {
    for (u32 start = cycles(); cycles() - start < time;);
}

// Needs `value` before it goes on.
__device__ __forceinline__ void need(int value) {
    asm volatile("{ .reg .pred is; setp.eq.s32 is, %0, 123456789; @is trap; }" ::"r"(value) : "memory");
}

// Parameters by their places [bytes]; the first has place 0x210 of the constant bank.
#define PLACES(DO)                                                                                                     \
    DO(0) DO(4) DO(16) DO(32) DO(48) DO(52) DO(64) DO(96) DO(112) DO(116) DO(128) DO(176) DO(180) DO(192) DO(240) DO(244)
const int PLACES_COUNT = 16;

struct Many {
    int words[64];
};

// How long it takes to read each parameter, one after the other, and as long without. The compiler of CUDA 13 makes `ULDC` of such reads,
// or `LDC` where the values are used again.
#define PARAMETERS(kernel, READ, IS_USED_AGAIN)                                                   \
    KERNEL kernel(const __grid_constant__ Many many, u32* out) {                                  \
        u32 times[PLACES_COUNT + 1];                                                              \
        int place = 0, sum = threadIdx.x, reads[PLACES_COUNT];                                    \
        times[0] = cycles();                                                                      \
        PLACES(READ)                                                                              \
        u32 before = cycles();                                                                    \
        for (int at = IS_USED_AGAIN ? 0 : PLACES_COUNT - 1; at < PLACES_COUNT; ++at) {            \
            before = cycles();                                                                    \
            asm volatile("add.s32 %0, %0, %1;" : "+r"(sum) : "r"(reads[at]) : "memory");          \
            need(sum);                                                                            \
        }                                                                                         \
        u32 bare = cycles() - before;                                                             \
        if (threadIdx.x > 0) return;                                                              \
        out += blockIdx.x * (PLACES_COUNT + 1);                                                   \
        for (int at = 0; at < PLACES_COUNT; ++at) out[at] = times[at + 1] - times[at];            \
        out[PLACES_COUNT] = bare;                                                                 \
    }
#define READ_OF(kernel, at)                                                                       \
    asm volatile("ld.param.u32 %0, [" #kernel "_param_0+" #at "]; add.s32 %1, %1, %0;"              \
                 : "=r"(reads[place]), "+r"(sum)::"memory");                                      \
    need(sum);                                                                                    \
    times[++place] = cycles();
#define READ(at) READ_OF(parameters, at)
#define READ_UNIFORM(at) READ_OF(uniform_parameters, at)
PARAMETERS(parameters, READ, true)
PARAMETERS(uniform_parameters, READ_UNIFORM, false)

// When warps start, and where.
KERNEL starts(u32* out) {
    u32 start = cycles();
    wait(6000);
    if (threadIdx.x % 32 > 0) return;
    u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    out[2 * warp] = start;
    out[2 * warp + 1] = sm_number();
}

KERNEL nothing() {}
KERNEL waits(u32 time, u32 more_in_4_ctas) { wait(time + more_in_4_ctas * blockIdx.x / 4); }
KERNEL waits_1000() { wait(1000); }
KERNEL waits_2000() { wait(2000); }
KERNEL reads_size() { need(blockDim.x); }
KERNEL reads_parameter(int n) { need(n); }
KERNEL stores(u32* to) { to[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
KERNEL loads(const u32* from) { need(from[blockIdx.x * blockDim.x + threadIdx.x]); }
KERNEL copies(const u32* from, u32* to) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    to[place] = from[place];
}

int sms;
u32 *data, *other;
cudaStream_t stream;
double cycles_per_ns;

std::vector<u32> read_data(size_t count) {
    std::vector<u32> read(count);
    CHECK(cudaMemcpy(read.data(), data, count * sizeof(u32), cudaMemcpyDeviceToHost));
    return read;
}

void show_parameters(const char* name, void (*kernel)(Many, u32*)) {
    const int waves = 30, columns = PLACES_COUNT + 1;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    printf("Cycles to read a parameter (%s), one after the other, by place in the constant bank; one warp an SM\n", name);
#define HEAD(at) printf("%6x", 0x210 + at);
    printf("%-20s", "CTAs of an SM");
    PLACES(HEAD)
    printf("  none\n");
    for (int launch = 0; launch < 2; ++launch) {
        kernel<<<waves * sms, 32, SHARED>>>(Many(), data);
        std::vector<u32> times = read_data((size_t)waves * sms * columns);
        for (int wave : {0, waves / 2}) {
            printf("%-20s", wave == 0 ? "the first" : "the 16th");
            for (int column = 0; column < columns; ++column) {
                double sum = 0;
                for (int cta = wave * sms; cta < (wave + 1) * sms; ++cta) sum += times[cta * columns + column];
                printf("%6.0f", sum / sms);
            }
            printf("\n");
        }
    }
}

void show_starts() {
    printf("\nCycles from the start of an SM's first CTA to those of the next ones; to its last warp\n");
    for (int block : {32, 64, 128, 256, 512, 1024}) {
        const int launches = 200, warps = block / 32, most = std::min(32, 2048 / block), ctas = sms * most;
        std::vector<double> sums(most, 0);
        double last = 0;
        int counted = 0;
        for (int launch = 0; launch < launches; ++launch) {
            starts<<<ctas, block>>>(data);
            std::vector<u32> all = read_data((size_t)2 * ctas * warps);
            std::map<u32, std::vector<std::pair<u32, u32>>> by_sm;
            for (int cta = 0; cta < ctas; ++cta) {
                u32 first = ~0u, end = 0;
                for (int warp = cta * warps; warp < (cta + 1) * warps; ++warp) {
                    first = std::min(first, all[2 * warp]);
                    end = std::max(end, all[2 * warp]);
                }
                by_sm[all[2 * cta * warps + 1]].push_back({first, end});
            }
            for (auto& [sm, list] : by_sm) {
                std::sort(list.begin(), list.end());
                if ((int)list.size() != most) continue;
                ++counted;
                last += list[0].second - list[0].first;
                for (int at = 0; at < most; ++at) sums[at] += list[at].first - list[0].first;
            }
        }
        printf("%4d threads:", block);
        for (int at = 1; at < std::min(most, 9); ++at) printf(" %.1f", sums[at] / counted);
        printf("; %.1f\n", last / counted);
    }
}

typedef std::pair<std::string, std::function<void(int, int)>> Named;

// Means of the kernels' times beyond that of the first one [cycles].
std::vector<double> beyond_first(const std::vector<Named>& kernels, int grid, int block) {
    const int passes = 60, times = 15;
    std::mt19937 drawn(1);
    std::vector<int> order;
    for (int time = 0; time < times; ++time)
        for (size_t kernel = 0; kernel < kernels.size(); ++kernel) order.push_back(kernel);
    std::vector<cudaEvent_t> events(order.size() + 1);
    for (auto& event : events) CHECK(cudaEventCreate(&event));
    std::vector<double> sums(kernels.size(), 0);
    std::vector<int> counts(kernels.size(), 0);
    for (int pass = 0; pass < passes; ++pass) {
        std::shuffle(order.begin(), order.end(), drawn);
        // The host is ahead of the GPU.
        waits<<<1, 1, 0, stream>>>(order.size() * 17000, 0);
        CHECK(cudaEventRecord(events[0], stream));
        for (size_t at = 0; at < order.size(); ++at) {
            kernels[order[at]].second(grid, block);
            CHECK(cudaEventRecord(events[at + 1], stream));
        }
        CHECK(cudaStreamSynchronize(stream));
        for (size_t at = 20; pass >= 5 && at < order.size(); ++at) {
            float ms;
            CHECK(cudaEventElapsedTime(&ms, events[at], events[at + 1]));
            // The host was interrupted.
            if (ms > 0.05) continue;
            sums[order[at]] += ms * 1e6 * cycles_per_ns;
            ++counts[order[at]];
        }
    }
    for (auto& event : events) CHECK(cudaEventDestroy(event));
    for (size_t kernel = 0; kernel < kernels.size(); ++kernel) sums[kernel] /= counts[kernel];
    double first = sums[0];
    for (double& sum : sums) sum -= first;
    return sums;
}

#define LAUNCH(kernel, ...) [=](int grid, int block) { kernel<<<grid, block, 0, stream>>>(__VA_ARGS__); }

void show_kernels() {
    u32 *from = data, *to = other;
    std::vector<Named> kernels = {
        {"nothing, one warp", [=](int, int) { nothing<<<1, 32, 0, stream>>>(); }},
        {"nothing", LAUNCH(nothing)},
        {"waits for 1000", LAUNCH(waits_1000)},
        {"waits for 2000", LAUNCH(waits_2000)},
        {"reads size of CTA", LAUNCH(reads_size)},
        {"reads parameter", LAUNCH(reads_parameter, 1)},
        {"stores", LAUNCH(stores, to)},
        {"loads", LAUNCH(loads, from)},
        {"copies", LAUNCH(copies, from, to)},
    };
    const std::vector<std::pair<int, int>> shapes = {{1, 32}, {sms, 32}, {sms, 256}, {4 * sms, 256}};
    printf("\nCycles of a kernel beyond an empty one of one warp\n%-20s", "");
    for (auto [grid, block] : shapes) printf("%6d x %-4d", grid, block);
    printf("\n");
    std::vector<std::vector<double>> columns;
    for (auto [grid, block] : shapes) columns.push_back(beyond_first(kernels, grid, block));
    for (size_t kernel = 1; kernel < kernels.size(); ++kernel) {
        printf("%-20s", kernels[kernel].first.c_str());
        for (auto& column : columns) printf("%13.0f", column[kernel]);
        printf("\n");
    }
}

void show_ends() {
    printf("\nCycles beyond an empty kernel where each CTA waits for 1000, and so many more than the CTA before it\n%-20s", "CTAs x threads");
    const std::vector<int> steps = {0, 2, 4, 8, 16};
    std::vector<Named> kernels = {
        {"nothing, one warp", [](int, int) { nothing<<<1, 32, 0, stream>>>(); }}, {"nothing", LAUNCH(nothing)}};
    printf("%9s", "nothing");
    for (int step : steps) {
        printf("%9.1f", step / 4.0);
        kernels.push_back({"", LAUNCH(waits, 1000, step)});
    }
    printf("\n");
    for (auto [grid, block] : std::vector<std::pair<int, int>>{{4 * sms, 32}, {8 * sms, 32}, {16 * sms, 32}, {8 * sms, 256}}) {
        std::vector<double> times = beyond_first(kernels, grid, block);
        printf("%-20s", (std::to_string(grid) + " x " + std::to_string(block)).c_str());
        for (size_t kernel = 1; kernel < times.size(); ++kernel) printf("%9.0f", times[kernel]);
        printf("\n");
    }
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    sms = properties.multiProcessorCount;
    int khz;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    cycles_per_ns = khz * 1e-6;
    CHECK(cudaMalloc(&data, 1 << 26));
    CHECK(cudaMalloc(&other, 1 << 26));
    CHECK(cudaMemset(data, 0, 1 << 26));
    CHECK(cudaStreamCreate(&stream));
    printf("%s, %d SMs; cycles are the SMs', of %.0f MHz\n\n", properties.name, sms, khz * 1e-3);
    show_parameters("LDC", parameters);
    show_parameters("ULDC", uniform_parameters);
    show_starts();
    show_kernels();
    show_ends();
    CHECK(cudaDeviceSynchronize());
}
