// What compilers make of calls, tables, parameters and barriers. All but by_value take (in, out, n).
// features.ptx is made of this by NVRTC 13.0 with --gpu-architecture=compute_80, blank lines dropped.
#define KERNEL extern "C" __global__ void
#define I (blockIdx.x*blockDim.x+threadIdx.x)
__device__ __noinline__ int queens(unsigned c, unsigned l, unsigned r, unsigned full) {
  if (c == full) return 1;
  int sum = 0;
  for (unsigned p = full & ~(c|l|r); p; ) { unsigned b = p & -p; p ^= b; sum += queens(c|b, (l|b)<<1, (r|b)>>1, full); }
  return sum;
}
KERNEL recursion(const int* in, int* out, int n) { if (in[I]) out[I] = queens(0, 0, 0, (1u<<in[I])-1); }
struct Big { int a[5]; double d; char c; short s; };
__device__ __noinline__ Big twist(Big b, int k) { for (int i = 0; i < 5; i++) b.a[i] += k*i; b.d *= 2; b.c++; b.s -= k; return b; }
KERNEL structs(const int* in, int* out, int n) {
  Big b; for (int i = 0; i < 5; i++) b.a[i] = in[I]+i; b.d = in[I]; b.c = 3; b.s = 9;
  Big q = twist(b, in[I]&3); int s = 0; for (int i = 0; i < 5; i++) s += q.a[i];
  out[I] = s+(int)q.d+q.c*100+q.s;
}
struct Shape { __device__ virtual int area(int k) const { return 0; } };
struct Square : Shape { int s; __device__ Square(int s) : s(s) {} __device__ int area(int k) const override { return s*s+k; } };
struct Rect : Shape { int a, b; __device__ Rect(int a, int b) : a(a), b(b) {} __device__ int area(int k) const override { return a*b-k; } };
KERNEL virtuals(const int* in, int* out, int n) {
  Square q(in[I]&7); Rect r(in[I]&3, 5); const Shape* p = (in[I]&8) ? (const Shape*)&q : (const Shape*)&r;
  out[I] = p->area(in[I]&63);
}
struct Node { int v; Node* next; };
__device__ Node third = {7, 0}, second = {6, &third}, first = {5, &second};
__device__ int total = 77; struct Mix { char c; int* p; short s; float f; }; __device__ Mix mix = {'z', &total, -5, 1.25f};
__constant__ const int* where = &total;
KERNEL addresses(const int* in, int* out, int n) {
  int s = 0; for (Node* p = &first; p; p = p->next) s = s*10+p->v;
  out[I] = s+mix.c+*mix.p+mix.s+(int)(mix.f*4)+*where;
}
struct Pair { int v[2]; };
KERNEL by_value(const __grid_constant__ Pair t, int* out, long long d) { const int* p = t.v; out[I] = p[I&1]+(int)d; }
KERNEL counts(const int* in, int* out, int n) {
  int v = in[I];
  out[I] = __syncthreads_count(v&4) | __syncthreads_or(v == 1000)<<16 | __syncthreads_and(v >= 0)<<17;
}
KERNEL pipes(const int* in, int* out, int n) {
  __shared__ int s[64]; int w = threadIdx.x>>5;
  if (w < 2) { s[threadIdx.x] = in[I]; asm volatile("bar.arrive 1, 128;" ::: "memory"); out[I] = 1; }
  else { asm volatile("bar.sync 1, 128;" ::: "memory"); out[I] = s[threadIdx.x-64]; }
}
KERNEL copies(const int* in, int* out, int n) {
  __shared__ __align__(16) int s[128*4]; unsigned a = __cvta_generic_to_shared(&s[threadIdx.x*4]);
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(a), "l"(in+threadIdx.x*4), "r"(threadIdx.x&1 ? 16 : 8));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads(); out[I] = s[511-threadIdx.x];
}
KERNEL lanes(const int* in, int* out, int n) {
  int all; unsigned any = __match_any_sync(~0u, in[I]&3); __match_all_sync(~0u, (long long)in[I&~31], &all);
  out[I] = __popc(any) + all*100 + __reduce_add_sync(~0u, in[I]) + (__reduce_max_sync(~0u, in[I])<<16);
}
KERNEL generic(const int* in, int* out, int n) {
  __shared__ int s[128]; s[threadIdx.x] = in[I]+1; __syncthreads();
  const int* p = (in[I]&1) ? s+threadIdx.x : in+I; out[I] = *p;
}
KERNEL switched(const int* in, int* out, int n) {
  int v = in[I];
  switch (v&15) { case 0: v += 1; break; case 1: v *= 3; break; case 2: v ^= 7; break; case 3: v -= 9; case 4: v <<= 2; break; case 7: v = ~v; break; case 9: v /= 3; break; default: v = 77; }
  out[I] = v;
}
