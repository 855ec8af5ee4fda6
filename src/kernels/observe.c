// Observes tensors and compares them: walks for src/observe, which knows the states. The initial
// state of a program may come from a file, so its bytes may be anything.
// In wasm: -O3
#include <math.h>

#include "base/parallel.h"
#include "kernels/move.h"
#include "observe/error.h"
#include "observe/observe.h"

// --- Observing -----------------------------------------------------------------------------------

typedef void (*visit_fn)(void *to, const float *x, size_t count);

static void visit_range(void *to, const float *x, size_t count) {
    sc_value_range_add(to, x, count);
}

static void visit_bins(void *to, const float *x, size_t count) { sc_bins_count(to, x, count); }

// Elements [from, to), in the order of memory.
static void walk(sc_stream s, unsigned dtype, int64_t from, int64_t to, visit_fn visit,
                 void *user) {
    const sc_load_fn load = sc_loader(SC_CLASS_F32, dtype);
    if (dtype == SC_DTYPE_F32 && sc_stream_is_dense(&s)) {
        visit(user, (const float *)s.data + from, (size_t)(to - from));
        return;
    }
    sc_stream_seek(&s, from);
    for (int64_t i = from; i < to; i += SC_BLOCK) {
        float block[SC_BLOCK];
        const int64_t n = sc_min_i64(SC_BLOCK, to - i);
        sc_stream_load(&s, load, block, sizeof *block, n);
        visit(user, block, (size_t)n);
    }
}

typedef struct observation {
    const sc_kernel_call *call;
    const sc_tensor *self;
    sc_observe_kind kind;
    uint32_t axis;
    float *state;  // the result, which begins as a copy of the argument
    sc_stream elements;
    sc_value_range ranges[SC_PARALLEL_MAX];  // that each thread saw
    sc_bins *bins;                           // of this thread; the others have theirs in scratch
} observation;

static void join(sc_value_range *all, const sc_value_range *part) {
    // Which of two zeros is less depends on who saw them.
    all->low = fminf(all->low, part->low) + 0.0f;
    all->high = fmaxf(all->high, part->high) + 0.0f;
    all->nans += part->nans;
    all->infinities += part->infinities;
}

// Lets threads share `count` rows, and joins what they saw.
static sc_value_range share_ranges(observation *o, int64_t count, double cost,
                                   sc_parallel_fn *part) {
    sc_value_range all = SC_VALUE_RANGE_NONE;
    for (uint32_t i = 0; i < SC_PARALLEL_MAX; i++) o->ranges[i] = SC_VALUE_RANGE_NONE;
    sc_parallel_rows(count, cost, part, o);
    for (uint32_t i = 0; i < SC_PARALLEL_MAX; i++) join(&all, &o->ranges[i]);
    return all;
}

static void range_of_channel(const observation *o, int64_t channel, sc_value_range *range) {
    sc_strided view;
    sc_stream s;
    sc_strided_of(&view, o->self);
    sc_strided_drop(&view, o->axis, channel);
    sc_stream_init_dims(&s, view.data, sc_dtype_bytes((sc_dtype)view.dtype), view.rank, view.sizes,
                        view.strides);
    walk(s, view.dtype, 0, o->self->numel / o->self->sizes[o->axis], visit_range, range);
}

static void channels_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    observation *o = work;
    const uint64_t channels = (uint64_t)o->self->sizes[o->axis];
    for (int64_t k = from; k < to; k++) {
        sc_value_range part = SC_VALUE_RANGE_NONE;
        range_of_channel(o, k, &part);
        sc_observe_channel(o->state, channels, (uint64_t)k, &part);
        join(&o->ranges[thread], &part);
    }
}

static void observe_channels(observation *o) {
    const int64_t channels = o->self->sizes[o->axis];
    const double cost = SC_COST_SUM * (double)(o->self->numel / channels);
    const sc_value_range all = share_ranges(o, channels, cost, channels_part);
    sc_observe_end(o->kind, o->state, &all, NULL);
}

static void range_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    observation *o = work;
    walk(o->elements, o->self->dtype, from, to, visit_range, &o->ranges[thread]);
}

static void bins_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const observation *o = work;
    walk(o->elements, o->self->dtype, from, to, visit_bins,
         thread ? sc_parallel_scratch(thread) : o->bins);
}

// Counts are whole numbers, so any thread may count any part.
static void count_bins(observation *o) {
    const int64_t count = o->self->numel, step = sc_parallel_step(count, SC_COST_CONVERT);
    if (step == count || !sc_parallel_reserve(sizeof *o->bins)) {
        bins_part(o, 0, count, 0);
        return;
    }
    const uint32_t width = sc_parallel_width();
    for (uint32_t i = 1; i < width; i++) memcpy(sc_parallel_scratch(i), o->bins, sizeof *o->bins);
    sc_parallel(count, step, bins_part, o);
    for (uint32_t i = 1; i < width; i++) sc_bins_add(o->bins, sc_parallel_scratch(i));
}

static sc_status observe_whole(observation *o) {
    const sc_kernel_call *call = o->call;
    SC_TRY(sc_stream_open(call->ctx, &o->elements, o->self, o->self));
    const sc_value_range range = share_ranges(o, o->self->numel, SC_COST_SUM, range_part);
    if (sc_observe_counts(o->kind) && !sc_value_range_is_empty(&range)) {
        if (call->scratch_bytes < sizeof *o->bins) return sc_call_starved(call);
        o->bins = call->scratch;
        sc_observe_bins(o->state, &range, o->bins);
        count_bins(o);
    }
    sc_observe_end(o->kind, o->state, &range, o->bins);
    return SC_OK;
}

static uint64_t observe_scratch(const sc_kernel_call *call) {
    const int64_t kind = sc_call_integer(call, 2);
    const bool counts = sc_observe_is_kind(kind) && sc_observe_counts((sc_observe_kind)kind);
    return counts ? sizeof(sc_bins) : 0;
}

static bool is_state(const sc_tensor *state, const sc_tensor *next, unsigned dtype,
                     uint64_t values) {
    return state->dtype == dtype && next->dtype == dtype && (uint64_t)state->numel == values &&
           (uint64_t)next->numel == values;
}

static sc_status check_state(const observation *o) {
    const sc_kernel_call *call = o->call;
    const sc_tensor *state = sc_call_tensor(call, 1);
    const bool has_channels = o->kind == SC_OBSERVE_CHANNELS;
    const int64_t channels = has_channels ? o->self->sizes[o->axis] : 0;
    if (!is_state(state, sc_call_out(call), SC_DTYPE_F32,
                  sc_observe_state_floats(o->kind, (uint64_t)channels)))
        return sc_call_fail(call, SC_ERR_SHAPE, "the state is not one of this kind of observer");
    if (!sc_observe_is_sound(state->data))
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Begin with a state of zeros.",
                                 "the state has a range that no observer gives");
    return SC_OK;
}

// (self, state, kind, axis, out)
static sc_status run_observe(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *state = sc_call_tensor(call, 1);
    const int64_t kind = sc_call_integer(call, 2);
    if (self->dtype == SC_DTYPE_F64 || !sc_dtype_is_float((sc_dtype)self->dtype))
        return sc_call_no_kernel(call);
    if (!sc_observe_is_kind(kind) || (kind == SC_OBSERVE_CHANNELS && self->rank == 0))
        return sc_call_fail(call, SC_ERR_ARGUMENT, "there is no such observer of this tensor");
    observation o = {.call = call,
                     .self = self,
                     .kind = (sc_observe_kind)kind,
                     .axis = sc_call_dim(call, 3, self->rank),
                     .state = sc_call_out(call)->data};
    SC_TRY(check_state(&o));
    memcpy(o.state, state->data, (size_t)state->numel * sizeof *o.state);
    if (self->numel == 0) return SC_OK;
    if (o.kind != SC_OBSERVE_CHANNELS) return observe_whole(&o);
    observe_channels(&o);
    return SC_OK;
}

// --- Comparing -----------------------------------------------------------------------------------

// (expected, found, state, out)
static sc_status run_observe_error(const sc_kernel_call *call) {
    const sc_tensor *expected = sc_call_tensor(call, 0), *found = sc_call_tensor(call, 1);
    const sc_tensor *state = sc_call_tensor(call, 2), *next = sc_call_out(call);
    sc_stream a, b;
    if (sc_class_of(expected->dtype) != SC_CLASS_F32 || sc_class_of(found->dtype) != SC_CLASS_F32)
        return sc_call_no_kernel(call);
    if (!sc_same_sizes(expected, found)) return sc_call_fail(call, SC_ERR_SHAPE, "sizes differ");
    const bool has_rows = state->numel == SC_ERROR_ALL && expected->rank > 0;
    const uint64_t values = state->numel == SC_ERROR_ALL ? SC_ERROR_ALL : SC_ERROR_VALUES;
    if (!is_state(state, next, SC_DTYPE_F64, values))
        return sc_call_fail(call, SC_ERR_SHAPE, "the state does not have %d values",
                            SC_ERROR_VALUES);
    memcpy(next->data, state->data, values * sizeof(double));
    if (expected->numel == 0) return SC_OK;
    SC_TRY(sc_stream_open(call->ctx, &a, expected, expected));
    SC_TRY(sc_stream_open(call->ctx, &b, found, expected));
    sc_error_rows rows = {.length = has_rows ? (uint64_t)expected->sizes[expected->rank - 1] : 1};
    const sc_load_fn load_a = sc_loader(SC_CLASS_F32, expected->dtype);
    const sc_load_fn load_b = sc_loader(SC_CLASS_F32, found->dtype);
    for (int64_t i = 0; i < expected->numel; i += SC_BLOCK) {
        float x[SC_BLOCK], y[SC_BLOCK];
        const int64_t n = sc_min_i64(SC_BLOCK, expected->numel - i);
        sc_stream_load(&a, load_a, x, sizeof *x, n);
        sc_stream_load(&b, load_b, y, sizeof *y, n);
        sc_observe_error(next->data, x, y, (size_t)n);
        if (has_rows && sc_tensor_is_contiguous(expected))
            sc_observe_rows(&rows, next->data, x, y, (size_t)n);
    }
    return SC_OK;
}

SC_KERNEL(observe, .run = run_observe, .scratch = observe_scratch, .layout = SC_LAYOUT_TAKES);
SC_KERNEL(observe_error, .run = run_observe_error);
