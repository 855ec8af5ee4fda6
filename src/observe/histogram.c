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
    bins->holds_all = false;
}

// The range of the bins. A single value has bins around it.
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

static uint32_t extreme_bin_of(const edges *e, float x) {
    if (!(x >= e->low && x <= e->high)) return OUTSIDE;
    if (e->low == e->high) return SC_BINS / 2;
    const double part = ((double)x - (double)e->low) / ((double)e->high - (double)e->low);
    return (uint32_t)(part * SC_BINS);
}

static uint32_t bin_of(const edges *e, float x) {
    if (is_extreme(e)) return extreme_bin_of(e, x);
    return x >= e->low && x <= e->high ? (uint32_t)((x - e->low) * SC_BINS / e->width) : OUTSIDE;
}

// Bins of numbers in the range. They are truncated by the excess of rounding to nearest, which
// takes fewer instructions than converting.
static inline lanes_i bins_in(lanes_f x, lanes_f low, lanes_f width) {
    const lanes_f large = lanes_splat(1 << 23), at = (x - low) * SC_BINS / width;
    const lanes_f sum = at + large;
    return (lanes_i)sum + (sum - large > at);
}

// Blocks of numbers that are all in the range. If one is not, it is counted wrong, but nowhere
// else.
static size_t count_inside(sc_bins *bins, const edges *e, const float *x, size_t count) {
    enum { BLOCK = 256 };
    const lanes_f low = lanes_splat(e->low), width = lanes_splat(e->width);
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        uint16_t at[BLOCK];
        for (uint32_t k = 0; k < BLOCK; k += 8) {
            const lanes_i a = bins_in(lanes_load(x + i + k), low, width);
            const lanes_i b = bins_in(lanes_load(x + i + k + 4), low, width);
            const lanes_h both = lanes_least((lanes_h)((a & 0xffff) | b << 16), OUTSIDE);
            memcpy(at + k, &both, sizeof both);
        }
        for (uint32_t k = 0; k < BLOCK; k += 4)
            for (uint32_t row = 0; row < 4; row++) bins->counts[row][at[k + row]]++;
    }
    return i;
}

// Counts numbers of which some may be outside.
static size_t count_four_by_four(sc_bins *bins, const edges *e, const float *x, size_t count) {
    const lanes_f low = lanes_splat(e->low), high = lanes_splat(e->high);
    const lanes_f width = lanes_splat(e->width);
    const lanes_i outside = {OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const lanes_f v = lanes_load(x + i);
        const lanes_i is_inside = (v >= low) & (v <= high);
        const lanes_f at = (lanes_f)(is_inside & (lanes_i)((v - low) * SC_BINS / width));
        const lanes_i bin = __builtin_convertvector(at, lanes_i) | (~is_inside & outside);
        for (uint32_t k = 0; k < 4; k++) bins->counts[k][bin[k]]++;
    }
    return i;
}

void sc_bins_count(sc_bins *bins, const float *x, size_t count) {
    const edges e = edges_of(bins);
    size_t i = 0;
    if (!is_extreme(&e)) {
        i = bins->holds_all ? count_inside(bins, &e, x, count) : 0;
        i += count_four_by_four(bins, &e, x + i, count - i);
    }
    for (; i < count; i++) bins->counts[0][bin_of(&e, x[i])]++;
}

void sc_bins_add(sc_bins *bins, const sc_bins *others) {
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t bin = 0; bin < SC_BINS + 2; bin++)
            bins->counts[k][bin] += others->counts[k][bin];
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

// The largest number of which all counts are multiples. Sums of their parts are exact as long as 24
// bits hold them, and then the order is free. 0 if that is below the normal numbers.
static float grain_of(const float *histogram) {
    int32_t least = 255;
    for (uint32_t i = 0; i < SC_BINS; i++) {
        uint32_t bits;
        memcpy(&bits, &histogram[i], sizeof bits);
        if (bits == 0) continue;
        const int32_t zeros = __builtin_ctz(bits | 1u << 23);
        const int32_t grain = (int32_t)(bits >> 23) - 23 + zeros;
        least = grain < least ? grain : least;
    }
    return least > 5 ? ldexpf(1, least - 127) : 0;
}

typedef struct spreading {
    space parts, edge;
    float half, next, exact;  // sums below `exact` are
    uint32_t bin;             // that parts go to, for as long as their middles are below `next`
    float *to;
} spreading;

static float middle_of(const spreading *s, uint32_t part) {
    return space_at(&s->parts, part) + s->half;
}

static bool is_here(const spreading *s, uint32_t part) {
    return s->bin == SC_BINS - 1 || !(s->next <= middle_of(s, part));
}

static void advance(spreading *s, uint32_t part) {
    const float middle = middle_of(s, part);
    while (s->bin < SC_BINS - 1 && s->next <= middle) s->next = space_at(&s->edge, ++s->bin + 1);
}

// The first part that goes to another bin; middles only grow from `part` to `end`.
static uint32_t end_of_bin(const spreading *s, uint32_t part, uint32_t end) {
    if (is_here(s, end - 1)) return end;
    uint32_t here = part, beyond = end - 1;
    while (beyond - here > 1) {
        const uint32_t between = (here + beyond) / 2;
        if (is_here(s, between))
            here = between;
        else
            beyond = between;
    }
    return beyond;
}

static void spread_bin(spreading *s, uint32_t old, float count) {
    const uint32_t end = (old + 1) * SPLIT;
    uint32_t part = old * SPLIT;
    while (part < end) {
        advance(s, part);
        const bool is_exact = s->to[s->bin] + count < s->exact;
        const uint32_t next = is_exact ? end_of_bin(s, part, end) : part + 1;
        s->to[s->bin] += count / SPLIT * (float)(next - part);
        part = next;
    }
}

// Each old bin is cut in equal parts, and each part goes to the bin in which its middle lies, one
// after the other. Middles are counted from both ends, and need not grow where these meet.
static void spread(const float *old, float low, float high, const sc_bins *bins, float *to) {
    spreading s = {.parts = space_of(low, high, PARTS + 1),
                   .edge = space_of(bins->low, bins->high, SC_BINS + 1),
                   .exact = grain_of(old) / SPLIT * (1 << 24),
                   .to = to};
    s.half = 0.5f * s.parts.step;
    s.next = space_at(&s.edge, 1);
    for (uint32_t i = 0; i < SC_BINS; i++) {
        if (old[i] != 0)
            spread_bin(&s, i, old[i]);
        else if (i == SC_BINS / 2 - 1)
            advance(&s, (i + 1) * SPLIT - 1);
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
