// Which part of a histogram is worth quantizing: quantiles are moved inwards, in small steps, for
// as long as the error of values that are spread evenly in their bins, and quantized, falls. Types
// and the order of sums are those of PyTorch, because the end is where rounding decides.
// In wasm: -O3
#include <float.h>
#include <math.h>

#include "observe/histogram.h"

enum { LAST = SC_BINS - 1, QUANTIZED = 256, LANES = 8, ROWS = 4, BLOCK = 16 };

static const double step = 1e-5;

// As torch.sum adds up so many numbers with vectors of eight: lanes of four rows, in blocks.
static float sum_of(const float *x) {
    float sums[ROWS * LANES] = {0}, sum = 0;
    for (uint32_t from = 0; from < SC_BINS; from += BLOCK * ROWS * LANES) {
        float block[ROWS * LANES] = {0};
        for (uint32_t i = 0; i < BLOCK; i++)
            for (uint32_t k = 0; k < ROWS * LANES; k++) block[k] += x[from + i * ROWS * LANES + k];
        for (uint32_t k = 0; k < ROWS * LANES; k++) sums[k] += block[k];
    }
    for (uint32_t row = 1; row < ROWS; row++)
        for (uint32_t k = 0; k < LANES; k++) sums[k] += sums[row * LANES + k];
    for (uint32_t k = 0; k < LANES; k++) sum += sums[k];
    return sum;
}

// The integral of x * x from `begin` to `end`, times the density.
static inline float norm(float begin, float end, float density) {
    return density * ((end * end * end - begin * begin * begin) / 3);
}

// The quantized value whose interval holds x. Quotients in doubles: a float32 one may round up.
static inline float target(float x, float width) {
    const double at = floor((double)x / (double)width);
    return (float)(at < 0 ? 0 : at > QUANTIZED - 1 ? QUANTIZED - 1 : at);
}

static float error_of(const float *histogram, double bin_width, uint32_t start, uint32_t end) {
    const double target_width = bin_width * (end - start + 1) / QUANTIZED;
    const float w = (float)bin_width, d = (float)target_width, half = (float)(target_width / 2);
    float norms[SC_BINS];
    if (target_width == 0) return 0;
    for (uint32_t i = 0; i < SC_BINS; i++) {
        const float begin = ((float)i - (float)start) * w, finish = begin + w;
        const float first = target(begin, d), last = target(finish, d);
        const float density = histogram[i] / w;
        float sum = norm(begin - (first + 0.5f) * d, half, density);
        sum += (last - first - 1) * norm(-half, half, density);
        norms[i] = sum + norm(-half, finish - (last * d + half), density);
    }
    return sum_of(norms);
}

typedef struct search {
    float sums[SC_BINS];  // up to each bin
    double total, alpha, beta;
    uint32_t start, end;
} search;

static void search_init(search *s, const float *histogram) {
    double sum = 0;
    *s = (search){.total = (double)sum_of(histogram), .beta = 1, .end = LAST};
    for (uint32_t i = 0; i < SC_BINS; i++) s->sums[i] = (float)(sum += (double)histogram[i]);
}

// One step of the quantile that sheds more bins. Sets the range that is left.
static void advance(search *s, uint32_t *start, uint32_t *end) {
    const double alpha = s->alpha + step, beta = s->beta - step;
    const float below = (float)(alpha * s->total), above = (float)(beta * s->total);
    uint32_t l = s->start, r = s->end;
    while (l < s->end && s->sums[l] < below) l++;
    while (r > s->start && s->sums[r] > above) r--;
    *start = s->start;
    *end = s->end;
    if (l - s->start > s->end - r) {
        *start = l;
        s->alpha = alpha;
    } else {
        *end = r;
        s->beta = beta;
    }
}

static void narrow(search *s, const float *histogram, double bin_width) {
    float best = INFINITY;
    while (s->alpha < s->beta) {
        uint32_t start, end;
        advance(s, &start, &end);
        if (start == s->start && end == s->end) continue;
        const float error = error_of(histogram, bin_width, start, end);
        if (error > best) return;
        best = error;
        s->start = start;
        s->end = end;
    }
}

void sc_histogram_search(const float histogram[SC_BINS], float *low, float *high) {
    const float width = (*high - *low) / SC_BINS, from = *low;
    search s;
    if (width == 0 || isinf(width)) return;
    search_init(&s, histogram);
    narrow(&s, histogram, ((double)*high - (double)*low) / SC_BINS);
    *low = from + width * (float)s.start;
    *high = fminf(from + width * (float)(s.end + 1), FLT_MAX);
}
