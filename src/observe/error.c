// In wasm: -O3
#include "observe/error.h"

#include <math.h>

static void add_odd(double *state, float expected, float found) {
    if (expected == found || (isnan(expected) && isnan(found)))
        state[SC_ERROR_COUNT]++;
    else
        state[SC_ERROR_ODD]++;
}

void sc_observe_error(double state[SC_ERROR_VALUES], const float *expected, const float *found,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double signal = (double)expected[i], noise = (double)found[i] - signal;
        if (!(fabs(noise) < (double)INFINITY)) {
            add_odd(state, expected[i], found[i]);
            continue;
        }
        state[SC_ERROR_SIGNAL] += signal * signal;
        state[SC_ERROR_NOISE] += noise * noise;
        state[SC_ERROR_LARGEST] = fmax(state[SC_ERROR_LARGEST], fabs(noise));
        state[SC_ERROR_COUNT]++;
    }
}

double sc_error_decibels(const double state[SC_ERROR_VALUES]) {
    return 10 * log10(state[SC_ERROR_SIGNAL] / state[SC_ERROR_NOISE]);
}
