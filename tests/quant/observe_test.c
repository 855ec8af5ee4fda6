// Observers against PyTorch's own: tests/quant/observers.txt, which
// tests/make/make_observer_data.py writes, holds tensors or the recipes for them, and what is to
// be known after each, bit for bit.
//
//   sequence NAME KIND CHANNELS
//   make RECIPE COUNT SEED A B | values [BITS ...]      a tensor
//   state none | state LOW HIGH DIGEST                  after it; DIGEST: of what follows the
//   header found LOW HIGH SCALE ZERO EVEN_SCALE                in the end, of each channel
#include "observe/observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe/qparams.h"
#include "quant/numbers.h"

enum { STATE_MAX = SC_OBSERVED_HEADER + SC_BINS };

// --- Sequences -----------------------------------------------------------------------------------

typedef struct sequence {
    char name[64];
    sc_observe_kind kind;
    uint32_t channels, reported;
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
    q->reported = 0;
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
             numbers_bits_of(q->state[SC_OBSERVED_LOW]),
             numbers_bits_of(q->state[SC_OBSERVED_HIGH]), own);
}

static void check_found(sequence *q, const char *line, uint32_t number) {
    char low[9], high[9], scale[9], even[9];
    int zero;
    float from, to;
    if (!CHECK(sscanf(line, "found %8s %8s %8s %d %8s", low, high, scale, &zero, even) == 5))
        return;
    if (q->channels)
        CHECK(sc_observe_found_channel(q->state, q->channels, q->reported++, &from, &to));
    else
        CHECK(sc_observe_found(q->kind, q->state, &from, &to));
    const sc_qparams affine = sc_qparams_affine(from, to, -128, 127, SC_QPARAMS_EPS);
    const sc_qparams symmetric = sc_qparams_symmetric(from, to, -127, 127, SC_QPARAMS_EPS);
    if (!is_float(low, from) || !is_float(high, to) || !is_float(scale, affine.scale) ||
        affine.zero_point != zero || !is_float(even, symmetric.scale) || symmetric.zero_point != 0)
        FAIL("%s, line %u: %s, but we found %08x %08x %08x %d %08x", q->name, number, line,
             numbers_bits_of(from), numbers_bits_of(to), numbers_bits_of(affine.scale),
             affine.zero_point, numbers_bits_of(symmetric.scale));
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

// --- Cases beyond PyTorch's sequences ------------------------------------------------------------

static void observe_few(sequence *q, sc_observe_kind kind, const float *x, size_t count) {
    q->kind = kind;
    q->channels = 0;
    observe(q, x, count);
}

static sequence *new_sequence(setup *s) {
    sequence *q = test_alloc(sizeof *q);
    memset(q, 0, sizeof *q);
    q->state = sc_new_array(&s->arena, float, STATE_MAX);
    return q;
}

// PyTorch's counting is undefined where differences leave float32.
TEST(histograms_of_the_widest_ranges_count_everything) {
    setup s;
    setup_begin(&s);
    const float widest[] = {-3e38f, 3e38f, 0, 1e38f, -1e38f}, wider[] = {3.4e38f, -3.4e38f};
    const float equal[] = {1e10f, 1e10f, 1e10f}, wide[] = {0, 1e36f, 0.5e36f};
    const struct {
        const float *x;
        size_t count;
    } rows[] = {{widest, 5}, {equal, 3}, {wide, 3}};
    for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++) {
        sequence *q = new_sequence(&s);
        float low, high, sum = 0;
        observe_few(q, SC_OBSERVE_HISTOGRAM, rows[i].x, rows[i].count);
        if (i == 0) observe_few(q, SC_OBSERVE_HISTOGRAM, wider, 2);
        for (uint32_t k = 0; k < SC_BINS; k++) sum += q->state[SC_OBSERVED_HEADER + k];
        CHECK_SAME_FLOAT(sum, rows[i].count + (i == 0 ? 2.0 : 0));
        CHECK(sc_observe_found(q->kind, q->state, &low, &high));
        CHECK(low <= high && !isinf(low) && !isinf(high));
        const sc_qparams affine = sc_qparams_affine(low, high, -128, 127, SC_QPARAMS_EPS);
        CHECK(affine.scale > 0 && !isinf(affine.scale));
        CHECK(affine.zero_point >= -128 && affine.zero_point <= 127);
    }
    setup_end(&s);
}

TEST(observers_count_what_takes_no_part) {
    setup s;
    setup_begin(&s);
    for (uint32_t kind = 0; kind < SC_OBSERVE_CHANNELS; kind++) {
        sequence *q = new_sequence(&s);
        const float odd[] = {NAN, 1, INFINITY, -2, NAN, -INFINITY, NAN}, unseen[] = {NAN, INFINITY};
        observe_few(q, (sc_observe_kind)kind, odd, SC_COUNT_OF(odd));
        observe_few(q, (sc_observe_kind)kind, unseen, SC_COUNT_OF(unseen));
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_LOW], -2);
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_HIGH], 1);
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_TENSORS], 1);
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_NANS], 4);
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_INFINITIES], 3);
        q->state[SC_OBSERVED_NANS] = 16777215;
        observe_few(q, (sc_observe_kind)kind, odd, SC_COUNT_OF(odd));
        CHECK_SAME_FLOAT(q->state[SC_OBSERVED_NANS], 16777216);
    }
    setup_end(&s);
}

// NaN among thousands, in whatever place.
TEST(ranges_leave_out_what_is_not_finite) {
    enum { COUNT = 3000 };
    float x[COUNT];
    for (uint32_t at = 0; at < COUNT; at += 7) {
        sc_value_range range = SC_VALUE_RANGE_NONE;
        for (uint32_t i = 0; i < COUNT; i++) x[i] = (float)i;
        x[at] = at % 2 ? NAN : -INFINITY;
        sc_value_range_add(&range, x, COUNT);
        CHECK_SAME_FLOAT(range.low, at == 0 ? 1 : 0);
        CHECK_SAME_FLOAT(range.high, at == COUNT - 1 ? COUNT - 2 : COUNT - 1);
        CHECK_EQ_UINT(range.nans, at % 2);
        CHECK_EQ_UINT(range.infinities, 1 - at % 2);
    }
}

// States may come from files.
TEST(made_up_states_are_reported_or_bounded) {
    setup s;
    setup_begin(&s);
    const float odd[] = {NAN, INFINITY, -INFINITY, 0, 3e38f, -3e38f, 1e-40f, 5};
    for (uint32_t i = 0; i < 512; i++) {
        const float low = odd[i & 7], high = odd[i >> 3 & 7], bin = odd[i >> 6];
        sequence *q = new_sequence(&s);
        float from, to;
        q->state[SC_OBSERVED_LOW] = low;
        q->state[SC_OBSERVED_HIGH] = high;
        q->state[SC_OBSERVED_TENSORS] = 1;
        for (uint32_t k = 0; k < SC_BINS; k += 3) q->state[SC_OBSERVED_HEADER + k] = bin;
        const bool sound = low <= high && !isinf(low) && !isinf(high);
        CHECK(sc_observe_is_sound(q->state) == sound);
        CHECK(sc_observe_found(SC_OBSERVE_HISTOGRAM, q->state, &from, &to) == sound);
        if (!sound) continue;
        CHECK(!isnan(from) && !isnan(to));
        observe_few(q, SC_OBSERVE_HISTOGRAM, (const float[]){1, -3e38f, 7}, 3);
        CHECK(sc_observe_is_sound(q->state));
    }
    setup_end(&s);
}
