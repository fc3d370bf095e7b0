// Runs the kernels of a module on a GPU and prints what they give. See README.md.
//
// device MODULE.ptx OPERANDS.txt > RECORDING. A pair of lines of operands is the kernel's name with a label,
// and four words of 64 bits for each thread, in hexadecimal.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <cuda.h>

static void check(CUresult result, const std::string &what) {
    if (result == CUDA_SUCCESS) return;
    const char *name = nullptr;
    cuGetErrorName(result, &name);
    std::cerr << "error: " << what << ": " << (name ? name : "unknown") << "\n";
    std::exit(1);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: device MODULE.ptx OPERANDS.txt\n";
        return 2;
    }
    std::ifstream source(argv[1]), lines(argv[2]);
    std::stringstream text;
    text << source.rdbuf();
    if (!source || !lines) {
        std::cerr << "error: cannot read " << argv[1] << " and " << argv[2] << "\n";
        return 2;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    std::vector<char> log(65536);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log.data(), reinterpret_cast<void *>(static_cast<uintptr_t>(log.size()))};
    CUresult loaded = cuModuleLoadDataEx(&module, text.str().c_str(), 2, options, values);
    check(loaded, std::string("assembling ") + argv[1] + "\n" + log.data());

    std::string head, words;
    while (std::getline(lines, head) && std::getline(lines, words)) {
        size_t space = head.find(' ');
        std::string name = head.substr(0, space), label = head.substr(space + 1), word;
        std::vector<uint64_t> operands;
        for (std::istringstream each(words); each >> word;)
            operands.push_back(std::strtoull(word.c_str(), nullptr, 16));
        std::vector<uint64_t> results(operands.size() / 4);
        CUfunction function;
        CUdeviceptr in, out;
        check(cuModuleGetFunction(&function, module, name.c_str()), name);
        check(cuMemAlloc(&in, operands.size() * 8), name);
        check(cuMemAlloc(&out, results.size() * 8), name);
        check(cuMemcpyHtoD(in, operands.data(), operands.size() * 8), name);
        check(cuMemsetD8(out, 0, results.size() * 8), name);
        void *args[] = {&in, &out};
        unsigned threads = static_cast<unsigned>(results.size());
        check(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, args, nullptr), label);
        check(cuMemcpyDtoH(results.data(), out, results.size() * 8), label);
        check(cuMemFree(in), name);
        check(cuMemFree(out), name);
        std::printf("%s =>", label.c_str());
        for (uint64_t result : results) std::printf(" %llx", static_cast<unsigned long long>(result));
        std::printf("\n");
    }
    return 0;
}
