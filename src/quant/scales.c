// Scales and zero points, from observations and from the bytes of weights.
#include <math.h>

#include "quant/plan.h"

#include "observe/observe.h"
#include "observe/qparams.h"

enum { ACTIVATION_MIN = -128, WEIGHT_MAX = 127 };

// The width of the observed range. No model means a wider one.
static const double WIDEST = 1e30;

// Errors name the node whose result it is, or the node that reads the constant.
static void set_where(const sc_quant_plan *plan, const quant_group *group) {
    const quant_probe *probe = &plan->probes.data[group->probes.data[0]];
    if (probe->value->node)
        sc_where_set_node(plan->ctx, probe->value->node);
    else if (probe->users.count)
        sc_where_set_node(plan->ctx, probe->users.data[0]);
}

static const char *name_of(const sc_quant_plan *plan, const quant_group *group) {
    return plan->probes.data[group->probes.data[0]].value->name->text;
}

static sc_status set_channel(sc_quant_plan *plan, quant_group *group, uint64_t channel, float low,
                             float high) {
    const bool is_weight = group->spec.kind == QUANT_WEIGHT;
    const sc_qparams q =
        is_weight ? sc_qparams_symmetric(low, high, -WEIGHT_MAX, WEIGHT_MAX, SC_QPARAMS_EPS)
                  : sc_qparams_affine(low, high, ACTIVATION_MIN, WEIGHT_MAX, SC_QPARAMS_EPS);
    if (!isfinite(q.scale))
        return sc_fail(plan->ctx, SC_ERR_NUMERIC, "Check the inputs that were given.",
                       "the range of '%s' is not finite, so it has no scale", name_of(plan, group));
    group->scales[channel] = q.scale;
    group->zero_points[channel] = q.zero_point;
    group->range.low = fminf(group->range.low, low);
    group->range.high = fmaxf(group->range.high, high);
    return SC_OK;
}

static sc_status choose_for_weight(sc_quant_plan *plan, quant_group *group) {
    sc_ctx *ctx = plan->ctx;
    const sc_value *value = plan->probes.data[group->probes.data[0]].value;
    const sc_constant *constant = sc_quant_constant(plan, value);
    int64_t sizes[SC_RANK_MAX];
    const sc_weight weight = {.data = sc_quant_row_major(ctx->arena, plan->method->exprs, constant),
                              .dtype = (sc_dtype)constant->spec.dtype,
                              .elements = sc_quant_elements(&constant->spec, sizes)};
    const sc_slices slices = group->spec.by_channel
                                 ? sc_slices_axis(constant->spec.rank, sizes, group->spec.axis)
                                 : sc_slices_whole(weight.elements);
    float *lows = sc_new_array(ctx->scratch, float, group->channels + 1);
    float *highs = sc_new_array(ctx->scratch, float, group->channels + 1);
    SC_TRY(sc_weight_ranges(ctx, &weight, slices, lows, highs));
    for (uint64_t i = 0; i < group->channels; i++)
        SC_TRY(set_channel(plan, group, i, lows[i], highs[i]));
    group->range.bytes_before = weight.data.size;
    group->range.bytes_after = weight.elements + group->channels * sizeof(float);
    return SC_OK;
}

static const char HINT[] =
    "Check the calls of the calibration. If they are right, skip the layers that read this value.";

static sc_status check_numbers(const sc_quant_plan *plan, const quant_group *group,
                               const float *state) {
    const char *name = name_of(plan, group);
    if (!(state[SC_OBSERVED_NANS] == 0))
        return sc_fail(plan->ctx, SC_ERR_NUMERIC, HINT, "'%s' was NaN during calibration", name);
    if (!(state[SC_OBSERVED_TENSORS] > 0) && state[SC_OBSERVED_INFINITIES] > 0)
        return sc_fail(plan->ctx, SC_ERR_NUMERIC, HINT,
                       "'%s' was infinite in every call of the calibration", name);
    return SC_OK;
}

static bool has_nans(const sc_quant_plan *plan, const float *const *states) {
    for (uint32_t i = 0; i < plan->observers.count; i++)
        if (!(states[i][SC_OBSERVED_NANS] == 0)) return true;
    return false;
}

// Finite numbers may follow infinities alone. If infinities made NaN, they are the reported reason.
sc_status sc_quant_check_numbers(const sc_quant_plan *plan, const float *const *states) {
    if (!has_nans(plan, states)) return SC_OK;
    for (uint32_t i = 0; i < plan->observers.count; i++) {
        const quant_group *group = &plan->groups.data[plan->observers.data[i]];
        set_where(plan, group);
        SC_TRY(check_numbers(plan, group, states[i]));
    }
    return SC_OK;
}

static sc_status check_seen(sc_quant_plan *plan, const quant_group *group, const float *state) {
    const char *name = name_of(plan, group);
    SC_TRY(check_numbers(plan, group, state));
    if (state[SC_OBSERVED_TENSORS] > 0) return SC_OK;
    return sc_fail(plan->ctx, SC_ERR_STATE,
                   "Calibrate on calls like real ones, with tensors that are not empty.",
                   "calibration saw no value of '%s'", name);
}

static void remark_width(sc_quant_plan *plan, const quant_group *group, const float *state) {
    const double low = (double)state[SC_OBSERVED_LOW], high = (double)state[SC_OBSERVED_HIGH];
    if (high - low > WIDEST || fmax(fabs(low), fabs(high)) > WIDEST)
        sc_quant_remark(
            plan, "'%s' was from %g to %g in calibration: its scale rounds ordinary numbers to 0",
            name_of(plan, group), low, high);
}

// Warnings about a valid scale that the user may not have meant.
static void remark(sc_quant_plan *plan, const quant_group *group, const float *state) {
    const char *name = name_of(plan, group);
    remark_width(plan, group, state);
    const sc_value *value = plan->probes.data[group->probes.data[0]].value;
    if (state[SC_OBSERVED_INFINITIES] > 0)
        sc_quant_remark(plan, "'%s' was infinite %.0f times, and its scale ignores these values",
                        name, (double)state[SC_OBSERVED_INFINITIES]);
    if (state[SC_OBSERVED_LOW] == 0 && state[SC_OBSERVED_HIGH] == 0 &&
        group->spec.kind == QUANT_ACTIVATION && !sc_quant_is_constant(plan, value))
        sc_quant_remark(plan, "'%s' was 0 in all of calibration: its scale is the smallest", name);
}

static sc_status choose_for_observed(sc_quant_plan *plan, quant_group *group, const float *state) {
    const sc_observe_kind kind = sc_quant_observe_kind(plan, group->observer);
    SC_TRY(check_seen(plan, group, state));
    remark(plan, group, state);
    for (uint64_t i = 0; i < group->channels; i++) {
        float low = 0, high = 0;
        const bool is_sound = kind == SC_OBSERVE_CHANNELS
                                  ? sc_observe_found_channel(state, group->channels, i, &low, &high)
                                  : sc_observe_found(kind, state, &low, &high);
        if (!is_sound)
            return sc_fail(plan->ctx, SC_ERR_ARGUMENT, NULL, "'%s' has the state of no observer",
                           name_of(plan, group));
        SC_TRY(set_channel(plan, group, i, low, high));
    }
    return SC_OK;
}

static sc_status choose(sc_quant_plan *plan, quant_group *group, const float *const *states) {
    sc_arena *arena = plan->ctx->arena;
    group->scales = sc_new_array(arena, float, group->channels + 1);
    group->zero_points = sc_new_array(arena, int64_t, group->channels + 1);
    group->range.low = INFINITY;
    group->range.high = -INFINITY;
    set_where(plan, group);
    SC_TRY(group->is_weight ? choose_for_weight(plan, group)
                            : choose_for_observed(plan, group, states[group->observer]));
    group->range.count = (uint32_t)group->channels;
    group->range.scales = group->scales;
    group->range.zero_point = group->channels ? (int32_t)group->zero_points[0] : 0;
    return SC_OK;
}

static sc_status choose_all(sc_quant_plan *plan, const float *const *states) {
    const uint32_t count = plan->groups.count;
    for (uint32_t i = 0; i < count; i++) {
        quant_group *group = &plan->groups.data[i];
        SC_TRY(sc_progress(plan->ctx, SC_PHASE_settle, i, count));
        if (group->probes.count > 0 && !group->range.is_dynamic)
            SC_TRY(choose(plan, group, states));
    }
    return count ? sc_progress(plan->ctx, SC_PHASE_settle, count, count) : SC_OK;
}

sc_status sc_quant_choose_scales(sc_ctx *ctx, sc_quant_plan *plan, const float *const *states) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_where_set_method(ctx, plan->method);
    const sc_status status = choose_all(plan, states);
    sc_arena_rewind(ctx->scratch, mark);
    if (status == SC_OK) plan->has_scales = true;
    return status;
}
