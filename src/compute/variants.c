// The table of algorithms, and the choice of one.
#include "base/parallel.h"
#include "compute/conv.h"
#include "compute/matmul.h"
#include "compute/simd/dot_i8.h"

#define SC_DTYPE_ANY SC_DTYPE_NONE

#define VARIANT(name, ...) extern const sc_algorithm sc_algorithm_##name;
#include "compute/variants.def"
#undef VARIANT

#define VARIANT(name, kind, in, weight, out)                                \
    {#name,          SC_RECORD_##kind,    SC_DTYPE_##in, SC_DTYPE_##weight, \
     SC_DTYPE_##out, &sc_algorithm_##name},
const sc_variant sc_variants[] = {
#include "compute/variants.def"
};
#undef VARIANT
const uint32_t sc_variant_count = SC_COUNT_OF(sc_variants);

static bool is_type(uint8_t row, uint8_t type) { return row == SC_DTYPE_ANY || row == type; }

bool sc_variant_fits(const sc_variant *v, const sc_record *r) {
    return v->kind == r->kind && is_type(v->in, r->in) && is_type(v->weight, r->weight) &&
           is_type(v->out, r->out) && v->algorithm->fits(r);
}

const sc_variant *sc_variant_best(const sc_record *record) {
    for (uint32_t i = 0; i < sc_variant_count; i++) {
        if (sc_variant_fits(&sc_variants[i], record)) return &sc_variants[i];
    }
    return NULL;
}

const sc_variant *sc_variant_pick(const sc_record *record, const sc_variant *packed_for,
                                  uint64_t scratch_bytes) {
    for (uint32_t i = 0; i < sc_variant_count; i++) {
        const sc_variant *v = &sc_variants[i];
        if ((!v->algorithm->pack || v == packed_for) && sc_variant_fits(v, record) &&
            sc_variant_scratch_bytes(v, record) <= scratch_bytes)
            return v;
    }
    return NULL;
}

uint64_t sc_variant_pack_bytes(const sc_variant *v, const sc_record *record) {
    return v->algorithm->pack ? v->algorithm->pack_bytes(record) : 0;
}

uint64_t sc_variant_scratch_bytes(const sc_variant *v, const sc_record *record) {
    return v->algorithm->scratch_bytes ? v->algorithm->scratch_bytes(record) : 0;
}

// --- Running -------------------------------------------------------------------------------------

typedef struct whole {
    const sc_variant *variant;
    const sc_record *record;
    const void *packed;
    void *scratch;
} whole;

static void run_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const whole *w = work;
    w->variant->algorithm->run(w->record, w->packed, from, to,
                               thread ? sc_parallel_scratch(thread) : w->scratch);
}

static double multiplications(const sc_record *record) {
    if (record->kind == SC_RECORD_MATMUL) {
        const sc_matmul *mm = sc_matmul_of(record);
        return (double)mm->batch * (double)mm->m * (double)mm->n * (double)mm->k;
    }
    const sc_conv *c = sc_conv_of(record);
    const double inputs = (double)c->in_channels * (double)sc_conv_taps(c);
    const double area = (double)(c->transposed ? sc_conv_in_area(c) : sc_conv_out_area(c));
    return (double)c->batch * (double)sc_conv_channels(c) * area * inputs;
}

// Nanoseconds of a multiplication, by far less with all lanes of all instructions in use.
#define COST 0.053

void sc_variant_run(const sc_variant *v, const sc_record *record, const void *packed,
                    void *scratch) {
    whole w = {v, record, packed, scratch};
    const int64_t tiles = v->algorithm->tiles(record);
    const double each = multiplications(record) / (double)sc_max_i64(tiles, 1);
    const int64_t step = sc_parallel_step(tiles, each * COST);
    if (step < tiles && sc_parallel_reserve(sc_variant_scratch_bytes(v, record)))
        sc_parallel(tiles, step, run_part, &w);
    else
        run_part(&w, 0, tiles, 0);
}
