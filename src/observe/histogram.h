// Histograms as PyTorch's HistogramObserver keeps and searches them, bit for bit: 2048 bins, merged
// as the range grows, cut where the error of 256 quantized values would be smallest.
// Prefixes: sc_histogram_ fills and searches a histogram; sc_bins_ is its range and width.
#ifndef SC_OBSERVE_HISTOGRAM_H
#define SC_OBSERVE_HISTOGRAM_H

#include "base/base.h"

enum { SC_BINS = 2048 };

// Room to count the numbers of one tensor in, and for what happens to the histogram before.
typedef struct sc_bins {
    float low, high;
    bool holds_all;                   // what is to be counted is known to lie in the range
    uint32_t counts[4][SC_BINS + 2];  // of which the sum counts; then the top edge, and outside
} sc_bins;

// Begins with bins of equal width over finite low <= high.
void sc_bins_start(sc_bins *bins, float low, float high);
// `count` more numbers; NaN and those outside of the range are left out. Not more than 2^32 in all.
void sc_bins_count(sc_bins *bins, const float *x, size_t count);
// Adds what others have counted in the same bins.
void sc_bins_add(sc_bins *bins, const sc_bins *others);
// Adds what was counted to a histogram over [low, high], which lies in the range of the bins.
void sc_histogram_add(float histogram[SC_BINS], float low, float high, const sc_bins *bins);
// The range that is worth quantizing, of a histogram over finite *low <= *high.
void sc_histogram_search(const float histogram[SC_BINS], float *low, float *high);

#endif
