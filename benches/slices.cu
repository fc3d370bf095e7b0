// Where the lines of an H100 or H200 lie in its L2, and how fast SMs read them: slices, partitions, and the ports of GPCs.
//
//     nvcc -arch=sm_90 -O3 benches/slices.cu -o slices && ./slices > results/h100/slices.txt
//
// Reductions on one line keep its slice busy. A load that takes much longer meanwhile goes to the same slice. An SM reads every
// line in its own partition: at the line's home, or from a copy. Reductions are made at the home. So what delays SM 0's loads of
// their own line, though one SM makes them, is at home in SM 0's partition.
//
// Loads and stores go to lines that are drawn at random, so that they seldom meet.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <random>
#include <vector>

typedef unsigned u32;
typedef unsigned long long u64;
typedef std::vector<u32> Lines;
typedef std::vector<unsigned char> Sms;

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            fprintf(stderr, "slices.cu:%d: %s\n", __LINE__, cudaGetErrorString(error));        \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

// So much shared memory that an SM has one CTA.
const int SHARED = 200 * 1024;
const u32 LINES = 16 << 13;  // of 128 bytes: 16 MiB
const u32 MOST_LISTED = 49000;

__device__ u32 sm_number() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

struct Control {
    u32 began, done, wanted;
};

// The SMs of `busy` make reductions on line `target`, while one lane of SM `reader` loads each line of a list some times and
// keeps the shortest time [cycles].
__global__ void delays(u32* data, u32 target, u32 reader, const u32* list, u32 count, u32 times, const unsigned char* busy,
                       volatile Control* control, unsigned short* shortest) {
    u32 sm = sm_number();
    if (sm == reader) {
        if (threadIdx.x > 0) return;
        while (control->began < control->wanted);
        for (u32 i = 0; i < count; ++i) {
            const u32* at = data + (size_t)list[i] * 32;
            u32 best = 65535, before = 0, turn = 0;
            // The end of the loop needs what was loaded, so that the clock is read behind the load. The first load brings a copy.
            #pragma unroll 1
            while (true) {
                u32 value, now;
                asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
                turn += 1 + value;
                if (turn > times + 2) break;
                asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
                if (turn > 2) best = min(best, now - before);
                before = now;
            }
            shortest[i] = best;
        }
        control->done = 1;
        __threadfence();
    } else if (busy[sm]) {
        if (threadIdx.x == 0) atomicAdd((u32*)&control->began, 1);
        u32* word = data + (size_t)target * 32 + threadIdx.x % 32;
        while (!control->done)
            for (int i = 0; i < 8; ++i) asm volatile("red.global.add.u32 [%0], 0;" ::"l"(word) : "memory");
    }
}

enum Kind { Load, Store, Reduction };

// Every warp of the SMs in `used` loads, stores or reduces lines of a list: in an instruction four lines of 16 bytes a lane, or, where
// `sectors` is not 0 and for reductions, so many sectors of one line.
template <Kind kind>
__global__ void traffic(u32* data, const u32* list, u32 count, const unsigned char* used, u32 rounds, u32 sectors, u32* began, u32 wanted,
                        u64* cycles, u32* sink) {
    extern __shared__ u32 lines[];
    u32 sm = sm_number(), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (!used[sm]) return;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) lines[i] = list[i];
    bool is_wide = kind != Reduction && sectors == 0;
    u32 random = (sm * 977 + warp * 131 + 7 + (is_wide ? lane / 8 * 7919 : 0)) * 2654435761u, sum = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(began, 1);
        while (*(volatile u32*)began < wanted);
    }
    __syncthreads();
    u64 start = clock64();
    for (u32 round = 0; round < rounds; ++round) {
        uint4 value[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            random = random * 1664525 + 1013904223;
            u32* line = data + (size_t)lines[__umulhi(random, count)] * 32;
            if (kind == Reduction) {
                asm volatile("red.global.add.u32 [%0], 0;" ::"l"(line + lane) : "memory");
            } else if (kind == Store) {
                *(uint4*)(line + lane % 8 * 4) = make_uint4(0, 0, 0, 0);
            } else if (is_wide) {
                asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(value[i].x), "=r"(value[i].y), "=r"(value[i].z), "=r"(value[i].w)
                             : "l"(line + lane % 8 * 4) : "memory");
            } else if (lane < sectors * 8) {
                asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value[i].x) : "l"(line + lane) : "memory");
            }
        }
        if (kind == Load && (is_wide || lane < sectors * 8))
            for (int i = 0; i < 4; ++i) sum += value[i].x + (is_wide ? value[i].y + value[i].z + value[i].w : 0);
    }
    if (kind != Load) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) cycles[sm] = clock64() - start;
    if (sum == 1) *sink = sum;
}

int sms;
u32 *data, *listed, *began, *sink;
unsigned char* chosen;
unsigned short* shortest;
u64* cycles;
Control* control;

void give(const Lines& lines, const Sms& of) {
    CHECK(cudaMemcpy(listed, lines.data(), lines.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(chosen, of.data(), sms, cudaMemcpyHostToDevice));
}

std::vector<int> shortest_times(u32 target, u32 reader, const Lines& lines, Sms busy, u32 times) {
    busy[reader] = 0;
    Control start = {0, 0, std::accumulate(busy.begin(), busy.end(), 0u)};
    CHECK(cudaMemcpy(control, &start, sizeof start, cudaMemcpyHostToDevice));
    give(lines, busy);
    delays<<<sms, 128, SHARED>>>(data, target, reader, listed, lines.size(), times, chosen, control, shortest);
    std::vector<unsigned short> read(lines.size());
    CHECK(cudaMemcpy(read.data(), shortest, read.size() * 2, cudaMemcpyDeviceToHost));
    return std::vector<int>(read.begin(), read.end());
}

// What the last SM needs for its part of the work counts [lines a cycle].
template <Kind kind>
double rate(Lines lines, const Sms& used, u32 warps, u32 rounds, u32 sectors = 0) {
    std::shuffle(lines.begin(), lines.end(), std::mt19937(1));
    lines.resize(std::min<size_t>(lines.size(), MOST_LISTED));
    u32 wanted = std::accumulate(used.begin(), used.end(), 0u);
    CHECK(cudaMemset(began, 0, 4));
    CHECK(cudaMemset(cycles, 0, sms * 8));
    give(lines, used);
    traffic<kind><<<sms, warps * 32, SHARED>>>(data, listed, lines.size(), chosen, rounds, sectors, began, wanted, cycles, sink);
    std::vector<u64> taken(sms);
    CHECK(cudaMemcpy(taken.data(), cycles, sms * 8, cudaMemcpyDeviceToHost));
    double of_warp = rounds * 4.0 * (kind == Reduction || sectors > 0 ? 1 : 4);
    return wanted * warps * of_warp / *std::max_element(taken.begin(), taken.end());
}

int main() {
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    sms = gpu.multiProcessorCount;
    printf("%s, %d SMs; cycles are the SMs'\n", gpu.name, sms);
    CHECK(cudaMalloc(&data, (size_t)LINES * 128));
    CHECK(cudaMemset(data, 0, (size_t)LINES * 128));
    CHECK(cudaMalloc(&listed, LINES * 4));
    CHECK(cudaMalloc(&shortest, LINES * 2));
    CHECK(cudaMalloc(&chosen, sms));
    CHECK(cudaMalloc(&cycles, sms * 8));
    CHECK(cudaMalloc(&began, 4));
    CHECK(cudaMalloc(&sink, 4));
    CHECK(cudaMalloc(&control, sizeof(Control)));
    for (auto kernel : {(const void*)delays, (const void*)traffic<Load>, (const void*)traffic<Store>, (const void*)traffic<Reduction>})
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));

    // The slices that SM 0 reads.
    const Sms none(sms, 0), every(sms, 1);
    Sms many(none), one(none);
    std::fill(many.begin() + 8, many.begin() + 24, 1);
    one[5] = 1;
    Lines all(LINES);
    std::iota(all.begin(), all.end(), 0);
    shortest_times(0, 0, all, none, 1);
    std::vector<int> alone = shortest_times(0, 0, all, none, 3), slice_of(LINES, -1);
    std::vector<Lines> slices;
    for (u32 target = 0; target < LINES; ++target) {
        if (slice_of[target] >= 0) continue;
        Lines rest, own;
        for (u32 line = target; line < LINES; ++line)
            if (slice_of[line] < 0) rest.push_back(line);
        std::vector<int> times = shortest_times(target, 0, rest, many, 2);
        for (size_t i = 0; i < rest.size(); ++i)
            if (times[i] - alone[rest[i]] > 40 || rest[i] == target) own.push_back(rest[i]);
        for (u32 line : own) slice_of[line] = slices.size();
        slices.push_back(own);
    }
    size_t least = LINES, most = 0;
    for (const Lines& lines : slices) least = std::min(least, lines.size()), most = std::max(most, lines.size());
    printf("\nSM 0 reads 16 MiB from %zu slices, each %zu to %zu lines.\n", slices.size(), least, most);

    // Homes, by 4 KiB, and SM 0's partition.
    auto is_delayed = [&](u32 line, u32 reader) {
        Sms busy(none);
        busy[reader == 5 ? 7 : 5] = 1;
        Lines lines(1, line);
        return shortest_times(line, reader, lines, busy, 8)[0] - shortest_times(line, reader, lines, none, 8)[0] > 8;
    };
    std::vector<char> is_near(LINES / 32);
    for (u32 page = 0; page < is_near.size(); ++page) is_near[page] = is_delayed(page * 32 + 1, 0);
    u32 near_page = std::find(is_near.begin(), is_near.end(), 1) - is_near.begin();
    Sms near(none);
    for (int sm = 0; sm < sms; ++sm) near[sm] = is_delayed(near_page * 32 + 1, sm);
    printf("SMs of SM 0's partition: ");
    for (int sm = 0; sm < sms; ++sm) putchar(near[sm] ? '1' : '0');
    printf("\nHomes of 4 KiB each, 1 where in SM 0's partition: ");
    for (u32 page = 0; page < 64; ++page) putchar(is_near[page] ? '1' : '0');
    u32 uneven = 0;
    for (u32 page = 0; page < is_near.size(); page += 2) uneven += is_near[page] == is_near[page + 1];
    printf("\n8 KiB whose halves have one home: %u of %zu\nSlices of 256 bytes each, 4 KiB a row:\n", uneven, is_near.size() / 2);
    for (u32 line = 0; line < 16 * 32; line += 2) printf("%3d%s", slice_of[line], line % 32 == 30 ? "\n" : "");

    printf("\nThe most that a slice has, its share of so many KiB in a row = 1, mean and worst:");
    for (u32 pages : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
        double sum = 0, worst = 0;
        for (u32 first = 0; first < LINES; first += pages * 32) {
            std::vector<int> count(slices.size(), 0);
            for (u32 line = first; line < first + pages * 32; ++line) ++count[slice_of[line]];
            double share = *std::max_element(count.begin(), count.end()) * (double)slices.size() / (pages * 32);
            sum += share, worst = std::max(worst, share);
        }
        printf(" %u: %.2f/%.2f", pages * 4, sum * pages * 32 / LINES, worst);
    }
    printf("\n");

    // GPCs by what TPCs have them in turn, at least at first.
    auto of_gpcs = [&](std::initializer_list<int> gpcs, int of_each) {
        Sms used(none);
        for (int gpc : gpcs)
            for (int i = 0; i < of_each; ++i) used[gpc * 2 + i / 2 * 16 + i % 2] = 1;
        return used;
    };
    Sms gpc(of_gpcs({1}, 8));
    auto join = [&](const std::vector<int>& of) {
        Lines lines;
        for (int slice : of) lines.insert(lines.end(), slices[slice].begin(), slices[slice].end());
        return lines;
    };
    // Two slices give 113 bytes a cycle; three that share a port of a GPC no more together.
    auto bytes = [&](const std::vector<int>& of, const Sms& used) { return 128 * rate<Load>(join(of), used, 32, 60); };
    std::vector<int> group_of(slices.size(), -1);
    std::vector<std::vector<int>> groups;
    for (int first = 0; first < (int)slices.size(); ++first) {
        if (group_of[first] >= 0) continue;
        std::vector<int> group(1, first);
        for (int second = first + 1; second < (int)slices.size() && group.size() == 1; ++second)
            for (int third = second + 1; third < (int)slices.size() && group.size() == 1; ++third)
                if (group_of[second] < 0 && group_of[third] < 0 && bytes({first, second, third}, gpc) < 150) group = {first, second, third};
        for (int other = first + 1; other < (int)slices.size() && group.size() > 1; ++other)
            if (group_of[other] < 0 && other != group[1] && other != group[2] && bytes({first, group[1], other}, gpc) < 150)
                group.push_back(other);
        for (int slice : group) group_of[slice] = groups.size();
        groups.push_back(group);
    }
    printf("\nSlices that share a port of a GPC, and what eight SMs of one GPC, and all near SMs, read of so many of them [bytes a cycle]:\n");
    for (const auto& group : groups) {
        for (int slice : group) printf("%3d", slice);
        printf(" :");
        for (size_t count = 1; count <= group.size(); ++count) {
            std::vector<int> some(group.begin(), group.begin() + count);
            printf(" %.0f/%.0f", bytes(some, gpc), bytes(some, near));
        }
        printf("\n");
    }

    auto own_lines = [&](const std::vector<int>& of) {
        Lines lines;
        for (u32 line : join(of)) if (is_near[line / 32]) lines.push_back(line);
        return lines;
    };
    auto both = [&](int first, int second) { return rate<Reduction>(own_lines({first, second}), every, 32, 60); };
    printf("\nSlices of which two together make fewer reductions than others:");
    double of_two = 0, of_others = 0;
    int partner = -1;
    for (int first = 0; first < (int)slices.size(); ++first)
        for (int second = first + 1; second < (int)slices.size(); ++second) {
            double taken = both(first, second);
            bool is_pair = taken < 1.8 * rate<Reduction>(own_lines({first}), every, 32, 60);
            (is_pair ? of_two : of_others) = taken;
            if (is_pair) printf(" %d-%d", first, second);
            if (is_pair && first == 0) partner = second;
        }
    printf("\nReductions [lines a cycle] of one slice, one SM's partition %.2f, all SMs %.2f, of two such slices %.2f, of two others %.2f\n",
           rate<Reduction>(own_lines({0}), near, 32, 60), rate<Reduction>(own_lines({0}), every, 32, 60), of_two, of_others);
    printf("Stores [bytes a cycle] of one slice, one SM's partition %.0f, all SMs %.0f, of two such slices %.0f, of two others %.0f\n",
           128 * rate<Store>(own_lines({0}), near, 32, 60), 128 * rate<Store>(own_lines({0}), every, 32, 60),
           128 * rate<Store>(own_lines({0, partner < 0 ? 1 : partner}), every, 32, 60), 128 * rate<Store>(own_lines({0, partner == 1 ? 2 : 1}), every, 32, 60));
    printf("\nOne slice, all near SMs, cycles a request: of one sector %.3f, of two %.3f, of four %.3f\n",
           1 / rate<Load>(slices[0], near, 32, 500, 1), 1 / rate<Load>(slices[0], near, 32, 500, 2),
           1 / rate<Load>(slices[0], near, 32, 500, 4));
    printf("Reads of the first slices, by how many, of one GPC / all near SMs [bytes a cycle]:");
    for (int count : {1, 2, 4, 8, 10, 12, 16, 20, 24, 30, 32, 36, 40, 47}) {
        if (count > (int)slices.size()) continue;
        std::vector<int> some(count);
        std::iota(some.begin(), some.end(), 0);
        printf(" %d: %.0f/%.0f", count, bytes(some, gpc), bytes(some, near));
    }
    printf("\nReads of all lines [bytes a cycle]: SMs of GPC 1, by how many:");
    for (int count : {1, 2, 4, 6, 8}) printf(" %d: %.0f", count, 128 * rate<Load>(all, of_gpcs({1}, count), 32, 200));
    printf("; eight of each of two, four and eight GPCs: %.0f, %.0f, %.0f; near SMs %.0f\n",
           128 * rate<Load>(all, of_gpcs({1, 2}, 8), 32, 200), 128 * rate<Load>(all, of_gpcs({1, 2, 4, 5}, 8), 32, 200),
           128 * rate<Load>(all, of_gpcs({0, 1, 2, 3, 4, 5, 6, 7}, 8), 32, 200), 128 * rate<Load>(all, near, 32, 200));
    printf("All SMs, by warps:");
    for (u32 warps : {1, 2, 4, 8, 16, 32}) printf(" %u: %.0f", warps, 128 * rate<Load>(all, every, warps, 1600 / warps));

    Lines at_home, away;
    for (u32 line = 0; line < LINES; ++line) (is_near[line / 32] ? at_home : away).push_back(line);
    printf("\n\nOne SM / eight SMs of GPC 1 / near SMs / all SMs, by where the lines are at home seen from SM 0:\n");
    for (const auto& part : {std::make_pair("near", at_home), std::make_pair("far", away), std::make_pair("both", all)}) {
        const Lines& lines = part.second;
        printf("%-4s: stores [bytes a cycle]", part.first);
        for (const Sms& used : {of_gpcs({1}, 1), gpc, near, every}) printf(" %.0f", 128 * rate<Store>(lines, used, 16, 100));
        printf("; reductions [lines a cycle]");
        for (const Sms& used : {of_gpcs({1}, 1), gpc, near, every}) printf(" %.2f", rate<Reduction>(lines, used, 16, 200));
        printf("\n");
    }
}
