// Counting in bins, and histograms over a range that has grown.
// In wasm: -O3
#include "observe/histogram.h"

#include <float.h>
#include <math.h>

#include "observe/lanes.h"

enum { TOP = SC_BINS, OUTSIDE = SC_BINS + 1, SPLIT = 16, PARTS = SC_BINS * SPLIT };

// --- Counting ------------------------------------------------------------------------------------

void sc_bins_start(sc_bins *bins, float low, float high) {
    memset(bins->counts, 0, sizeof bins->counts);
    bins->low = low;
    bins->high = high;
}

// Where bins begin and end: those of a single value are around it.
typedef struct edges {
    float low, high, width;
} edges;

static edges edges_of(const sc_bins *bins) {
    const bool is_point = bins->low == bins->high;
    edges e = {bins->low - (is_point ? 1 : 0), bins->high + (is_point ? 1 : 0), 0};
    e.width = e.high - e.low;
    return e;
}

// In bins so wide, or so far from 0 for their width, that float32 has no number for it.
static bool is_extreme(const edges *e) { return !(e->width > 0 && e->width < FLT_MAX / SC_BINS); }

static uint32_t bin_far_out(const edges *e, float x) {
    if (!(x >= e->low && x <= e->high)) return OUTSIDE;
    if (e->low == e->high) return SC_BINS / 2;
    const double part = ((double)x - (double)e->low) / ((double)e->high - (double)e->low);
    return (uint32_t)(part * SC_BINS);
}

static uint32_t bin_of(const edges *e, float x) {
    if (is_extreme(e)) return bin_far_out(e, x);
    return x >= e->low && x <= e->high ? (uint32_t)((x - e->low) * SC_BINS / e->width) : OUTSIDE;
}

void sc_bins_count(sc_bins *bins, const float *x, size_t count) {
    const edges e = edges_of(bins);
    const lanes_f low = lanes_splat(e.low), high = lanes_splat(e.high);
    const lanes_f width = lanes_splat(e.width);
    const lanes_i outside = {OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE};
    size_t i = 0;
    for (; i + 4 <= count && !is_extreme(&e); i += 4) {
        const lanes_f v = lanes_load(x + i);
        const lanes_i is_inside = (v >= low) & (v <= high);
        const lanes_f at = (lanes_f)(is_inside & (lanes_i)((v - low) * SC_BINS / width));
        const lanes_i bin = __builtin_convertvector(at, lanes_i) | (~is_inside & outside);
        for (uint32_t k = 0; k < 4; k++) bins->counts[k][bin[k]]++;
    }
    for (; i < count; i++) bins->counts[0][bin_of(&e, x[i])]++;
}

// The top edge belongs to the last bin.
static float count_of(const sc_bins *bins, uint32_t bin) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < 4; k++)
        sum += (uint64_t)bins->counts[k][bin] + (bin == TOP - 1 ? bins->counts[k][TOP] : 0);
    return (float)sum;
}

// --- Merging -------------------------------------------------------------------------------------

// i * step + a, rounded once.
static float fused(float step, float i, float a) {
    const double sum = (double)step * (double)i + (double)a;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const bool is_halfway = (bits & 0x1fffffff) == 0x10000000;
    return is_halfway || fabs(sum) < (double)FLT_MIN ? fmaf(step, i, a) : (float)sum;
}

// Item i of `count` numbers from `a` to `b`, as torch.linspace has them.
typedef struct space {
    float a, b, step;
    uint32_t count;
} space;

static space space_of(float a, float b, uint32_t count) {
    const float width = b - a, steps = (float)(count - 1);
    return (space){a, b, isinf(width) ? b / steps - a / steps : width / steps, count};
}

static float space_at(const space *s, uint32_t i) {
    if (i < s->count / 2) return fused(s->step, (float)i, s->a);
    return fused(-s->step, (float)(s->count - 1 - i), s->b);
}

// Each old bin is cut in equal parts, and each part goes to the bin in which its middle lies.
static void spread(const float *old, float low, float high, const sc_bins *bins, float *to) {
    const space parts = space_of(low, high, PARTS + 1);
    const space edge = space_of(bins->low, bins->high, SC_BINS + 1);
    const float half = 0.5f * parts.step;
    float next = space_at(&edge, 1);
    uint32_t bin = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        const float middle = space_at(&parts, i) + half;
        while (bin < SC_BINS - 1 && next <= middle) next = space_at(&edge, ++bin + 1);
        to[bin] += old[i / SPLIT] / SPLIT;
    }
}

static void spread_point(const float *old, float point, const sc_bins *bins, float *to) {
    const edges e = edges_of(bins);
    const uint32_t bin = bin_of(&e, point);
    float sum = 0;
    for (uint32_t i = 0; i < SC_BINS; i++) sum += old[i];
    if (bin != OUTSIDE) to[bin == TOP ? TOP - 1 : bin] = sum;
}

void sc_histogram_add(float histogram[SC_BINS], float low, float high, const sc_bins *bins) {
    float spread_out[SC_BINS] = {0};
    const float *old = histogram;
    if (low != bins->low || high != bins->high) {
        if (low == high)
            spread_point(histogram, low, bins, spread_out);
        else
            spread(histogram, low, high, bins, spread_out);
        old = spread_out;
    }
    for (uint32_t i = 0; i < SC_BINS; i++) histogram[i] = old[i] + count_of(bins, i);
}
