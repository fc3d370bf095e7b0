// Coefficients in constant memory: all threads of a warp read the same one at the same time.
#define RADIUS 2
#define WIDTH (2 * RADIUS + 1)
__constant__ float coefficients[WIDTH * WIDTH];

struct Image {
    const float* points;
    int rows;
    int columns;
};

// Every point of the result is the sum of the points around it, each times its coefficient. What lies outside of the
// image counts as zero.
extern "C" __global__ void convolution(Image image, float* result) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= image.rows || column >= image.columns) return;
    float sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        for (int j = 0; j < WIDTH; j++) {
            int y = row + i - RADIUS;
            int x = column + j - RADIUS;
            if (y >= 0 && y < image.rows && x >= 0 && x < image.columns) {
                sum += coefficients[i * WIDTH + j] * image.points[y * image.columns + x];
            }
        }
    }
    result[row * image.columns + column] = sum;
}
