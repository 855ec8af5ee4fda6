// How far the results of a program are from those that were expected, over any number of tensors.
// The state is an array of float64 with a value for each of sc_observed_error, zeros at first.
// Prefix: sc_error_ measures errors over all elements seen; it reports no failure.
#ifndef SC_OBSERVE_ERROR_H
#define SC_OBSERVE_ERROR_H

#include "base/base.h"

typedef enum sc_observed_error {
    SC_ERROR_SIGNAL,   // sum of squares of what was expected
    SC_ERROR_NOISE,    // sum of squares of the differences
    SC_ERROR_LARGEST,  // the largest difference
    SC_ERROR_COUNT,    // elements that were compared
    // Left out of all that: NaN or infinite in one, and not the same in the other.
    SC_ERROR_MISMATCHES,
    SC_ERROR_VALUES,
    // Values that only a state of SC_ERROR_ALL has: rows along the last dimension, and those whose
    // first greatest element is another than expected.
    SC_ERROR_ROWS = SC_ERROR_VALUES,
    SC_ERROR_CHANGED,
    SC_ERROR_ALL
} sc_observed_error;

// `count` more numbers. Those that are not finite, and the same in both, are compared and add
// nothing.
void sc_observe_error(double state[SC_ERROR_VALUES], const float *expected, const float *found,
                      size_t count);
// Rows of numbers that come in parts.
typedef struct sc_error_rows {
    uint64_t length, at;  // of a row; in the current one
    uint64_t expected, found;
    float greatest_expected, greatest_found;
} sc_error_rows;

// `count` more numbers of rows, from the first one on.
void sc_observe_rows(sc_error_rows *rows, double state[SC_ERROR_ALL], const float *expected,
                     const float *found, size_t count);
// 10 log10(signal / noise): infinite without noise, minus that where only zeros were expected, NaN
// where nothing was compared or all is 0.
double sc_error_decibels(const double state[SC_ERROR_VALUES]);

#endif
