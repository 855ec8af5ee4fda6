#include "devtools/inspect/values.h"

#include <float.h>
#include <math.h>

enum { FIRST_MAX = 16 };

// --- Numbers -------------------------------------------------------------------------------------

static sc_status tensor_numbers(sc_ctx *ctx, sc_arena *arena, const sc_dump_tensor *t,
                                sc_numbers *out) {
    bool is_read = false;
    *out = (sc_numbers){.kind = SC_DUMP_TENSOR,
                        .dtype = t->dtype,
                        .rank = t->rank,
                        .sizes = t->sizes,
                        .count = t->numel};
    if (t->data.size == 0) return SC_OK;
    double *data = t->numel < SIZE_MAX / sizeof *data
                       ? sc_arena_try_alloc(arena, (size_t)t->numel * sizeof *data)
                       : NULL;
    if (!data) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a logged tensor");
    SC_TRY(sc_dump_tensor_read(ctx, t, data, &is_read));
    if (is_read) out->data = data;
    return SC_OK;
}

static sc_numbers scalar(sc_arena *arena, const sc_dump_value *value) {
    sc_numbers out = {.kind = value->kind};
    if (value->kind == SC_DUMP_NULL || value->kind == SC_DUMP_STRING) return out;
    double *data = sc_new(arena, double);
    *data = value->kind == SC_DUMP_INT || value->kind == SC_DUMP_BOOL ? (double)value->i : value->d;
    out.data = data;
    out.count = 1;
    return out;
}

sc_status sc_numbers_of(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *value,
                        sc_numbers_list *out) {
    const bool is_tensor = value->kind == SC_DUMP_TENSOR || value->kind == SC_DUMP_TENSOR_LIST;
    const uint32_t count = is_tensor ? value->tensor_count : 1;
    sc_numbers *items = sc_new_array(arena, sc_numbers, (size_t)count + 1);
    *out = (sc_numbers_list){items, count};
    if (!is_tensor) items[0] = scalar(arena, value);
    for (uint32_t i = 0; is_tensor && i < count; i++)
        SC_TRY(tensor_numbers(ctx, arena, &value->tensors[i], &items[i]));
    return SC_OK;
}

sc_status sc_numbers_of_all(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *const *values,
                            uint32_t count, sc_numbers_list *out) {
    SC_VEC(sc_numbers) all = {0};
    for (uint32_t i = 0; i < count; i++) {
        sc_numbers_list one;
        SC_TRY(sc_numbers_of(ctx, arena, values[i], &one));
        for (uint32_t k = 0; k < one.count; k++) sc_vec_push(arena, &all, one.items[k]);
    }
    *out = (sc_numbers_list){all.data, all.count};
    return SC_OK;
}

bool sc_numbers_same_shape(const sc_numbers *a, const sc_numbers *b) {
    if ((a->kind == SC_DUMP_TENSOR) != (b->kind == SC_DUMP_TENSOR))
        return a->count == 1 && b->count == 1;
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
}

// --- As JSON -------------------------------------------------------------------------------------

typedef struct summary {
    double min, max, sum;
    uint64_t numbers, nans, infinities;
} summary;

static summary summarize(const sc_numbers *v) {
    summary s = {.min = INFINITY, .max = -INFINITY};
    for (uint64_t i = 0; v->data && i < v->count; i++) {
        const double x = v->data[i];
        s.nans += isnan(x) != 0;
        s.infinities += isinf(x) != 0;
        if (!isfinite(x)) continue;
        s.numbers++;
        s.min = fmin(s.min, x);
        s.max = fmax(s.max, x);
        s.sum += x;
    }
    return s;
}

static void put_number(sc_json_writer *w, const char *key, bool has, double value) {
    if (has)
        sc_json_put_f64(w, key, value);
    else
        sc_json_put_null(w, key);
}

static void put_type(sc_json_writer *w, const sc_numbers *v) {
    static const char *const KINDS[] = {"none",   "int",    "bool",   "double",
                                        "double", "tensor", "tensor", "string"};
    sc_json_put_text(w, "kind", KINDS[v->kind]);
    if (v->kind != SC_DUMP_TENSOR) return;
    if (sc_dtype_is_known(v->dtype))
        sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)v->dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < v->rank; d++) sc_json_add_i64(w, v->sizes[d]);
    sc_json_end_array(w);
}

void sc_numbers_put(sc_json_writer *w, const sc_numbers *v, bool has_place) {
    const summary s = summarize(v);
    sc_json_begin_object(w);
    put_type(w, v);
    put_number(w, "min", s.numbers > 0, s.min);
    put_number(w, "max", s.numbers > 0, s.max);
    put_number(w, "mean", s.numbers > 0, s.sum / (double)s.numbers);
    sc_json_put_u64(w, "nans", s.nans);
    sc_json_put_u64(w, "infinities", s.infinities);
    sc_json_put_bool(w, "hasData", v->data != NULL || v->count == 0);
    sc_json_put_array(w, "first");
    for (uint64_t i = 0; v->data && i < v->count && i < FIRST_MAX; i++)
        sc_json_add_f64(w, v->data[i]);
    sc_json_end_array(w);
    if (has_place) {
        sc_json_put_u64(w, "at", (uint64_t)(uintptr_t)v->data);
        sc_json_put_u64(w, "elements", v->data ? v->count : 0);
    }
    sc_json_end_object(w);
}

// --- Gaps ----------------------------------------------------------------------------------------

static bool has_nan(const sc_numbers *v) {
    for (uint64_t i = 0; i < v->count; i++)
        if (isnan(v->data[i])) return true;
    return false;
}

static double tamed(double x, bool is_tamed) {
    if (!is_tamed) return x;
    if (isnan(x)) return 0;
    return isinf(x) ? copysign(DBL_MAX, x) : x;
}

bool sc_gap_of(const sc_numbers *reference, const sc_numbers *found, sc_gap *out) {
    double signal = 0, noise = 0, other = 0, product = 0;
    if (!sc_numbers_same_shape(reference, found) || reference->count != found->count) return false;
    if (reference->count == 0 || !reference->data || !found->data) return false;
    const bool tame_a = has_nan(reference), tame_b = has_nan(found);
    *out = (sc_gap){0};
    for (uint64_t i = 0; i < found->count; i++) {
        const double a = tamed(reference->data[i], tame_a), b = tamed(found->data[i], tame_b);
        const double d = a - b;
        signal += a * a;
        other += b * b;
        product += a * b;
        noise += d * d;
        out->l1 += fabs(d);
        out->max = fabs(d) > out->max || isnan(d) ? fabs(d) : out->max;
    }
    const double count = (double)found->count;
    out->mse = noise / count;
    // Without noise the ratio is infinite, even if there is no signal.
    out->snr = out->mse == 0 ? INFINITY : 10 * log10(signal / count / out->mse);
    out->cosine = signal > 0 && other > 0 ? product / (sqrt(signal) * sqrt(other))
                                          : (double)(signal == other);
    if (fabs(out->cosine) > 1)
        out->cosine = copysign(1, out->cosine);  // rounding may make it
                                                 // larger than 1
    return true;
}

void sc_gap_put(sc_json_writer *w, const sc_gap *gap) {
    sc_json_begin_object(w);
    put_number(w, "snr", true, gap->snr);
    put_number(w, "mse", true, gap->mse);
    put_number(w, "l1", true, gap->l1);
    put_number(w, "cosine", true, gap->cosine);
    put_number(w, "max", true, gap->max);
    sc_json_end_object(w);
}
