// Single-precision products of rows behind pointers with packed columns. A row of the left operand
// is `runs` runs of `k` consecutive floats, each behind a pointer. That is one run in a matrix
// product, and one per kernel tap or kernel row in a convolution with adjacent channels. So a
// convolution is a product without a copy of all inputs of its taps: only four rows at a time are
// interleaved, step by step, for the tiles. Every sum runs over its steps in order, in every tile,
// so results do not depend on how the work is cut. Weights may have fewer bits; some steps of a
// panel are converted to floats before its tiles are computed.
// Prefix: sc_igemm_ (indirect matrix multiply: rows lie behind pointers).
#ifndef SC_IGEMM_F32_H
#define SC_IGEMM_F32_H

#include "compute/compute.h"
#include "compute/pack.h"

// Rows that are interleaved at a time, and their steps.
enum { SC_IGEMM_ROWS = 4, SC_IGEMM_STEPS = 384 };

typedef struct sc_igemm_f32 {
    size_t m, n, k, runs;
    const float *const *rows;  // [m][runs]
    // Or instead of `rows`, rows of a single run: step by step the numbers of four rows, then those
    // of the next four. The last four are complete. SC_IGEMM_STEPS of all rows come first, then the
    // next steps.
    const float *interleaved;
    const void *packed;  // n columns of runs * k steps
    uint8_t weight;      // sc_dtype of the weights; others than f32 with a single run only
    size_t block;        // of those others: steps that share a scale; 0: all of them
    float *c;            // [m, n], contiguous along n; must not overlap the inputs
    size_t c_row;
    float *scratch;   // sc_igemm_scratch_f32 bytes
    float low, high;  // infinite if there is no bound; NaN passes through
} sc_igemm_f32;

// For up to m rows with that many steps.
uint64_t sc_igemm_scratch_f32(uint64_t m, uint64_t steps, uint8_t weight);
// Computes columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_igemm_run_f32(const sc_igemm_f32 *g, size_t first, size_t last);

#endif
