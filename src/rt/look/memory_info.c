// The use of a method's planned memory, read from its file without loading the method. It says from
// when to when a value must keep its bytes, and whether two values overlap while both matter.
#include <stdlib.h>

#include "rt/look/memory_uses.h"
#include "rt/look/tensor_info.h"

// --- Planned values ------------------------------------------------------------------------------

static sc_rt_planned_kind kind_of(const sc_rt_planned_use *u, bool has_initial) {
    if (!u->first && !u->is_output) return SC_RT_PLANNED_UNUSED;
    if (has_initial) return SC_RT_PLANNED_STATE;
    if (u->is_input) return SC_RT_PLANNED_INPUT;
    if (!u->written) return SC_RT_PLANNED_VIEW;
    return u->read && u->read <= u->written ? SC_RT_PLANNED_STATE : SC_RT_PLANNED_VALUE;
}

// Loops are sorted by their ends, inner ones before those around them.
static uint32_t through_loops(const sc_rt_survey *s, uint32_t from, uint32_t until) {
    for (uint32_t i = 0; i < s->loops.count; i++) {
        const sc_rt_loop *l = &s->loops.data[i];
        if (from < l->start && until >= l->start && until < l->end) until = l->end;
    }
    return until;
}

static void set_times(const sc_rt_survey *s, const sc_rt_planned_use *u, sc_rt_planned *v) {
    const uint32_t last = s->out->instruction_count ? s->out->instruction_count - 1 : 0;
    v->first = v->last = v->writer = v->base = SC_RT_NO_INSTRUCTION;
    if (u->first) {
        v->first = u->first - 1;
        v->last = u->last - 1;
    }
    if (u->written) v->writer = u->written - 1;
    const bool is_whole = v->kind == SC_RT_PLANNED_STATE;
    v->from = is_whole || v->kind == SC_RT_PLANNED_INPUT || !u->first ? 0 : v->first;
    v->until = is_whole || u->is_output ? last : u->first ? v->last : 0;
    v->until = through_loops(s, v->from, v->until);
}

static sc_status check_place(const sc_rt_survey *s, const sc_rt_planned *v) {
    uint64_t end;
    const uint32_t id = v->memory_id;
    if (id > 0 && id <= s->out->memory_count && sc_add_u64(v->offset, v->info.bytes, &end) &&
        end <= s->out->bytes[id - 1])
        return SC_OK;
    return sc_fail(s->ctx, SC_ERR_CORRUPT, NULL,
                   "method '" SC_STR_FMT "': value %u lies outside of memory %u",
                   SC_STR_ARG(sc_pte_ExecutionPlan_name(s->plan)), v->value, id);
}

static sc_status add_planned(sc_rt_survey *s, uint32_t value, sc_fb_table tensor) {
    sc_fb_table where = sc_pte_Tensor_allocation_info(tensor);
    sc_rt_planned *v = &s->out->values[s->out->value_count++];
    const sc_rt_planned_use *u = &s->uses[value];
    *v = (sc_rt_planned){.value = value, .is_output = u->is_output};
    SC_TRY(sc_rt_tensor_info(s->ctx, s->arena, tensor, &v->info));
    v->memory_id = sc_pte_AllocationDetails_memory_id(where);
    v->offset = sc_pte_AllocationDetails_memory_offset_low(where) |
                (uint64_t)sc_pte_AllocationDetails_memory_offset_high(where) << 32;
    v->kind = kind_of(u, sc_pte_Tensor_data_buffer_idx(tensor) != 0);
    set_times(s, u, v);
    return check_place(s, v);
}

static bool is_planned(sc_fb_table entry) {
    sc_fb_table tensor = sc_pte_EValue_val(entry);
    return sc_pte_EValue_val_type(entry) == SC_PTE_KernelTypes_Tensor && tensor.at &&
           sc_pte_Tensor_allocation_info(tensor).at;
}

static sc_status list_planned(sc_rt_survey *s) {
    enum { LOOP_WORK_MAX = 1 << 28 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->values.count; i++)
        count += is_planned(sc_fb_vec_table(s->values, i));
    if ((uint64_t)count * s->loops.count > LOOP_WORK_MAX)
        return sc_fail(s->ctx, SC_ERR_LIMIT, NULL, "a method has too many loops to follow");
    s->out->values = sc_new_array(s->arena, sc_rt_planned, (size_t)count + 1);
    for (uint32_t i = 0; i < s->values.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(s->values, i);
        if (is_planned(entry)) SC_TRY(add_planned(s, i, sc_pte_EValue_val(entry)));
    }
    return SC_OK;
}

// --- Values in memory ----------------------------------------------------------------------------

// The values that were placed last, by memory and offset; no two of them overlap.
typedef struct tenants {
    const sc_rt_survey *s;
    uint32_t *at;  // places in `values`
    uint32_t count;
} tenants;

static bool is_before(const sc_rt_planned *a, uint32_t memory_id, uint64_t offset) {
    return a->memory_id != memory_id ? a->memory_id < memory_id
                                     : a->offset + a->info.bytes <= offset;
}

// The first value that does not end before the offset.
static uint32_t find(const tenants *t, uint32_t memory_id, uint64_t offset) {
    uint32_t low = 0, high = t->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_before(&t->s->out->values[t->at[middle]], memory_id, offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// An element-wise operation may write over its operand.
static bool may_follow(const sc_rt_planned *old, const sc_rt_planned *new) {
    const bool is_same = old->offset == new->offset && old->info.bytes == new->info.bytes;
    return old->until < new->from ||
           (is_same && old->until == new->from &&new->writer == new->from);
}

static sc_status refuse(const sc_rt_survey *s, const sc_rt_planned *a, const sc_rt_planned *b) {
    return sc_fail(s->ctx, SC_ERR_CORRUPT, "Lower the model again.",
                   "method '" SC_STR_FMT "': values %u and %u overlap in memory %u at offset %llu, "
                   "and both are in use at instruction %u",
                   SC_STR_ARG(sc_pte_ExecutionPlan_name(s->plan)), a->value, b->value, a->memory_id,
                   (unsigned long long)sc_max_u64(a->offset, b->offset),
                   sc_max_u32(a->from, b->from));
}

static sc_status move_in(tenants *t, uint32_t index) {
    sc_rt_planned *values = t->s->out->values, *v = &values[index];
    const uint32_t first = find(t, v->memory_id, v->offset);
    uint32_t end = first;
    while (end < t->count && values[t->at[end]].memory_id == v->memory_id &&
           values[t->at[end]].offset < v->offset + v->info.bytes) {
        if (!may_follow(&values[t->at[end]], v)) return refuse(t->s, &values[t->at[end]], v);
        end++;
    }
    memmove(&t->at[first + 1], &t->at[end], (t->count - end) * sizeof *t->at);
    t->at[first] = index;
    t->count = t->count - (end - first) + 1;
    return SC_OK;
}

// Does a value that a delegate seemed to write lie in memory of a value that is still needed?
static bool is_view_after_all(const tenants *t, uint32_t index) {
    const sc_rt_planned *v = &t->s->out->values[index];
    const uint32_t at = find(t, v->memory_id, v->offset);
    if (!t->s->uses[v->value].is_guess || at == t->count) return false;
    return t->s->out->values[t->at[at]].until >= v->from;
}

// False if no value that was placed contains it.
static bool show(const tenants *t, uint32_t index) {
    sc_rt_planned *values = t->s->out->values, *v = &values[index];
    const uint32_t at = find(t, v->memory_id, v->offset);
    if (at == t->count) return false;
    sc_rt_planned *base = &values[t->at[at]];
    if (base->memory_id != v->memory_id || base->offset > v->offset ||
        base->offset + base->info.bytes < v->offset + v->info.bytes)
        return false;
    v->base = t->at[at];
    base->until = through_loops(t->s, base->from, sc_max_u32(base->until, v->until));
    return true;
}

typedef struct arrival {
    uint32_t index, moment;
    bool is_view;
} arrival;

// A view of an instruction's operands comes before the values that it writes.
static int by_moment(const void *a, const void *b) {
    const arrival *x = a, *y = b;
    if (x->moment != y->moment) return x->moment < y->moment ? -1 : 1;
    if (x->is_view != y->is_view) return x->is_view ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// State and inputs exist before the first instruction.
static uint32_t list_arrivals(const sc_rt_survey *s, arrival *list) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->out->value_count; i++) {
        const sc_rt_planned *v = &s->out->values[i];
        if (v->kind == SC_RT_PLANNED_UNUSED || v->info.bytes == 0) continue;
        const bool is_first = v->kind == SC_RT_PLANNED_STATE || v->kind == SC_RT_PLANNED_INPUT;
        list[count++] = (arrival){i,
                                  is_first                           ? 0
                                  : v->first == SC_RT_NO_INSTRUCTION ? s->out->instruction_count + 1
                                                                     : v->first + 1,
                                  v->kind == SC_RT_PLANNED_VIEW};
    }
    qsort(list, count, sizeof *list, by_moment);
    return count;
}

static sc_status check_overlaps(const sc_rt_survey *s) {
    const size_t room = (size_t)s->out->value_count + 1;
    arrival *list = sc_new_array(s->arena, arrival, room);
    tenants t = {.s = s, .at = sc_new_array(s->arena, uint32_t, room)};
    const uint32_t count = list_arrivals(s, list);
    for (uint32_t i = 0; i < count; i++) {
        sc_rt_planned *v = &s->out->values[list[i].index];
        if (is_view_after_all(&t, list[i].index) && show(&t, list[i].index)) {
            v->kind = SC_RT_PLANNED_VIEW;
            v->writer = SC_RT_NO_INSTRUCTION;
            continue;
        }
        if (list[i].is_view && show(&t, list[i].index)) continue;
        // The view shows memory that no value has filled. Its content has no effect, as in the sum
        // that a product without a bias starts from.
        if (list[i].is_view) v->kind = SC_RT_PLANNED_VALUE;
        SC_TRY(move_in(&t, list[i].index));
    }
    return SC_OK;
}

// --- How much ------------------------------------------------------------------------------------

static void sum_live(const sc_rt_survey *s) {
    sc_rt_memory_info *out = s->out;
    out->live = sc_new_array(s->arena, uint64_t, (size_t)out->instruction_count + 2);
    out->peak = SC_RT_NO_INSTRUCTION;
    for (uint32_t i = 0; out->instruction_count && i < out->value_count; i++) {
        const sc_rt_planned *v = &out->values[i];
        if (v->kind == SC_RT_PLANNED_UNUSED || v->kind == SC_RT_PLANNED_VIEW) continue;
        out->live[v->from] += v->info.bytes;
        out->live[v->until + 1] -= v->info.bytes;  // may wrap; the sums below are right again
    }
    uint64_t most = 0;
    for (uint32_t i = 0; i < out->instruction_count; i++) {
        if (i) out->live[i] += out->live[i - 1];
        if (out->live[i] <= most) continue;
        most = out->live[i];
        out->peak = i;
    }
}

static void list_memories(sc_rt_survey *s) {
    sc_fb_vec sizes = sc_pte_ExecutionPlan_non_const_buffer_sizes(s->plan);
    s->out->memory_count = sizes.count ? sizes.count - 1 : 0;
    s->out->bytes = sc_new_array(s->arena, uint64_t, (size_t)s->out->memory_count + 1);
    for (uint32_t i = 0; i < s->out->memory_count; i++)
        s->out->bytes[i] = (uint64_t)sc_fb_vec_i64(sizes, i + 1);
}

sc_status sc_rt_memory_info_get(sc_ctx *ctx, const sc_rt_program *p, uint32_t index,
                                sc_arena *arena, sc_rt_memory_info *out) {
    SC_ASSERT(index < p->plans.count);
    *out = (sc_rt_memory_info){.peak = SC_RT_NO_INSTRUCTION};
    sc_rt_survey s = {.ctx = ctx, .arena = arena, .plan = sc_rt_plan(p, index), .out = out};
    list_memories(&s);
    SC_TRY(sc_rt_survey_uses(&s));
    SC_TRY(list_planned(&s));
    SC_TRY(check_overlaps(&s));
    sum_live(&s);
    return SC_OK;
}
