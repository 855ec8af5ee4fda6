#include "compute/rows.h"

#include <math.h>
#include <stdlib.h>

#include "compute/simd/dot_i8.h"
#include "harness.h"
#include "team.h"

uint32_t rows_random = 1;

int64_t rows_pick(int64_t low, int64_t high) {
    rows_random = rows_random * 1664525u + 1013904223u;
    return low + (int64_t)((rows_random >> 8) % (uint64_t)(high - low + 1));
}

float *rows_floats(int64_t count) {
    float *values = test_alloc((size_t)(count > 0 ? count : 1) * sizeof(float));
    for (int64_t i = 0; i < count; i++) values[i] = (float)rows_pick(-16, 16) / 8;
    return values;
}

float *rows_reals(int64_t count) {
    float *values = test_alloc((size_t)(count > 0 ? count : 1) * sizeof(float));
    for (int64_t i = 0; i < count; i++) values[i] = (float)rows_pick(-1000000, 1000000) / 1e6f;
    return values;
}

int8_t *rows_bytes(int64_t count) {
    int8_t *values = test_alloc((size_t)(count > 0 ? count : 1));
    const bool extremes = rows_pick(0, 7) == 0;
    for (int64_t i = 0; i < count; i++)
        values[i] = (int8_t)(extremes ? (-rows_pick(0, 1)) ^ 127 : rows_pick(-128, 127));
    return values;
}

int32_t *rows_ints(int64_t count, int32_t limit) {
    int32_t *values = test_alloc((size_t)count * sizeof(int32_t));
    for (int64_t i = 0; i < count; i++) values[i] = (int32_t)rows_pick(-limit, limit - 1);
    return values;
}

float *rows_powers(int64_t count) {
    float *values = test_alloc((size_t)count * sizeof(float));
    for (int64_t i = 0; i < count; i++) values[i] = 1.0f / (float)(1 << rows_pick(0, 14));
    return values;
}

void rows_regrid(sc_record *record) {
    const int lowest = record->out == SC_DTYPE_I8 ? -128 : 0;
    const int64_t kind = rows_pick(0, 3);  // any factor, none, and halves
    const float scale = (float)rows_pick(1, 64) / 37;
    record->finish.regrids = true;
    record->finish.regrid =
        (sc_regrid){.scale = kind > 1 ? 0.5f : scale,
                    .inverse = kind > 1    ? 1
                               : kind == 1 ? 1 / scale
                                           : (float)rows_pick(1, 64) / 41,
                    .low = (float)(lowest + rows_pick(0, 40)),
                    .high = (float)(lowest + rows_pick(rows_pick(0, 9) ? 200 : 40, 255)),
                    .zero = (int32_t)(lowest + rows_pick(0, 255))};
}

static const sc_variant *reference_of(sc_record_kind kind) {
    const sc_variant *last = NULL;
    for (uint32_t v = 0; v < sc_variant_count; v++) {
        if (sc_variants[v].kind == kind) last = &sc_variants[v];
    }
    return last;
}

// Memory that holds nothing of use, whose end the sanitizers guard.
static uint8_t *poisoned(size_t bytes) {
    uint8_t *memory = test_alloc(bytes + 1);
    memset(memory, 0xff, bytes);
    return memory;
}

void *rows_expected(sc_record *record, void **out, size_t bytes) {
    *out = poisoned(bytes);
    sc_variant_run(reference_of(record->kind), record, NULL, NULL);
    return *out;
}

static void open_team(void) {
    enum { WIDTH = 3 };
    static bool is_open;
    if (!is_open) team_open(WIDTH), atexit(team_close);
    is_open = true;
}

// The packing of a row, which has to write every byte of it, on threads or not.
static void *pack(const sc_variant *v, const sc_record *record) {
    if (!v->algorithm->pack) return NULL;
    const size_t bytes = (size_t)sc_variant_pack_bytes(v, record);
    uint8_t *packed = poisoned(bytes), *again = poisoned(bytes);
    memset(again, 0, bytes);
    open_team();
    v->algorithm->pack(record, packed);
    team_share_all(true);
    v->algorithm->pack(record, again);
    team_share_all(false);
    if (!CHECK_EQ_MEM(again, packed, bytes)) FAIL("%s leaves gaps in its packing", v->name);
    return packed;
}

static void run_range(const sc_variant *v, const sc_record *record, const void *packed,
                      int64_t from, int64_t to) {
    uint8_t *scratch = poisoned((size_t)sc_variant_scratch_bytes(v, record));
    v->algorithm->run(record, packed, from, to, scratch);
}

// A tile is a range.
static void run_on_threads(const sc_variant *v, const sc_record *record, const void *packed) {
    open_team();
    team_share_all(true);
    sc_variant_run(v, record, packed, poisoned((size_t)sc_variant_scratch_bytes(v, record)));
    team_share_all(false);
}

// The results of a row, which must be the same bits when it runs in ranges, and on threads.
static void *results_of(const sc_variant *v, sc_record *record, void **out, size_t bytes) {
    const void *packed = pack(v, record);
    const int64_t tiles = v->algorithm->tiles(record);
    void *whole = *out = poisoned(bytes);
    run_range(v, record, packed, 0, tiles);
    *out = poisoned(bytes);
    for (int64_t end = tiles; end > 0;) {
        const int64_t from = end - rows_pick(1, end);
        run_range(v, record, packed, from, end);
        end = from;
    }
    if (!CHECK_EQ_MEM(*out, whole, bytes)) FAIL("%s differs when it runs in ranges", v->name);
    *out = poisoned(bytes);
    run_on_threads(v, record, packed);
    if (!CHECK_EQ_MEM(*out, whole, bytes)) FAIL("%s differs when threads run it", v->name);
    return whole;
}

static bool is_close(const float *results, const float *expected, size_t count, float bound) {
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(results[i] - expected[i]) <= bound)) return false;
    }
    return true;
}

// Without scratch and packing there is always a row, and it needs neither.
static bool choice_holds(const sc_record *record) {
    const sc_variant *best = sc_variant_best(record), *poor = sc_variant_pick(record, NULL, 0);
    return CHECK(best && sc_variant_pick(record, best, UINT64_MAX) == best) &&
           CHECK(poor && !poor->algorithm->pack && !sc_variant_scratch_bytes(poor, record));
}

// Assumes one of the meanings that the dot product has on this host, or in plain C. It follows the
// random numbers, but takes none of them.
static void assume_dot(void) {
    (void)sc_dot_assume((sc_dot_kind)(SC_DOT_INEXACT + (rows_random >> 16) % 3));
}

// The definition runs as well: its ranges are to agree, too.
static bool compare_rows(sc_record *record, void **out, size_t bytes, const float *bound,
                         uint32_t *ran) {
    const void *expected = rows_expected(record, out, bytes);
    assume_dot();
    bool agree = choice_holds(record);
    for (uint32_t v = 0; v < sc_variant_count && agree; v++) {
        if (!sc_variant_fits(&sc_variants[v], record)) continue;
        const void *results = results_of(&sc_variants[v], record, out, bytes);
        ran[v]++;
        if (bound)
            agree = CHECK(is_close(results, expected, bytes / sizeof(float), *bound));
        else
            agree = CHECK_EQ_MEM(results, expected, bytes);
        if (!agree) FAIL("%s differs from the definition", sc_variants[v].name);
    }
    (void)sc_dot_assume(SC_DOT_UNTRIED);
    return agree;
}

bool rows_agree(sc_record *record, void **out, size_t bytes, uint32_t ran[ROWS_MAX]) {
    return compare_rows(record, out, bytes, NULL, ran);
}

bool rows_are_close(sc_record *record, void **out, size_t count, float bound) {
    uint32_t ran[ROWS_MAX] = {0};
    return compare_rows(record, out, count * sizeof(float), &bound, ran);
}

// Rows by the dot product do not run on hosts where it is not exact.
static bool can_be_reached(const sc_variant *v) {
    const bool exact = sc_dot_assume(SC_DOT_SIGNED) || sc_dot_assume(SC_DOT_UNSIGNED);
    (void)sc_dot_assume(SC_DOT_UNTRIED);
    return exact || !strstr(v->name, "_dot");
}

void rows_were_reached(sc_record_kind kind, const uint32_t ran[ROWS_MAX], uint32_t least) {
    for (uint32_t v = 0; v < sc_variant_count; v++) {
        if (sc_variants[v].kind == kind && test_case("%s was reached", sc_variants[v].name))
            CHECK(ran[v] > least || !can_be_reached(&sc_variants[v]));
    }
}
