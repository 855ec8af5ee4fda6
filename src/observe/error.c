// In wasm: -O3
#include "observe/error.h"

#include <math.h>

// NaN against NaN, and an infinity against the same infinity.
static bool is_same(float expected, float found) {
    return expected == found || (isnan(expected) && isnan(found));
}

void sc_observe_error(double state[SC_ERROR_VALUES], const float *expected, const float *found,
                      size_t count) {
    double signal = 0, noise = 0, largest = 0;
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = (double)expected[i], difference = (double)found[i] - x;
        const double size = fabs(difference);
        if (!(size < (double)INFINITY)) {
            mismatches += !is_same(expected[i], found[i]);
            continue;
        }
        signal += x * x;
        noise += difference * difference;
        largest = size > largest ? size : largest;
    }
    state[SC_ERROR_SIGNAL] += signal;
    state[SC_ERROR_NOISE] += noise;
    state[SC_ERROR_LARGEST] = fmax(state[SC_ERROR_LARGEST], largest);
    state[SC_ERROR_COUNT] += (double)(count - mismatches);
    state[SC_ERROR_MISMATCHES] += (double)mismatches;
}

double sc_error_decibels(const double state[SC_ERROR_VALUES]) {
    return 10 * log10(state[SC_ERROR_SIGNAL] / state[SC_ERROR_NOISE]);
}
