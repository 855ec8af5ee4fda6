// In wasm: -O3
#include "observe/range.h"

#include <math.h>

#include "observe/lanes.h"

static void add_one(sc_value_range *range, float x) {
    if (isnan(x)) {
        range->nans++;
    } else if (isinf(x)) {
        range->infinities++;
    } else {
        range->low = x < range->low ? x : range->low;
        range->high = x > range->high ? x : range->high;
    }
}

// True if all of them are finite. Otherwise the range is useless.
static bool add_block(sc_value_range *range, const float *x, size_t count) {
    lanes_f low = lanes_splat(range->low), high = lanes_splat(range->high);
    lanes_f low2 = low, high2 = high;
    lanes_i finite = {-1, -1, -1, -1};
    const lanes_f infinite = lanes_splat(INFINITY);
    for (size_t i = 0; i < count; i += 8) {
        const lanes_f a = lanes_load(x + i), b = lanes_load(x + i + 4);
        low = lanes_select(a < low, a, low);
        low2 = lanes_select(b < low2, b, low2);
        high = lanes_select(high < a, a, high);
        high2 = lanes_select(high2 < b, b, high2);
        finite &= (lanes_abs(a) < infinite) & (lanes_abs(b) < infinite);
    }
    if (!(finite[0] & finite[1] & finite[2] & finite[3])) return false;
    low = lanes_select(low2 < low, low2, low);
    high = lanes_select(high < high2, high2, high);
    for (uint32_t k = 0; k < 4; k++) {
        range->low = low[k] < range->low ? low[k] : range->low;
        range->high = high[k] > range->high ? high[k] : range->high;
    }
    return true;
}

void sc_value_range_add(sc_value_range *range, const float *x, size_t count) {
    enum { BLOCK = 1024 };
    size_t i = 0;
    while (i < count) {
        const size_t block = count - i < BLOCK ? (count - i) / 8 * 8 : BLOCK;
        size_t left = block && add_block(range, x + i, block) ? 0 : block ? block : count - i;
        i += block ? block - left : 0;
        for (; left > 0; left--) add_one(range, x[i++]);
    }
}
