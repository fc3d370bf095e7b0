extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void grid_stride(const float4* x, float4* y, float a, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    float4 v = x[i]; v.x *= a; v.y *= a; v.z *= a; v.w *= a; y[i] = v;
  }
}
extern "C" __global__ void transpose(const float* in, float* out, int w, int h) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void reduce(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x; float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) v += in[i];
  s[t] = v; __syncthreads();
  for (int k = 128; k > 32; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t < 32) { v = s[t] + s[t + 32];
    for (int k = 16; k; k >>= 1) v += __shfl_down_sync(0xffffffffu, v, k);
    if (!t) atomicAdd(out, v); }
}
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned h[256];
  h[threadIdx.x] = 0; __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i]], 1u);
  __syncthreads(); atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ void softmax(const float* in, float* out, int cols) {
  __shared__ float s[32];
  const float* row = in + (size_t)blockIdx.x * cols; float m = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
  for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, k));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m; __syncthreads();
  m = s[0]; for (int k = 1; k < blockDim.x / 32; k++) m = fmaxf(m, s[k]);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - m);
  for (int k = 16; k; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
  __syncthreads(); if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum; __syncthreads();
  sum = 0; for (int k = 0; k < blockDim.x / 32; k++) sum += s[k];
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) / sum;
}
__constant__ float weights[25];
extern "C" __global__ void conv5(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++) {
    int cx = min(max(x + i, 0), w - 1), cy = min(max(y + j, 0), h - 1);
    sum += weights[(j + 2) * 5 + i + 2] * in[cy * w + cx];
  }
  out[y * w + x] = sum;
}
extern "C" __global__ void hashing(const unsigned* keys, unsigned long long* out, unsigned n, unsigned buckets) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  unsigned k = keys[i];
  k ^= k >> 16; k *= 0x85ebca6bu; k ^= k >> 13; k *= 0xc2b2ae35u; k ^= k >> 16;
  unsigned long long h = 0xcbf29ce484222325ull;
  for (int b = 0; b < 4; b++) { h ^= (k >> 8 * b) & 255; h *= 0x100000001b3ull; }
  out[i] = h + k % buckets;
}
extern "C" __global__ void nbody(const float4* p, float4* a, int n) {
  __shared__ float4 s[256];
  int i = blockIdx.x * 256 + threadIdx.x; float4 me = p[i]; float x = 0, y = 0, z = 0;
  for (int t = 0; t < n; t += 256) {
    s[threadIdx.x] = p[t + threadIdx.x]; __syncthreads();
    for (int j = 0; j < 256; j++) { float4 o = s[j]; float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
      float d = dx * dx + dy * dy + dz * dz + 1e-9f, r = rsqrtf(d); r = r * r * r * o.w; x += dx * r; y += dy * r; z += dz * r; }
    __syncthreads();
  }
  a[i] = make_float4(x, y, z, 0);
}
extern "C" __global__ void doubles(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  double v = x[i], s = 0;
  for (int k = 0; k < 16; k++) s = s * v + 1.5 * k;
  y[i] = s / (v + 2.0);
}
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx; float sum = 0;
  for (int t = 0; t < n / 16; t++) {
    a[ty][tx] = A[row * n + t * 16 + tx]; b[ty][tx] = B[(t * 16 + ty) * n + col]; __syncthreads();
    for (int k = 0; k < 16; k++) sum += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  C[row * n + col] = sum;
}
extern "C" __global__ void black_scholes(const float* S, const float* X, const float* T, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  float s = S[i], x = X[i], t = T[i], q = sqrtf(t);
  float d = (logf(s / x) + (0.02f + 0.045f) * t) / (0.3f * q);
  out[i] = s * normcdff(d) - x * expf(-0.02f * t) * normcdff(d - 0.3f * q);
}
extern "C" __global__ void integer_division(const int* a, const int* b, int* q, long long* l, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  q[i] = a[i] / b[i] + a[i] % 7; l[i] = (long long)a[i] * 1000003ll / (b[i] + 5ll);
}
extern "C" __global__ void bfs(const int* rows, const int* cols, int* dist, int level, int n, int* more) {
  int v = blockIdx.x * blockDim.x + threadIdx.x; if (v >= n || dist[v] != level) return;
  for (int e = rows[v]; e < rows[v + 1]; e++) { int u = cols[e]; if (dist[u] < 0) { dist[u] = level + 1; *more = 1; } }
}
extern "C" __global__ void mandelbrot(unsigned char* out, int w, int h, float s, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  float cx = x * s - 2, cy = y * s - 1, a = 0, b = 0; int k = 0;
  while (k < most && a * a + b * b < 4) { float t = a * a - b * b + cx; b = 2 * a * b + cy; a = t; k++; }
  out[y * w + x] = k;
}
extern "C" __global__ void trigonometry(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = sinf(x[i]) + __cosf(x[i]) + sqrtf(x[i]) / x[i];
}
