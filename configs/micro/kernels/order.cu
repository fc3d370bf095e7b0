// Orders of accesses, and hints about eviction: fences, acquires and releases, and what a load leaves in the L1.

// One CTA. Each thread does this `times` times, a multiple of 8; `words` are zeros, and stay so. `place` is the thread's word
// of a line of its own, `sum` is zero.
#define ORDER(name, instructions) \
    extern "C" __global__ void name(int times, unsigned* words, unsigned* out) { \
        unsigned* place = words + threadIdx.x; \
        unsigned sum = 0; \
        _Pragma("unroll 1") \
        for (int i = 0; i < times; i += 8) { \
            _Pragma("unroll") \
            for (int j = 0; j < 8; ++j) { instructions; } \
        } \
        out[threadIdx.x] = sum + unsigned(place - words - threadIdx.x); \
    }
#define DO(text) asm volatile(text : : "l"(place + 1024), "r"(sum) : "memory")
#define STORE(line) asm volatile("st.global.u32 [%0], %1;" : : "l"(place + 1024 * (line)), "r"(0) : "memory")
// What is loaded is added to the address of the next load, or to the sum alone.
#define CHAIN(text) { unsigned zero; asm volatile(text : "=r"(zero) : "l"(place), "r"(sum) : "memory"); place += zero; }
#define LOAD(text) { unsigned zero; asm volatile(text : "=r"(zero) : "l"(place) : "memory"); sum += zero; }

ORDER(fence_cta, DO("fence.acq_rel.cta;"))
ORDER(fence_gpu, DO("fence.acq_rel.gpu;"))
ORDER(fence_system, DO("fence.acq_rel.sys;"))
ORDER(fence_behind_store, STORE(1); DO("fence.acq_rel.gpu;"))
ORDER(fence_behind_stores, STORE(1); STORE(2); STORE(3); STORE(4); STORE(5); STORE(6); STORE(7); STORE(8); DO("fence.acq_rel.gpu;"))
ORDER(fence_behind_load, LOAD("ld.global.cg.u32 %0, [%1];"); DO("fence.acq_rel.gpu;"))
ORDER(release_store, DO("st.release.gpu.global.u32 [%0], %1;"))
ORDER(relaxed_load, CHAIN("ld.relaxed.gpu.global.u32 %0, [%1];"))
ORDER(acquire_load, CHAIN("ld.acquire.gpu.global.u32 %0, [%1];"))
ORDER(relaxed_atomic, CHAIN("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"))
ORDER(ordered_atomic, CHAIN("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"))

// One thread reads `kept` lines with one instruction, then `streamed` lines from line `first` on with another one, `passes`
// times; each load gives the place of the next one. Both numbers are multiples of 8.
#define HINTS(name, keep, stream) \
    extern "C" __global__ void name(int passes, int kept, int first, int streamed, const unsigned* zeros, unsigned* out) { \
        unsigned sum = 0; \
        for (int pass = 0; pass < passes; ++pass) { \
            READ(keep, 0, kept) \
            READ(stream, first, streamed) \
        } \
        *out = sum; \
    }
#define READ(instruction, from, lines) \
    _Pragma("unroll 1") \
    for (int line = 0; line < (lines); line += 8) { \
        _Pragma("unroll") \
        for (int j = 0; j < 8; ++j) { \
            unsigned zero; \
            asm volatile(instruction " %0, [%1];" : "=r"(zero) : "l"(zeros + ((from) + line + j) * 32 + sum) : "memory"); \
            sum += zero; \
        } \
    }
#define PLAIN "ld.global.u32"
HINTS(hint_none, PLAIN, PLAIN)
HINTS(hint_no_allocate, PLAIN, "ld.global.L1::no_allocate.u32")
HINTS(hint_last_use, PLAIN, "ld.global.lu.u32")
HINTS(hint_evict_first, PLAIN, "ld.global.L1::evict_first.u32")
HINTS(hint_streaming, PLAIN, "ld.global.cs.u32")
HINTS(hint_past, PLAIN, "ld.global.cg.u32")
HINTS(hint_relaxed, PLAIN, "ld.relaxed.gpu.global.u32")
HINTS(hint_acquire, PLAIN, "ld.acquire.gpu.global.u32")
HINTS(hint_evict_last, "ld.global.L1::evict_last.u32", PLAIN)
