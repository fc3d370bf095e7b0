// Matrix products, one thread an output element, for the speed of the executor.
// products.ptx is made of this by NVRTC 13.0 with --gpu-architecture=compute_75, blank lines dropped.
template<typename T> __device__ void product(const T* a, const T* b, T* c, int n) {
  int x = blockIdx.x*blockDim.x+threadIdx.x, y = blockIdx.y*blockDim.y+threadIdx.y;
  if (x >= n || y >= n) return;
  T sum = 0;
  #pragma unroll 1
  for (int k = 0; k < n; k++) sum += a[y*n+k]*b[k*n+x];
  c[y*n+x] = sum;
}
extern "C" {
__global__ void product_int(const int* a, const int* b, int* c, int n) { product(a, b, c, n); }
__global__ void product_short(const short* a, const short* b, short* c, int n) { product(a, b, c, n); }
__global__ void product_char(const signed char* a, const signed char* b, signed char* c, int n) { product(a, b, c, n); }
}
