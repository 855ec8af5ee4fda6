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

void sc_observe_rows(sc_error_rows *rows, double state[SC_ERROR_ALL], const float *expected,
                     const float *found, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const bool is_first = rows->at == 0;
        if (is_first || expected[i] > rows->greatest_expected) {
            rows->greatest_expected = expected[i];
            rows->expected = rows->at;
        }
        if (is_first || found[i] > rows->greatest_found) {
            rows->greatest_found = found[i];
            rows->found = rows->at;
        }
        if (++rows->at < rows->length) continue;
        rows->at = 0;
        state[SC_ERROR_ROWS]++;
        state[SC_ERROR_CHANGED] += rows->expected != rows->found;
    }
}

double sc_error_decibels(const double state[SC_ERROR_VALUES]) {
    return 10 * log10(state[SC_ERROR_SIGNAL] / state[SC_ERROR_NOISE]);
}
