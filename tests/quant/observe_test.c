// Observers against PyTorch's own: tests/quant/observers.txt, which tests/tools/make_observer_data.py
// writes, holds tensors or the recipes for them, and what is to be known after each, bit for bit.
//
//   sequence NAME KIND CHANNELS
//   make RECIPE COUNT SEED A B | values [BITS ...]      a tensor
//   state none | state LOW HIGH DIGEST                  after it; DIGEST: of what follows the header
//   found LOW HIGH SCALE ZERO EVEN_SCALE                in the end, of each channel
#include "observe/observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe/error.h"
#include "observe/qparams.h"
#include "quant/numbers.h"

enum { STATE_MAX = SC_OBSERVED_HEADER + SC_BINS };

// --- Sequences -----------------------------------------------------------------------------------

typedef struct sequence {
    char name[64];
    sc_observe_kind kind;
    uint32_t channels, told;
    float *state;
    sc_bins bins;
} sequence;

static const char *const kinds[] = {"min_max", "moving_average", "histogram", "channels"};

static void begin(setup *s, sequence *q, const char *line) {
    char kind[16];
    CHECK(sscanf(line, "sequence %63s %15s %u", q->name, kind, &q->channels) == 3);
    for (uint32_t k = 0; k < SC_OBSERVE_KINDS; k++)
        if (!strcmp(kind, kinds[k])) q->kind = (sc_observe_kind)k;
    q->state = sc_new_array(&s->arena, float, STATE_MAX);
    q->told = 0;
}

// In two pieces, as kernels give them.
static void add(sc_value_range *range, const float *x, size_t count) {
    sc_value_range_add(range, x, count / 3);
    sc_value_range_add(range, x + count / 3, count - count / 3);
}

static void observe_channels(sequence *q, const float *x, size_t count) {
    const size_t each = count / q->channels;
    for (uint32_t k = 0; k < q->channels; k++) {
        sc_value_range range = SC_VALUE_RANGE_NONE;
        add(&range, x + k * each, each);
        sc_observe_channel(q->state, q->channels, k, &range);
    }
}

static void observe(sequence *q, const float *x, size_t count) {
    sc_value_range range = SC_VALUE_RANGE_NONE;
    const sc_bins *bins = NULL;
    add(&range, x, count);
    if (q->channels) observe_channels(q, x, count);
    if (sc_observe_counts(q->kind) && !sc_value_range_is_empty(&range)) {
        bins = &q->bins;
        sc_observe_bins(q->state, &range, &q->bins);
        sc_bins_count(&q->bins, x, count / 3);
        sc_bins_count(&q->bins, x + count / 3, count - count / 3);
    }
    sc_observe_end(q->kind, q->state, &range, bins);
}

static uint64_t digest_of(const sequence *q) {
    const uint64_t floats = sc_observe_state_floats(q->kind, q->channels) - SC_OBSERVED_HEADER;
    return numbers_digest(q->state + SC_OBSERVED_HEADER, floats * sizeof(float));
}

// Zeros are equal, whatever their sign.
static bool is_float(const char *hex, float x) {
    const float expected = numbers_float_of((uint32_t)strtoul(hex, NULL, 16));
    return numbers_bits_of(expected) == numbers_bits_of(x) || (expected == 0 && x == 0);
}

static void check_state(const sequence *q, const char *line, uint32_t number) {
    char low[9], high[9], digest[17], own[17];
    if (!strcmp(line, "state none")) {
        CHECK(q->state[SC_OBSERVED_TENSORS] == 0);
        return;
    }
    if (!CHECK(sscanf(line, "state %8s %8s %16s", low, high, digest) == 3)) return;
    snprintf(own, sizeof own, "%016llx", (unsigned long long)digest_of(q));
    if (!is_float(low, q->state[SC_OBSERVED_LOW]) || !is_float(high, q->state[SC_OBSERVED_HIGH]) ||
        strcmp(own, digest) != 0)
        FAIL("%s, line %u: %s, but we have %08x %08x %s", q->name, number, line,
             numbers_bits_of(q->state[SC_OBSERVED_LOW]), numbers_bits_of(q->state[SC_OBSERVED_HIGH]), own);
}

static void check_found(sequence *q, const char *line, uint32_t number) {
    char low[9], high[9], scale[9], even[9];
    int zero;
    float from, to;
    if (!CHECK(sscanf(line, "found %8s %8s %8s %d %8s", low, high, scale, &zero, even) == 5)) return;
    if (q->channels)
        CHECK(sc_observe_found_channel(q->state, q->channels, q->told++, &from, &to));
    else
        CHECK(sc_observe_found(q->kind, q->state, &from, &to));
    const sc_qparams affine = sc_qparams_affine(from, to, -128, 127, SC_QPARAMS_EPS);
    const sc_qparams symmetric = sc_qparams_symmetric(from, to, -127, 127, SC_QPARAMS_EPS);
    if (!is_float(low, from) || !is_float(high, to) || !is_float(scale, affine.scale) ||
        affine.zero_point != zero || !is_float(even, symmetric.scale) || symmetric.zero_point != 0)
        FAIL("%s, line %u: %s, but we found %08x %08x %08x %d %08x", q->name, number, line,
             numbers_bits_of(from), numbers_bits_of(to), numbers_bits_of(affine.scale), affine.zero_point,
             numbers_bits_of(symmetric.scale));
}

static void follow(setup *s, sequence *q, const char *line, uint32_t number) {
    float *x = NULL;
    size_t count = 0;
    if (!strncmp(line, "sequence", 8)) begin(s, q, line);
    if (!strncmp(line, "make", 4)) x = numbers_make_tensor(s, line, &count);
    if (!strncmp(line, "values", 6)) x = numbers_read_tensor(s, line, &count);
    if (x) observe(q, x, count);
    if (!strncmp(line, "state", 5)) check_state(q, line, number);
    if (!strncmp(line, "found", 5)) check_found(q, line, number);
}

TEST(observers_keep_and_find_what_those_of_pytorch_do) {
    setup s;
    size_t bytes;
    setup_begin(&s);
    static sequence q;
    char *text = test_read("quant/observers.txt", &bytes);
    uint32_t number = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        follow(&s, &q, line, ++number);
    }
    CHECK(number > 300);
    setup_end(&s);
}
