/* loss.cu - masked absolute error and its gradient, per forecast step; sums in double, in a fixed order. Formulas:
 * trainer/model/loss.h. */
#include "trainer/gpu/launch.cuh"

enum { THREADS = 256, N_SUMS = 4 };

/* Block x of n_blocks, forecast step y. */
static __global__ void __launch_bounds__(THREADS) dcrnn_loss(const __grid_constant__ loss_args a)
{
    SHARED_MEMORY(double, scratch);
    const size_t n = a.n_each, step = (size_t)gridDim.x * blockDim.x, at = (size_t)blockIdx.y * n;
    double sum[N_SUMS] = {0, 0, 0, 0};
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float raw = a.raw[at + i], e = a.pred_z[at + i] * a.std + a.mean - raw;
        const bool is_valid = raw != 0;
        if (is_valid) {
            double size = fabs((double)e);
            sum[0] += size;
            sum[1] += size * size;
            sum[2] += size / (double)raw;
            sum[3] += 1;
        }
        if (a.d_pred) /* a NaN must stay visible: it compares false both ways */
            a.d_pred[at + i] = !is_valid ? 0 : e > 0 ? a.std : e < 0 ? -a.std : e * 0;
    }
    for (int k = 0; k < N_SUMS; k++) {
        double total = block_sum(sum[k], scratch);
        if (threadIdx.x == 0)
            a.partial[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * N_SUMS + k] = total;
    }
}

/* One block; thread = forecast step and one of its sums, in turn. */
static __global__ void __launch_bounds__(THREADS) dcrnn_loss_sums(const __grid_constant__ loss_args a)
{
    for (int i = (int)threadIdx.x; i < a.n_out * N_SUMS; i += (int)blockDim.x) {
        double sum = 0;
        for (int b = 0; b < a.n_blocks; b++)
            sum += a.partial[((size_t)(i / N_SUMS) * a.n_blocks + b) * N_SUMS + i % N_SUMS];
        a.answer->horizons[i / N_SUMS][i % N_SUMS] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double *tally = a.answer->tally;
        double abs_sum = a.is_first ? 0 : tally[0], n_valid = a.is_first ? 0 : tally[1];
        for (int t = 0; t < a.n_out; t++) {
            abs_sum += a.answer->horizons[t][0];
            n_valid += a.answer->horizons[t][3];
        }
        tally[0] = abs_sum;
        tally[1] = n_valid;
        if (a.is_last)
            for (int i = 2; i < a.n_tally; i++)
                tally[i] = a.orders->tally[i];
    }
}

int launch_loss(const struct loss_args *a, cudaStream_t stream, struct dcr_err *err)
{
    loss_args own = *a;
    own.n_blocks = blocks_for(a->n_each, 2 * THREADS, LOSS_BLOCKS);
    dim3 grid((unsigned)own.n_blocks, (unsigned)a->n_out);
    LAUNCH(dcrnn_loss, grid, THREADS, THREADS / WARP * sizeof(double), stream, own);
    TRY(launched("dcrnn_loss", err));
    LAUNCH(dcrnn_loss_sums, 1, THREADS, 0, stream, own);
    return launched("dcrnn_loss_sums", err);
}
