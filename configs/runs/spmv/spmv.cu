// y = A x for a sparse matrix A in CSR form: row r has the values and columns from row_offsets[r] up to
// row_offsets[r + 1]. One thread computes one row, the "scalar" kernel of Bell and Garland, "Implementing
// Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009.
extern "C" __global__ void spmv_csr(int rows, const int* row_offsets, const int* columns,
                                    const float* values, const float* x, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = row_offsets[row]; i < row_offsets[row + 1]; i++) {
            sum += values[i] * x[columns[i]];
        }
        y[row] = sum;
    }
}
