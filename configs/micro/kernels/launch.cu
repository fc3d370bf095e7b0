// Launches of kernels that do nothing.
extern "C" __global__ void nothing() {}
