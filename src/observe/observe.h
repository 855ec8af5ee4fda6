// Observers: what is remembered of the tensors that pass a place of a program, for the scale that
// they would be quantized with. The state of one is an array of float32, so that it can be a
// mutable buffer. All zeros: nothing was seen yet. It begins with SC_OBSERVED_HEADER values, of
// sc_observed; what follows depends on the kind:
//
//   kind            after the header
//   MIN_MAX         nothing
//   MOVING_AVERAGE  nothing
//   HISTOGRAM       SC_BINS counts, of bins of equal width from LOW to HIGH
//   CHANNELS        the lowest value of each channel, then the highest of each
//
// Empty tensors, and those without a finite number, leave the range as it is. Infinities and NaN
// never take part, and are counted. Counts stay at 2^24 once they are there.
// Prefix: sc_observe_ is an observer, sc_observed its state.
#ifndef SC_OBSERVE_H
#define SC_OBSERVE_H

#include "observe/histogram.h"
#include "observe/range.h"

typedef enum sc_observe_kind {
    SC_OBSERVE_MIN_MAX,         // of all tensors: MinMaxObserver
    SC_OBSERVE_MOVING_AVERAGE,  // of each tensor's, by 0.01: MovingAverageMinMaxObserver
    SC_OBSERVE_HISTOGRAM,       // HistogramObserver
    SC_OBSERVE_CHANNELS,        // MIN_MAX for each index of an axis: PerChannelMinMaxObserver
    SC_OBSERVE_KINDS
} sc_observe_kind;

// Places in the header. The rest of it is 0.
typedef enum sc_observed {
    SC_OBSERVED_LOW,
    SC_OBSERVED_HIGH,
    SC_OBSERVED_TENSORS,  // that had finite numbers; while it is 0, there is no range
    SC_OBSERVED_NANS,
    SC_OBSERVED_INFINITIES,
    SC_OBSERVED_HEADER = 8
} sc_observed;

static inline bool sc_observe_is_kind(int64_t kind) { return kind >= 0 && kind < SC_OBSERVE_KINDS; }
// Floats of a state; `channels` counts for SC_OBSERVE_CHANNELS only.
uint64_t sc_observe_state_floats(sc_observe_kind kind, uint64_t channels);
// Does observing a tensor take two walks over it, the second one to count in bins?
bool sc_observe_counts(sc_observe_kind kind);

// Is it what observing can have made of a state? One that comes from a file need not be, and must
// be before it is observed with.
bool sc_observe_is_sound(const float *state);
// One tensor's range, then, if the kind counts and the range is not empty: sc_observe_bins, its
// numbers into the bins, and sc_observe_end with them; else sc_observe_end with NULL.
void sc_observe_bins(const float *state, const sc_value_range *range, sc_bins *bins);
void sc_observe_end(sc_observe_kind kind, float *state, const sc_value_range *range,
                    const sc_bins *bins);
// For SC_OBSERVE_CHANNELS, of each channel before sc_observe_end, which counts them all.
void sc_observe_channel(float *state, uint64_t channels, uint64_t channel,
                        const sc_value_range *range);

// The range that is to be quantized, after a search where the kind has one. False when nothing was
// seen, or the state says what no observer does: it may come from a file. Not for CHANNELS.
bool sc_observe_found(sc_observe_kind kind, const float *state, float *low, float *high);
// The same for a channel; one without numbers has [0, 0].
bool sc_observe_found_channel(const float *state, uint64_t channels, uint64_t channel, float *low,
                              float *high);

#endif
