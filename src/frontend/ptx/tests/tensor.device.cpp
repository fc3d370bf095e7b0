// Runs the kernels of tensor.ptx or warpgroup.ptx on a GPU, and writes what they give, one after the other:
//
//     g++ -I/usr/local/cuda/include tensor.device.cpp -lcuda -o device
//     ./device tensor > tensor.device.bin; ./device warpgroup > warpgroup.device.bin
#include <cuda.h>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#define CHECK(call) do { CUresult r = call; if (r) { const char *s; cuGetErrorString(r, &s); fprintf(stderr, "%s: %s\n", #call, s); return 1; } } while (0)
struct Kernel { const char *name; unsigned blocks, bytes; };
static const Kernel KERNELS[] = {
    {"half_16", 7, 16}, {"half_8", 7, 16}, {"half_sums_16", 7, 16}, {"half_sums_8", 7, 16}, {"brain_16", 7, 16}, {"brain_8", 7, 16},
    {"tf32_8", 7, 16}, {"tf32_4", 7, 16}, {"short_32", 5, 16}, {"short_16", 5, 16}, {"short_sums_32", 5, 16}, {"short_sums_16", 5, 16},
    {"bytes_32", 2, 16}, {"bytes_16", 2, 16}, {"bytes_small", 2, 16}, {"bits_256", 1, 16},
    {"bits_128", 1, 16}, {"bits_small", 1, 16}, {"double_small", 1, 32}, {"double_4", 1, 32}, {"double_8", 1, 32},
    {"double_16", 1, 32}, {"matrices", 1, 96}, {"wmma_global", 8, 32}, {"wmma_shared", 8, 32},
    {"wmma_half", 8, 16}, {"wmma_brain", 2, 32}};
// Of two warpgroups, where a lane writes a word.
static const Kernel WARPGROUPS[] = {
    {"half_shared", 1, 32}, {"half_registers", 1, 32}, {"half_registers_turned", 1, 32}, {"half_sums", 1, 32}, {"brain", 1, 32},
    {"tf32_shared", 1, 32}, {"tf32_registers", 1, 32}, {"bytes_held", 1, 32}, {"bytes_registers", 1, 32}, {"half_wide", 1, 32},
    {"short_shared", 1, 32}, {"short_registers", 1, 32}, {"short_any", 1, 32}, {"short_sums", 1, 32}, {"short_sums_any", 1, 32}};
int main(int, char **names) {
    bool of_warpgroups = names[1] == std::string("warpgroup");
    unsigned threads = of_warpgroups ? 256 : 32;
    std::vector<Kernel> kernels(std::begin(KERNELS), std::end(KERNELS));
    if (of_warpgroups) kernels.assign(std::begin(WARPGROUPS), std::end(WARPGROUPS));
    CHECK(cuInit(0)); CUdevice d; CHECK(cuDeviceGet(&d, 0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, d)); CHECK(cuCtxSetCurrent(c));
    std::ifstream f(names[1] + std::string(".ptx")); std::stringstream text; text << f.rdbuf();
    CUmodule m; CHECK(cuModuleLoadData(&m, text.str().c_str()));
    for (const Kernel &kernel : kernels) {
        CUfunction function; CHECK(cuModuleGetFunction(&function, m, kernel.name));
        std::vector<char> out(kernel.blocks * 32 * kernel.bytes);
        CUdeviceptr place; CHECK(cuMemAlloc(&place, out.size()));
        void *args[] = {&place};
        CHECK(cuLaunchKernel(function, kernel.blocks, 1, 1, threads, 1, 1, 0, 0, args, 0)); CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(out.data(), place, out.size()));
        fwrite(out.data(), 1, out.size(), stdout);
        CHECK(cuMemFree(place));
    }
}
