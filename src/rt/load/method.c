// Loads methods, and moves values in and out of them. A method is loaded once. A failed load leaves
// the program unchanged, apart from memory of its arena and constants that were read.
//
// A method is loaded in this order: values, calls, memory, shapes, rewriting, packing. Load
// allocates everything that a run needs. A run uses only the job's scratch, for calls whose shapes
// change. Weights are read with the first method that needs them, large ones each into a block of
// its own (constants.c). If the program has one method, the original bytes of a weight are freed
// once every use of them is packed (pack.c).
#include <math.h>

#include "kernels/convert.h"
#include "rt/allocate.h"
#include "rt/load/memory.h"
#include "rt/load/room.h"
#include "rt/load/steps.h"
#include "rt/rewrite/optimize.h"
#include "rt/run/delegate.h"
#include "rt/run/tensor.h"
#include "rt/tell.h"

// --- Loading -------------------------------------------------------------------------------------

static sc_status read_indexes(sc_ctx *ctx, sc_rt_method *m, sc_fb_vec list, const char *what,
                              uint32_t **out, uint32_t *count) {
    *out = sc_new_array(&m->program->arena, uint32_t, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        int32_t index = sc_fb_vec_i32(list, i);
        if (index < 0 || (uint32_t)index >= m->value_count)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "%s %u of method '" SC_STR_FMT "' does not exist", what, i,
                           SC_STR_ARG(m->name));
        (*out)[i] = (uint32_t)index;
    }
    *count = list.count;
    return SC_OK;
}

// If an input slot came twice, one value would overwrite the other.
static sc_status check_inputs(sc_ctx *ctx, sc_rt_method *m) {
    sc_imap seen;
    sc_imap_init(&seen, &m->program->arena);
    for (uint32_t i = 0; i < m->input_count; i++) {
        uint8_t tag = m->values[m->inputs[i]].tag;
        if (!sc_imap_add(&seen, m->inputs[i], 1))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "method '" SC_STR_FMT "' uses one value for two inputs",
                           SC_STR_ARG(m->name));
        if (tag > SC_EVALUE_TENSOR || m->places[m->inputs[i]].is_constant)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "input %u of method '" SC_STR_FMT
                           "' is of a kind that inputs cannot have",
                           i, SC_STR_ARG(m->name));
    }
    return SC_OK;
}

static sc_status load(sc_ctx *ctx, sc_rt_method *m) {
    SC_TRY(sc_rt_values_parse(ctx, m));
    SC_TRY(read_indexes(ctx, m, sc_pte_ExecutionPlan_inputs(m->plan), "input", &m->inputs,
                        &m->input_count));
    SC_TRY(read_indexes(ctx, m, sc_pte_ExecutionPlan_outputs(m->plan), "output", &m->outputs,
                        &m->output_count));
    SC_TRY(check_inputs(ctx, m));
    SC_TRY(sc_rt_code_parse(ctx, m));
    SC_TRY(sc_rt_usage_find(ctx, m));
    SC_TRY(sc_rt_memory_bind(ctx, m));
    SC_TRY(sc_rt_code_finish(ctx, m));
    if (!m->program->options.optimize) return SC_OK;
    SC_TRY(sc_rt_optimize(ctx, m));
    sc_rt_code_link(m);
    return sc_rt_pack_constants(ctx, m);
}

static sc_status unknown_method(sc_ctx *ctx, const sc_rt_program *p, sc_str name) {
    sc_sb names;
    sc_sb_init(&names, ctx->scratch);
    for (uint32_t i = 0; i < p->plans.count && i < 16; i++) {
        sc_sb_add_text(&names, i ? ", " : "");
        sc_sb_add(&names, sc_rt_program_method_name(p, i));
    }
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL,
                   "there is no method '" SC_STR_FMT "'; this program has: %s", SC_STR_ARG(name),
                   sc_sb_terminate(&names));
}

sc_status sc_rt_method_load(sc_ctx *ctx, sc_rt_program *p, sc_str name, sc_rt_method **out) {
    uint32_t index = 0;
    while (index < p->plans.count && !sc_str_equal(sc_rt_program_method_name(p, index), name))
        index++;
    *out = NULL;
    if (index == p->plans.count) return unknown_method(ctx, p, name);
    if (!p->methods[index]) {
        const sc_where outer = ctx->where;
        sc_rt_method *m = sc_new(&p->arena, sc_rt_method);
        *m = (sc_rt_method){.program = p,
                            .plan = sc_rt_plan(p, index),
                            .plan_index = index,
                            .name = sc_rt_program_method_name(p, index)};
        ctx->where.method = m->name;
        sc_rt_tell_begin(m, SC_RT_EVENT_LOAD, NULL);
        sc_status status = sc_rt_room_check_method(ctx, p, index);
        if (status == SC_OK) status = load(ctx, m);
        sc_rt_tell_end(m, SC_RT_EVENT_LOAD, NULL, status);
        ctx->where = outer;
        if (status != SC_OK) {
            sc_rt_memory_free(m);
            return status;
        }
        p->methods[index] = m;
    }
    *out = p->methods[index];
    return SC_OK;
}

sc_status sc_rt_program_reset(sc_ctx *ctx, sc_rt_program *p) {
    SC_TRY(sc_rt_pools_reset(ctx, p));
    for (uint32_t i = 0; i < p->plans.count; i++) {
        if (!p->methods[i]) continue;
        SC_TRY(sc_rt_delegates_reset(ctx, p->methods[i]));
        SC_TRY(sc_rt_memory_reset(ctx, p->methods[i]));
    }
    return SC_OK;
}

// --- Values in and out ---------------------------------------------------------------------------

uint32_t sc_rt_method_input_count(const sc_rt_method *m) { return m->input_count; }
uint32_t sc_rt_method_output_count(const sc_rt_method *m) { return m->output_count; }
const sc_evalue *sc_rt_method_input(const sc_rt_method *m, uint32_t index) {
    return &m->values[m->inputs[index]];
}
const sc_evalue *sc_rt_method_output(const sc_rt_method *m, uint32_t index) {
    return &m->values[m->outputs[index]];
}

static const char *tag_name(uint8_t tag) {
    static const char *const names[] = {"none",   "an int",   "a float",
                                        "a bool", "a string", "a tensor"};
    return tag < SC_COUNT_OF(names) ? names[tag] : "a list";
}

// A remembered input is contiguous, so its bytes are staged as they are given.
static void note_change(sc_rt_method *m, uint32_t index, const sc_rt_input *value) {
    const sc_rt_staged *staged = &m->staged[index];
    sc_rt_remembered *known = &m->remembered;
    if (known->input == index + 1 && !known->has_changed)
        known->has_changed = staged->size != value->bytes ||
                             memcmp(staged->bytes, value->data, (size_t)value->bytes) != 0;
}

static sc_status set_tensor(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                            const sc_rt_input *value) {
    const uint32_t at = m->inputs[index];
    sc_tensor *t = m->values[at].tensor;
    sc_rt_staged *staged = &m->staged[index];
    if (value->dtype != t->dtype)
        return sc_fail(ctx, SC_ERR_INPUT, NULL, "input %u is %s, but the method takes %s", index,
                       sc_dtype_name((sc_dtype)value->dtype), sc_dtype_name((sc_dtype)t->dtype));
    if (value->rank != t->rank)
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "input %u has rank %u, but the method takes rank %u", index, value->rank,
                       t->rank);
    sc_fb_table declared =
        sc_pte_EValue_val(sc_fb_vec_table(sc_pte_ExecutionPlan_values(m->plan), at));
    sc_fb_vec bounds = sc_pte_Tensor_sizes(declared);
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t bound = sc_fb_vec_i32(bounds, d), size = value->sizes[d];
        if (t->is_dynamic ? size < 0 || size > bound : size != bound)
            return sc_fail(ctx, SC_ERR_INPUT, NULL,
                           "dimension %u of input %u is %lld, but the method takes %s%lld", d,
                           index, (long long)size, t->is_dynamic ? "at most " : "",
                           (long long)bound);
    }
    SC_TRY(sc_rt_tensor_resize(ctx, t, value->sizes, value->rank));
    if (value->bytes != sc_rt_tensor_bytes(t))
        return sc_fail(ctx, SC_ERR_INPUT, NULL, "input %u has %llu bytes, but its shape needs %llu",
                       index, (unsigned long long)value->bytes,
                       (unsigned long long)sc_rt_tensor_bytes(t));
    note_change(m, index, value);
    sc_rt_tensor_write(t, staged->bytes, value->data);
    staged->size = value->bytes;
    return SC_OK;
}

static bool is_number(uint8_t tag) {
    return tag == SC_EVALUE_INT || tag == SC_EVALUE_DOUBLE || tag == SC_EVALUE_BOOL;
}

static bool has_whole(sc_dtype dtype, int64_t whole) {
    return whole >= sc_dtype_low(dtype) && (whole < 0 || (uint64_t)whole <= sc_dtype_high(dtype));
}

// Can the dtype represent the number, apart from the rounding of floats? A host with one kind of
// number passes integers as floats.
static bool has_number(sc_dtype dtype, const sc_rt_input *value) {
    if (value->tag == SC_EVALUE_BOOL) return dtype == SC_DTYPE_BOOL;
    if (sc_dtype_is_integral(dtype, false)) {
        if (value->tag == SC_EVALUE_INT) return has_whole(dtype, value->i);
        const bool is_whole = value->d == trunc(value->d) && fabs(value->d) < 0x1p63;
        return is_whole && has_whole(dtype, (int64_t)value->d);
    }
    if (!sc_dtype_is_float(dtype)) return false;
    const double d = value->tag == SC_EVALUE_INT ? (double)value->i : value->d;
    return !isfinite(d) || fabs(d) <= sc_dtype_largest(dtype);
}

// A number for a tensor without dimensions.
static sc_status set_number(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                            const sc_rt_input *value) {
    const sc_dtype dtype = (sc_dtype)m->values[m->inputs[index]].tensor->dtype;
    if (!has_number(dtype, value))
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "input %u is %s out of the range of %s, which the method takes", index,
                       tag_name((uint8_t)value->tag), sc_dtype_name(dtype));
    uint64_t data = 0;
    sc_rt_input tensor = {.tag = SC_EVALUE_TENSOR,
                          .dtype = (uint8_t)dtype,
                          .data = &data,
                          .bytes = sc_dtype_bytes(dtype)};
    const bool is_real = value->tag == SC_EVALUE_DOUBLE;
    const int64_t whole = value->tag == SC_EVALUE_BOOL ? value->b : value->i;
    sc_put_number(&data, dtype, value->d, is_real ? sc_f64_to_i64(value->d) : whole, is_real);
    return set_tensor(ctx, m, index, &tensor);
}

static bool near(double a, double b) {
    if (a != a || b != b) return a != a && b != b;
    if (isinf(a) || isinf(b)) return a == b;
    return fabs(a - b) <= 1e-4 + 1e-5 * fabs(b);
}

static bool is_same_scalar(const sc_evalue *traced, const sc_rt_input *value) {
    switch (traced->tag) {
    case SC_EVALUE_INT: return value->i == traced->i;
    case SC_EVALUE_BOOL: return value->b == traced->b;
    case SC_EVALUE_DOUBLE: return near(value->d, traced->d);
    case SC_EVALUE_STRING: return sc_str_equal(value->str, traced->str);
    default: return true;
    }
}

sc_status sc_rt_method_set_input(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                                 const sc_rt_input *value) {
    if (index >= m->input_count)
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "there is no input %u: method '" SC_STR_FMT "' takes %u inputs", index,
                       SC_STR_ARG(m->name), m->input_count);
    const sc_evalue *declared = &m->values[m->inputs[index]];
    const bool is_tensor = declared->tag == SC_EVALUE_TENSOR;
    const bool takes_number = is_tensor && declared->tensor->rank == 0;
    const bool is_held = takes_number && is_number((uint8_t)value->tag);
    if (value->tag != declared->tag && !is_held)
        return sc_fail(ctx, SC_ERR_INPUT, NULL, "input %u is %s, but the method takes %s", index,
                       tag_name((uint8_t)value->tag), tag_name(declared->tag));
    if (is_held)
        SC_TRY(set_number(ctx, m, index, value));
    else if (is_tensor)
        SC_TRY(set_tensor(ctx, m, index, value));
    else if (!is_same_scalar(declared, value))
        return sc_fail(ctx, SC_ERR_INPUT,
                       "Pass that value, or export the model again with another one.",
                       "input %u must be the value that the program was exported with", index);
    m->staged[index].is_set = true;
    return SC_OK;
}

sc_status sc_rt_method_set_tensor(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                                  const sc_tensor *t) {
    const uint64_t bytes = sc_rt_tensor_bytes(t);
    uint8_t *row_major = NULL;
    SC_TRY(sc_rt_allocate(ctx, bytes, "an input", &row_major));
    sc_rt_tensor_read(t, row_major, (size_t)bytes);
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = t->dtype,
                               .rank = t->rank,
                               .sizes = t->sizes,
                               .data = row_major,
                               .bytes = bytes};
    sc_status status = sc_rt_method_set_input(ctx, m, index, &input);
    sc_free(row_major);
    return status;
}

sc_status sc_rt_method_set_weight(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                                  const sc_rt_weight *given) {
    SC_ASSERT(index < m->input_count);
    const sc_evalue *declared = &m->values[m->inputs[index]];
    if (declared->tag != SC_EVALUE_TENSOR)
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "input %u of a part of method '" SC_STR_FMT "' for the backend '" SC_STR_FMT
                       "' is a weight, but the part takes %s",
                       index, SC_STR_ARG(given->method), SC_STR_ARG(given->backend),
                       tag_name(declared->tag));
    sc_tensor weight = *declared->tensor;
    if (given->size != sc_rt_tensor_bytes(&weight))
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "input %u of a part of method '" SC_STR_FMT "' for the backend '" SC_STR_FMT
                       "' is a weight of %llu bytes, but its shape needs %llu",
                       index, SC_STR_ARG(given->method), SC_STR_ARG(given->backend),
                       (unsigned long long)given->size,
                       (unsigned long long)sc_rt_tensor_bytes(&weight));
    weight.data = (void *)(uintptr_t)given->bytes;
    return sc_rt_method_set_tensor(ctx, m, index, &weight);
}
