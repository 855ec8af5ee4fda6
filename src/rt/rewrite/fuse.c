// Elementwise calls after a convolution or a matrix product move into its output stage. Batch
// normalisation by constants becomes a scale and a shift per channel; relu, hardtanh and clamp
// become bounds. The weights stay as they are. If the last result overlaps memory that the product
// still reads, the product writes its own place and the bytes are copied over.
#include <math.h>

#include "rt/rewrite/rewrites.h"

// A normalisation and a pair of bounds: add_norm and add_bounds accept no second one.
enum { LINKS_MAX = 2 };

typedef struct chain {
    uint32_t first;             // the product
    uint32_t links[LINKS_MAX];  // the calls that are folded into it, in order
    uint32_t count;
    sc_finish finish;
} chain;

static uint32_t last_of(const chain *c) { return c->count ? c->links[c->count - 1] : c->first; }

static bool is_f32(const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == SC_DTYPE_F32;
}

static bool is_scalar(const sc_rt_optimizer *o, const sc_evalue *value) {
    bool number = value->tag == SC_EVALUE_INT || value->tag == SC_EVALUE_DOUBLE ||
                  value->tag == SC_EVALUE_BOOL;
    return number && !o->m->places[sc_rt_value_index(o->m, value)].is_written;
}

static double number_of(const sc_evalue *value) {
    return value->tag == SC_EVALUE_INT    ? (double)value->i
           : value->tag == SC_EVALUE_BOOL ? value->b
                                          : value->d;
}

// --- Bounds --------------------------------------------------------------------------------------

static bool read_bound(const sc_rt_optimizer *o, const sc_evalue *value, float *bound) {
    if (value->tag == SC_EVALUE_NONE) return true;
    if (!is_scalar(o, value) || isnan(number_of(value))) return false;
    *bound = (float)number_of(value);
    return true;
}

static bool add_bounds(const sc_rt_optimizer *o, const sc_rt_instruction *in, chain *c) {
    float low = -INFINITY, high = INFINITY;
    switch (in->call.op->id) {
    case SC_OP_relu: low = 0; break;
    case SC_OP_hardtanh:
    case SC_OP_clamp:
        if (!read_bound(o, in->call.args[1], &low) || !read_bound(o, in->call.args[2], &high))
            return false;
        break;
    default: return false;
    }
    if (c->finish.clamps) return false;  // a product has at most one pair of bounds
    c->finish.clamps = true;
    c->finish.low = low;
    c->finish.high = high;
    return true;
}

// --- Batch normalisation -------------------------------------------------------------------------

static bool is_vector(const sc_evalue *value, int64_t channels) {
    return is_f32(value) && value->tensor->is_constant && value->tensor->numel == channels &&
           sc_tensor_is_contiguous(value->tensor);
}

enum {
    NORM_INPUT,
    NORM_WEIGHT,
    NORM_BIAS,
    NORM_MEAN,
    NORM_VAR,
    NORM_MOMENTUM,
    NORM_EPS,
    NORM_OUT,
    NORM_SAVED_MEAN,
    NORM_SAVED_INVSTD,
    NORM_ARGS
};

static bool add_norm(sc_rt_optimizer *o, const sc_rt_instruction *in, int64_t channels, chain *c) {
    sc_evalue *const *args = in->call.args;
    if (in->call.op->id != SC_OP__native_batch_norm_legit_no_training || c->count ||
        in->call.arg_count != NORM_ARGS || !is_scalar(o, args[NORM_EPS]))
        return false;
    for (uint32_t i = NORM_WEIGHT; i <= NORM_VAR; i++) {
        bool absent = i <= NORM_BIAS && args[i]->tag == SC_EVALUE_NONE;
        if (!absent && !is_vector(args[i], channels)) return false;
    }
    for (uint32_t i = NORM_SAVED_MEAN; i <= NORM_SAVED_INVSTD; i++) {
        if (args[i]->tag == SC_EVALUE_TENSOR && args[i]->tensor->numel != 0) return false;
    }
    const float *weight = args[NORM_WEIGHT]->tag ? args[NORM_WEIGHT]->tensor->data : NULL;
    const float *bias = args[NORM_BIAS]->tag ? args[NORM_BIAS]->tensor->data : NULL;
    const float *mean = args[NORM_MEAN]->tensor->data, *var = args[NORM_VAR]->tensor->data;
    float *scale = sc_new_array(&o->m->program->arena, float, (size_t)channels);
    float *shift = sc_new_array(&o->m->program->arena, float, (size_t)channels);
    for (int64_t i = 0; i < channels; i++) {
        double factor = (weight ? weight[i] : 1.0) / sqrt(var[i] + number_of(args[NORM_EPS]));
        scale[i] = (float)factor;
        shift[i] = (float)((bias ? bias[i] : 0.0) - mean[i] * factor);
    }
    c->finish.scale = scale;
    c->finish.scale_step = 1;
    c->finish.shift = shift;
    return true;
}

// --- Memory --------------------------------------------------------------------------------------

// The result of a link of the chain: its first one. Calls of a form have one.
static sc_evalue *result_of(const sc_rt_instruction *in) {
    const sc_kernel_call *call = &in->call;
    return call->args[call->form ? call->arg_count - 1 : sc_rt_kept_inputs(call->op)];
}

static bool is_quiet(const sc_rt_optimizer *o, const chain *c, const sc_tensor *t) {
    return sc_rt_is_quiet(o, t->data, t->capacity_bytes, c->first, last_of(c) - 1);
}

// Can the product write the last result directly? No instruction between the two may access that
// memory.
static bool can_write_last(const sc_rt_optimizer *o, const chain *c) {
    const sc_tensor *out = result_of(&o->m->code[last_of(c)])->tensor;
    if (!is_quiet(o, c, out)) return false;
    for (uint32_t i = c->first; i < last_of(c); i++) {
        if (sc_rt_touches(o, i, SC_RT_TAKES, out->data, out->capacity_bytes)) return false;
    }
    return true;
}

// Is the product's result still intact when the last link copies it? Its memory is planned for as
// long as the first link needs it.
static bool can_copy(const sc_rt_optimizer *o, const chain *c) {
    const sc_kernel_call *call = &o->m->code[c->first].call;
    return is_quiet(o, c, call->args[call->arg_count - 1]->tensor);
}

// --- Chains --------------------------------------------------------------------------------------

// The channel count of a product that has an output stage; 0 if it has no output stage.
static int64_t channels_of(const sc_rt_instruction *in, bool *takes_affine) {
    const sc_kernel_call *call = &in->call;
    if (in->kind != SC_RT_KERNEL) return 0;
    const sc_evalue *out = call->args[call->arg_count - 1];
    *takes_affine = call->op->id == SC_OP_convolution;
    if (!is_f32(call->args[0]) || !is_f32(out)) return 0;
    switch (call->op->id) {
    case SC_OP_convolution:
        return is_f32(call->args[1]) && out->tensor->rank >= 3 ? out->tensor->sizes[1] : 0;
    case SC_OP_mm:
    case SC_OP_addmm: return out->tensor->rank == 2 ? out->tensor->sizes[1] : 0;
    default: return 0;
    }
}

static bool same_shape(const sc_tensor *a, const sc_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->is_dynamic == b->is_dynamic &&
           memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0 &&
           memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0;
}

// Extends the chain from each result to the one instruction that reads it, at any distance, as long
// as the product can replace the whole chain.
static void extend(sc_rt_optimizer *o, int64_t channels, bool takes_affine, chain *c) {
    while (c->count < LINKS_MAX) {
        sc_evalue *value = result_of(&o->m->code[last_of(c)]);
        const sc_rt_use *use = sc_rt_plain_use(o, value);
        if (!use || use->reads != 1 || use->first_view || use->is_output ||
            use->first_read <= last_of(c))
            return;
        const sc_rt_instruction *next = &o->m->code[use->first_read];
        if (next->kind != SC_RT_KERNEL || next->call.args[0] != value ||
            !same_shape(value->tensor, result_of(next)->tensor) || !is_f32(result_of(next)))
            return;
        const sc_finish before = c->finish;
        bool added = add_bounds(o, next, c) || (takes_affine && add_norm(o, next, channels, c));
        if (!added) return;
        c->links[c->count++] = use->first_read;
        if (can_write_last(o, c) || can_copy(o, c)) continue;
        c->count--;
        c->finish = before;
        return;
    }
}

// The product stands for the calls that moved into it. If its result is still to be copied, it
// leaves no value of the file, and the copy stands for the last link.
static void merge_origins(sc_rt_optimizer *o, const chain *c, bool is_copied) {
    sc_rt_instruction *product = &o->m->code[c->first];
    const uint32_t moved = c->count - is_copied;
    sc_rt_origin *origins = sc_new_array(&o->m->program->arena, sc_rt_origin, moved + 1);
    origins[0] = product->origin;
    for (uint32_t k = 0; k < moved; k++) {
        sc_rt_instruction *link = &o->m->code[c->links[k]];
        origins[k + 1] = link->origin;
        link->origin_count = 0;
    }
    product->origins = origins;
    product->origin_count = moved + 1;
    product->shown = is_copied ? NULL : &o->m->code[last_of(c)];
}

static void apply(sc_rt_optimizer *o, chain *c) {
    sc_rt_instruction *product = &o->m->code[c->first], *last = &o->m->code[last_of(c)];
    sc_evalue *value = result_of(last);
    sc_finish *finish = sc_new(&o->m->program->arena, sc_finish);
    const uint32_t out_at = product->call.arg_count - 1;
    *finish = c->finish;
    for (uint32_t k = 0; k + 1 < c->count; k++) o->m->code[c->links[k]].kind = SC_RT_SKIP;
    product->call.finish = finish;
    if (can_write_last(o, c)) {
        sc_evalue **args = sc_new_array(&o->m->program->arena, sc_evalue *, out_at + 1);
        memcpy(args, product->call.args, out_at * sizeof *args);
        args[out_at] = value;
        product->call.args = args;
        product->is_dynamic |= last->is_dynamic;
        last->kind = SC_RT_SKIP;
        merge_origins(o, c, false);
    } else {
        last->kind = SC_RT_COPY;
        last->from = sc_rt_value_index(o->m, product->call.args[out_at]);
        last->to = sc_rt_value_index(o->m, value);
        merge_origins(o, c, true);
    }
}

sc_status sc_rt_fuse(sc_rt_optimizer *o) {
    for (uint32_t i = 0; i < o->m->code_count; i++) {
        bool takes_affine;
        if (!sc_rt_runs_once(o, i)) continue;
        int64_t channels = channels_of(&o->m->code[i], &takes_affine);
        if (channels <= 0) continue;
        chain c = {.first = i};
        extend(o, channels, takes_affine, &c);
        if (c.count) apply(o, &c);
    }
    return SC_OK;
}
