#include "observe/observe.h"

#include <math.h>

static const float most_counted = 1 << 24;
static const float averaging = 0.01f;

// --- Kinds ---------------------------------------------------------------------------------------

typedef void (*widen_fn)(float *state, const sc_value_range *range);

static void widen(float *state, const sc_value_range *range) {
    state[SC_OBSERVED_LOW] = fminf(state[SC_OBSERVED_LOW], range->low);
    state[SC_OBSERVED_HIGH] = fmaxf(state[SC_OBSERVED_HIGH], range->high);
}

static float average(float old, float new) {
    const float step = new - old;
    if (isinf(step)) return (float)((double)old + (double)averaging * ((double)new - (double)old));
    return old + averaging * step;
}

static void move(float *state, const sc_value_range *range) {
    state[SC_OBSERVED_LOW] = average(state[SC_OBSERVED_LOW], range->low);
    state[SC_OBSERVED_HIGH] =
        fmaxf(average(state[SC_OBSERVED_HIGH], range->high), state[SC_OBSERVED_LOW]);
}

typedef struct observer {
    uint32_t values;       // behind the header,
    uint32_t per_channel;  // and for each channel
    bool counts;
    widen_fn widen;
} observer;

static const observer observers[SC_OBSERVE_KINDS] = {
    [SC_OBSERVE_MIN_MAX] = {.widen = widen},
    [SC_OBSERVE_MOVING_AVERAGE] = {.widen = move},
    [SC_OBSERVE_HISTOGRAM] = {.widen = widen, .values = SC_BINS, .counts = true},
    [SC_OBSERVE_CHANNELS] = {.widen = widen, .per_channel = 2},
};

uint64_t sc_observe_state_floats(sc_observe_kind kind, uint64_t channels) {
    const observer *o = &observers[kind];
    return SC_OBSERVED_HEADER + o->values + o->per_channel * channels;
}

bool sc_observe_counts(sc_observe_kind kind) { return observers[kind].counts; }

// --- Observing -----------------------------------------------------------------------------------

static bool has_seen(const float *state) { return state[SC_OBSERVED_TENSORS] > 0; }

bool sc_observe_is_sound(const float *state) {
    const float low = state[SC_OBSERVED_LOW], high = state[SC_OBSERVED_HIGH];
    return !has_seen(state) || (low <= high && !isinf(low) && !isinf(high));
}

void sc_observe_bins(const float *state, const sc_value_range *range, sc_bins *bins) {
    const bool has = has_seen(state);
    sc_bins_start(bins, has ? fminf(state[SC_OBSERVED_LOW], range->low) : range->low,
                  has ? fmaxf(state[SC_OBSERVED_HIGH], range->high) : range->high);
    bins->holds_all = range->nans == 0 && range->infinities == 0;
}

static void add_to_count(float *count, uint64_t more) {
    *count = fminf(*count + (float)more, most_counted);
}

void sc_observe_end(sc_observe_kind kind, float *state, const sc_value_range *range,
                    const sc_bins *bins) {
    float *low = &state[SC_OBSERVED_LOW], *high = &state[SC_OBSERVED_HIGH];
    add_to_count(&state[SC_OBSERVED_NANS], range->nans);
    add_to_count(&state[SC_OBSERVED_INFINITIES], range->infinities);
    if (sc_value_range_is_empty(range)) return;
    if (!has_seen(state)) {
        *low = range->low;
        *high = range->high;
        if (bins) memset(state + SC_OBSERVED_HEADER, 0, SC_BINS * sizeof *state);
        if (bins) sc_histogram_add(state + SC_OBSERVED_HEADER, *low, *high, bins);
    } else {
        if (bins) sc_histogram_add(state + SC_OBSERVED_HEADER, *low, *high, bins);
        observers[kind].widen(state, range);
    }
    add_to_count(&state[SC_OBSERVED_TENSORS], 1);
}

void sc_observe_channel(float *state, uint64_t channels, uint64_t channel,
                        const sc_value_range *range) {
    float *low = state + SC_OBSERVED_HEADER + channel, *high = low + channels;
    *low = has_seen(state) ? fminf(*low, range->low) : range->low;
    *high = has_seen(state) ? fmaxf(*high, range->high) : range->high;
}

// --- Found ranges --------------------------------------------------------------------------------

bool sc_observe_found(sc_observe_kind kind, const float *state, float *low, float *high) {
    if (!has_seen(state) || !sc_observe_is_sound(state)) return false;
    *low = state[SC_OBSERVED_LOW];
    *high = state[SC_OBSERVED_HIGH];
    if (kind == SC_OBSERVE_HISTOGRAM) sc_histogram_search(state + SC_OBSERVED_HEADER, low, high);
    return true;
}

bool sc_observe_found_channel(const float *state, uint64_t channels, uint64_t channel, float *low,
                              float *high) {
    *low = state[SC_OBSERVED_HEADER + channel];
    *high = state[SC_OBSERVED_HEADER + channels + channel];
    if (!(*low <= *high)) *low = *high = 0;
    return has_seen(state) && sc_observe_is_sound(state) && !isinf(*low) && !isinf(*high);
}
