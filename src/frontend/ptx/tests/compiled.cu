// Kernels of many kinds for the tests of the PTX front end.
// compiled.ptx is made of this by NVRTC 13.0 with --gpu-architecture=compute_75, blank lines dropped.
template<typename T> __device__ void st_body(const T* in, T* out, int n) {
  int i = blockIdx.x*blockDim.x+threadIdx.x;
  if (i > 0 && i < n-1) out[i] = (T)((in[i]+in[i-1]+in[i+1])/3);
  else if (i < n) out[i] = in[i];
}
extern "C" {
__global__ void st_short(const short* in, short* out, int n){ st_body<short>(in,out,n);}
__global__ void st_char(const signed char* in, signed char* out, int n){ st_body<signed char>(in,out,n);}
__global__ void st_uchar(const unsigned char* in, unsigned char* out, int n){ st_body<unsigned char>(in,out,n);}
__global__ void st_float(const float* in, float* out, int n){ st_body<float>(in,out,n);}
__global__ void reduce(const float* in, float* out, int n){
  __shared__ float s[256];
  float v = 0; for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) v += in[i];
  s[threadIdx.x]=v; __syncthreads();
  for (int k=blockDim.x/2;k>=32;k>>=1){ if (threadIdx.x<k) s[threadIdx.x]+=s[threadIdx.x+k]; __syncthreads(); }
  if (threadIdx.x<32){ float x=s[threadIdx.x]; for(int k=16;k;k>>=1) x+=__shfl_down_sync(~0u,x,k); if(threadIdx.x==0) atomicAdd(out,x);}
}
__global__ void histogram(const unsigned char* in, unsigned* out, int n){
  extern __shared__ unsigned h[];
  for (int i=threadIdx.x;i<256;i+=blockDim.x) h[i]=0; __syncthreads();
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) atomicAdd(&h[in[i]],1u);
  __syncthreads();
  for (int i=threadIdx.x;i<256;i+=blockDim.x) atomicAdd(&out[i],h[i]);
}
__global__ void matmul(const float* a, const float* b, float* c, int n){
  __shared__ float as[16][16], bs[16][17];
  int x=blockIdx.x*16+threadIdx.x, y=blockIdx.y*16+threadIdx.y; float sum=0;
  for(int k=0;k<n;k+=16){ as[threadIdx.y][threadIdx.x]=a[y*n+k+threadIdx.x]; bs[threadIdx.y][threadIdx.x]=b[(k+threadIdx.y)*n+x]; __syncthreads();
    for(int j=0;j<16;j++) sum+=as[threadIdx.y][j]*bs[j][threadIdx.x]; __syncthreads(); }
  c[y*n+x]=sum;
}
__constant__ int tbl[8]={3,1,4,1,5,9,2,6};
__global__ void collatz(const unsigned* in, unsigned* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return;
  unsigned long long v=in[i]; unsigned steps=0;
  while(v!=1){ if(v&1) v=3*v+1; else v>>=1; steps++; if (steps>1000) break; }
  switch(steps%5){case 0: steps+=tbl[i&7]; break; case 1: steps*=7; break; case 2: steps^=0x55; break; case 3: steps=__popc(steps); break; default: steps=__clz(steps);}
  out[i]=steps;
}
__global__ void localarr(const int* in, int* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; int a[16];
  for(int k=0;k<16;k++) a[k]=in[(i+k)%n];
  for(int p=0;p<16;p++) for(int k=0;k+1<16;k++) if(a[k]>a[k+1]){int t=a[k];a[k]=a[k+1];a[k+1]=t;}
  out[i]=a[in[i]&15];
}
__global__ void mathk(const float* in, float* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; float x=in[i];
  out[i]= sqrtf(x)+ x/3.7f + fmaf(x,x,1.f) + rsqrtf(x) + fminf(x,2.f)+floorf(x)+rintf(x)+__expf(x)+(float)((int)x%7);
}
__global__ void heavy(const float* in, float* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; float x=in[i];
  out[i]= sinf(x)+expf(x)+logf(x)+powf(x,1.5f)+tanhf(x);
}
__global__ void dheavy(const double* in, double* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; double x=in[i];
  out[i]= sqrt(x)+exp(x)+log(x)+x/7.0;
}
__global__ void vec(const float4* in, float4* out, int n, unsigned char k){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; float4 v=__ldg(in+i); v.x+=v.w; v.y*=k; out[i]=v;
}
__global__ void votes(const int* in, int* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; unsigned m=__ballot_sync(~0u,in[i]>0); 
  int x = __any_sync(~0u,in[i]>5) ? __popc(m & ((1u<<(threadIdx.x&31))-1)) : __ffs(m);
  if (in[i] & 1) { x += __popc(__activemask()); atomicCAS(out+n, 0, x); atomicMax(out+n+1, x);} 
  out[i]=x; __syncwarp(); __threadfence();
}
__device__ int counter;
__global__ void globalvar(int* out){ out[threadIdx.x]=atomicAdd(&counter,1); }
__global__ void i64(const long long* in, long long* out, int n){
  int i = blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; long long a=in[i]; 
  out[i]=a/7 + a%13 + __mul64hi(a,a) + (a<<3) + (a>>5) + (long long)(double)a + (unsigned)a/3u;
}
}
