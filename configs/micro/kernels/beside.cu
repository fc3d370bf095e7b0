// A chase beside stores: what a load waits for while the DRAM is written.
typedef unsigned long long u64;

// Each warp follows the ring, `spacing` elements behind its neighbour, and stores `lines` lines at each hop, which do not
// depend on it. All warps' lines follow each other in `room`, which starts again after `mask` + 1 words.
extern "C" __global__ void chase_stores(const u64* ring, int hops, int spacing, int lines, unsigned* room, unsigned mask,
                                        u64* out) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    unsigned step = gridDim.x * blockDim.x * lines, word = warp * lines * 32 + thread % 32;
    u64 place = (u64)(ring + (u64)warp * spacing);
    for (int i = 0; i < hops; ++i) {
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(place) : : "memory");
        for (int j = 0; j < lines; ++j) room[(word + j * 32) & mask] = i;
        word += step;
    }
    out[thread] = place - (u64)ring;
}
