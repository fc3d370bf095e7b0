// One Jacobi step of the heat equation on an n x n grid: every inner point becomes the mean of its four
// neighbours, and the border stays as it is.
extern "C" __global__ void jacobi(const float* now, float* next, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    int i = row * n + column;
    if (row == 0 || row == n - 1 || column == 0 || column == n - 1) {
        next[i] = now[i];
    } else {
        next[i] = 0.25f * (now[i - 1] + now[i + 1] + now[i - n] + now[i + n]);
    }
}

// Sets the first row to `hot`, the boundary that heats the rest.
extern "C" __global__ void heat_border(float* now, int n, float hot) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < n) now[column] = hot;
}
