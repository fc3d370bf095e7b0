// Runs the kernels of arithmetic.ptx on a GPU with the inputs that device.rs makes, and writes what they give:
//
//     g++ -I/usr/local/cuda/include arithmetic.device.cpp -lcuda -o device && OUT=. ./device
//     mv device.bin arithmetic.device.bin
#include <cuda.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#define CHECK(call) do { CUresult r = call; if (r) { const char *s; cuGetErrorString(r, &s); printf("%s: %s\n", #call, s); return 1; } } while (0)
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
static const double EDGES[16] = {0.0, -0.0, 1.0, -1.0, 65504.0, 65520.0, 6e-8, -3e-8, INFINITY, -INFINITY, NAN, 0.1, 3.5, -2.5, 1e-40, 3e38};
static const uint64_t WORDS[8] = {0, 1, ~0ull, 1ull << 63, 0x7fffffffffffffffull, 0xffffffffull, 0x80000000ull, 0x8000000080000000ull};
static double real(int kernel, int block, int i) {
    uint64_t w = mix(kernel * 1000 + block * 64 + i);
    if (kernel == 4) return ((double)(w % 20001) - 10000.0) / 1000.0 + 0.0001;
    if (block == 0) return EDGES[w % 16];
    double m = (double)((int64_t)(w >> 40) - (1 << 23));
    int e = kernel == 2 ? (int)(w % 60) - 40 : (int)(w % 24) - 30;
    return ldexp(m, e);
}
int main() {
    CHECK(cuInit(0)); CUdevice d; CHECK(cuDeviceGet(&d, 0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, d)); CHECK(cuCtxSetCurrent(c));
    std::ifstream f("arithmetic.ptx"); std::stringstream ss; ss << f.rdbuf(); std::string ptx = ss.str();
    CUmodule m; CHECK(cuModuleLoadData(&m, ptx.c_str()));
    const char *names[] = {"halves", "brains", "directions", "integers", "functions"};
    int inbytes[] = {4, 4, 8, 8, 8}, outs[] = {8, 8, 8, 8, 24};
    std::ofstream o(std::string(getenv("OUT")) + "/device.bin", std::ios::binary);
    for (int k = 0; k < 5; k++) for (int b = 0; b < 4; b++) {
        CUfunction fn; CHECK(cuModuleGetFunction(&fn, m, names[k]));
        std::vector<char> in(64 * inbytes[k]), out(32 * outs[k] * inbytes[k]);
        for (int i = 0; i < 64; i++) {
            if (k == 3) { uint64_t w = mix(k * 1000 + b * 64 + i); if (b == 0) w = WORDS[w % 8]; memcpy(&in[8 * i], &w, 8); }
            else if (inbytes[k] == 4) { float x = (float)real(k, b, i); memcpy(&in[4 * i], &x, 4); }
            else { double x = real(k, b, i); memcpy(&in[8 * i], &x, 8); }
        }
        CUdeviceptr pi, po; CHECK(cuMemAlloc(&pi, in.size())); CHECK(cuMemAlloc(&po, out.size()));
        CHECK(cuMemcpyHtoD(pi, in.data(), in.size()));
        void *args[] = {&pi, &po};
        CHECK(cuLaunchKernel(fn, 1, 1, 1, 32, 1, 1, 0, 0, args, 0)); CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(out.data(), po, out.size()));
        o.write(out.data(), out.size());
        CHECK(cuMemFree(pi)); CHECK(cuMemFree(po));
    }
    printf("done\n");
}
