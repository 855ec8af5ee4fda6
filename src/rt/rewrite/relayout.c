// Puts channels last between convolutions. A portable program is row-major, so its convolutions
// would never use the variants for pixels whose channels are adjacent. Images that are only used by
// kernels fast in both orders get their channels last here. The bytes are the same in another
// order, so the memory plan stays valid. Values that others see, and values in memory that a value
// of another order shows, keep the program's layout.
//
// Cost decides which images change, in units of moving one element. At first all images that may
// change do. Then each image that costs no more in its old order is changed back, until no more
// change. Last, connected groups that are not clearly cheaper are changed back.
//
// Inputs, outputs and state stay as they are, and so does memory that delegates, jumps or views
// use. Kernels report the cost of an order (sc_kernel_layout, gain). The loading option
// channels_last turns this rewrite off.
#include "base/sets.h"
#include "rt/asks.h"
#include "rt/rewrite/rewrites.h"
#include "rt/run/tensor.h"

enum { ROUNDS_MAX = 16 };
#define NO_BASE UINT32_MAX
static const uint64_t work_max = 10u << 20;  // pairs of values; operands looked at
// An element that a kernel reads in one order and writes in another.
static const double crossing = 4;
// The saving must exceed the error of the estimates for small images.
static const double enough = 1 << 14;

typedef struct image {
    uint32_t base;  // for values that are read and not written: the value written there last, or
                    // NO_BASE
    bool may_change;
    bool is_last;  // of the first of a set: its channels are last at present
    uint32_t first_call, call_count, newest;  // of the first of a set: the number of calls that use
                                              // it
} image;

typedef struct relayout {
    sc_rt_optimizer *o;
    sc_rt_method *m;
    image *images;              // by value
    uint32_t *sets;             // sets of images that change together
    uint32_t *groups;           // sets that a call connects
    uint32_t *calls;            // of each set, from its first_call on
    const sc_evalue **tensors;  // that may share memory
    uint32_t count;
} relayout;

// --- Images --------------------------------------------------------------------------------------

static uint32_t index_of(const relayout *r, const sc_evalue *value) {
    return sc_rt_value_index(r->m, value);
}

static uint32_t set_of(const relayout *r, uint32_t at) { return sc_sets_root(r->sets, at); }

static uint32_t group_of(const relayout *r, uint32_t at) { return sc_sets_root(r->groups, at); }

static void join(const relayout *r, const sc_evalue *a, const sc_evalue *b) {
    sc_sets_join(r->sets, index_of(r, a), index_of(r, b));
}

// Row-major, with several pixels of several channels: all others are in both orders at once.
static bool is_image(const sc_tensor *t) {
    return t && t->rank == 4 && t->numel > 0 && t->sizes[1] > 1 && t->sizes[2] * t->sizes[3] > 1 &&
           sc_tensor_is_contiguous(t);
}

static bool is_last(const relayout *r, const sc_evalue *value) {
    return r->images[set_of(r, index_of(r, value))].is_last;
}

static void keep(const relayout *r, const sc_evalue *value) {
    r->images[index_of(r, value)].may_change = false;
}

// --- Layouts in calls ----------------------------------------------------------------------------

static sc_kernel_layout layout_of(const relayout *r, const sc_rt_instruction *in) {
    const uint32_t at = (uint32_t)(in - r->m->code);
    if (in->kind != SC_RT_KERNEL || !sc_rt_runs_once(r->o, at)) return SC_LAYOUT_FIXED;
    // Numbers are drawn in the order of memory, and calls of a form read it.
    if (sc_op_has(in->call.op, SC_RANDOM) || in->call.form) return SC_LAYOUT_FIXED;
    if (sc_op_has(in->call.op, SC_POINTWISE)) return SC_LAYOUT_ONE;
    return (sc_kernel_layout)in->call.kernel->layout;
}

// The call uses only its sizes.
static bool is_blind(const sc_rt_instruction *in) {
    return in->kind == SC_RT_PRIM && sc_op_has(in->call.op, SC_SYMBOLIC);
}

static void visit(const relayout *r, const sc_rt_instruction *in) {
    const sc_kernel_layout layout = layout_of(r, in);
    const sc_evalue *first = NULL;
    if (is_blind(in)) return;
    if (in->kind == SC_RT_COPY) {
        join(r, &r->m->values[in->from], &r->m->values[in->to]);
        return;
    }
    sc_rt_operands o = sc_rt_operands_of(r->m, in, SC_RT_ANY_ACCESS);
    while (sc_rt_operands_next(&o)) {
        const bool is_result = (o.access & SC_RT_WRITES) != 0;
        const bool is_end = layout != SC_LAYOUT_FIXED && !is_result ? o.value == in->call.args[0]
                                                                    : layout == SC_LAYOUT_EITHER;
        if (!o.tensor) continue;
        if (layout == SC_LAYOUT_ONE) {
            if (!is_result || !is_image(o.tensor)) continue;
            if (first) join(r, first, o.value);
            first = o.value;
        } else if (!is_end) {
            keep(r, o.value);
        }
    }
}

// --- Costs ---------------------------------------------------------------------------------------

static double numel_if(bool condition, const sc_tensor *t) {
    return condition && is_image(t) ? (double)t->numel : 0;
}

// The cost of a call in addition to its cost in row-major order.
static double cost_of(const relayout *r, const sc_rt_instruction *in) {
    const sc_kernel_call *call = &in->call;
    const sc_kernel_layout layout = layout_of(r, in);
    double row_major = 0, last = 0;
    if (layout == SC_LAYOUT_FIXED) return 0;
    sc_rt_operands o = sc_rt_operands_of(r->m, in, SC_RT_ANY_ACCESS);
    while (sc_rt_operands_next(&o)) {
        const bool counts = layout == SC_LAYOUT_ONE || o.value == call->args[0] ||
                            o.value == call->args[call->arg_count - 1];
        if (!counts || !o.tensor) continue;
        row_major += numel_if(!is_last(r, o.value), o.tensor);
        last += numel_if(is_last(r, o.value), o.tensor);
    }
    if (last == 0) return 0;
    if (layout == SC_LAYOUT_ONE) return crossing * (row_major < last ? row_major : last);
    const double gain = sc_rt_ask_gain(call->kernel, call);
    return layout == SC_LAYOUT_EITHER ? row_major - gain : -gain;
}

static double cost_of_set(const relayout *r, uint32_t set) {
    double cost = 0;
    for (uint32_t i = 0; i < r->images[set].call_count; i++)
        cost += cost_of(r, &r->m->code[r->calls[r->images[set].first_call + i]]);
    return cost;
}

static bool is_worth_it(const relayout *r, uint32_t set) {
    image *first = &r->images[set];
    const double changed = cost_of_set(r, set);
    first->is_last = false;
    const double kept = cost_of_set(r, set);
    first->is_last = changed < kept;
    return first->is_last;
}

// --- Memory --------------------------------------------------------------------------------------

static bool is_view(const relayout *r, uint32_t at) {
    const sc_rt_use *use = &r->o->uses[at];
    return !use->writes && (use->reads || use->is_output);
}

// A view shows the value written there last before it is read, if one value covers it.
static uint32_t base_of(const relayout *r, const sc_evalue *view) {
    const sc_rt_use *use = &r->o->uses[index_of(r, view)];
    const uint32_t first = use->reads ? use->first_read : r->m->code_count;
    const sc_tensor *t = view->tensor, *found = NULL;
    uint32_t base = NO_BASE;
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t at = index_of(r, r->tensors[i]);
        const sc_rt_use *other = &r->o->uses[at];
        const sc_tensor *memory = r->tensors[i]->tensor;
        if (!other->writes || other->first_write >= first ||
            !sc_rt_overlaps(t->data, t->capacity_bytes, memory->data, memory->capacity_bytes))
            continue;
        if (found && other->first_write < r->o->uses[base].first_write) continue;
        base = at;
        found = memory;
    }
    const uintptr_t begin = (uintptr_t)t->data, from = found ? (uintptr_t)found->data : 0;
    const bool covers =
        found && from <= begin && begin + t->capacity_bytes <= from + found->capacity_bytes;
    return covers ? base : NO_BASE;
}

static bool has_memory_of(const sc_tensor *a, const sc_tensor *b) {
    return a->data == b->data && a->capacity_bytes == b->capacity_bytes;
}

static bool is_pointwise(const relayout *r, uint32_t at) {
    const sc_rt_instruction *in = &r->m->code[at];
    return in->kind == SC_RT_KERNEL && sc_op_has(in->call.op, SC_POINTWISE);
}

// Does `other` show a part of the image's memory that has other content before or after the image
// is in use? An element-wise call may write its result over an operand: then both change or neither
// does.
static bool is_apart(const relayout *r, const sc_evalue *value, const sc_evalue *other) {
    const sc_rt_use *mine = &r->o->uses[index_of(r, value)];
    const sc_rt_use *use = &r->o->uses[index_of(r, other)];
    const sc_rt_place *place = &r->m->places[index_of(r, other)];
    const uint32_t begin = mine->first_write;
    const uint32_t end = mine->reads ? sc_max_u32(mine->last_read, begin) : begin;
    const bool is_same = has_memory_of(value->tensor, other->tensor);
    if (!use->writes && !use->reads && !use->is_output) return true;
    if (place->is_state || place->is_loose) return false;
    const uint32_t last =
        use->writes ? sc_max_u32(use->last_read, use->last_write) : use->last_read;
    if (!use->is_output && last < begin) return true;
    if (!use->is_output && last == begin && is_same && is_pointwise(r, begin)) {
        join(r, value, other);
        return true;
    }
    if (is_view(r, index_of(r, other))) {
        const uint32_t base = r->images[index_of(r, other)].base;
        return base != NO_BASE && r->o->uses[base].first_write > end;
    }
    if (place->is_input || use->reads_old) return false;
    if (use->first_write > end) return true;
    if (use->first_write < end || !is_same || !is_pointwise(r, end)) return false;
    join(r, value, other);
    return true;
}

static bool is_alone(const relayout *r, const sc_evalue *value) {
    const sc_tensor *t = value->tensor;
    for (uint32_t i = 0; i < r->count; i++) {
        const sc_tensor *other = r->tensors[i]->tensor;
        if (other != t &&
            sc_rt_overlaps(t->data, t->capacity_bytes, other->data, other->capacity_bytes) &&
            !is_apart(r, value, r->tensors[i]))
            return false;
    }
    return true;
}

// --- Finding -------------------------------------------------------------------------------------

static bool may_change(const relayout *r, const sc_evalue *value) {
    const sc_rt_use *use = value->tag == SC_EVALUE_TENSOR && is_image(value->tensor)
                               ? sc_rt_plain_use(r->o, value)
                               : NULL;
    return use && !use->is_output && (!use->reads || use->first_read > use->first_write);
}

static bool has_either(const relayout *r) {
    for (uint32_t i = 0; i < r->m->code_count; i++) {
        if (layout_of(r, &r->m->code[i]) == SC_LAYOUT_EITHER) return true;
    }
    return false;
}

// False if the search takes too long.
static bool find_images(relayout *r) {
    sc_rt_method *m = r->m;
    uint64_t found = 0;  // images that may change, and views
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_evalue *value = &m->values[i];
        r->images[i] = (image){.base = NO_BASE, .may_change = may_change(r, value)};
        if (value->tag == SC_EVALUE_TENSOR && !value->tensor->is_constant)
            r->tensors[r->count++] = value;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t at = index_of(r, r->tensors[i]);
        found += r->images[at].may_change || is_view(r, at);
    }
    if (found * r->count > work_max) return false;
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t at = index_of(r, r->tensors[i]);
        if (is_view(r, at)) r->images[at].base = base_of(r, r->tensors[i]);
    }
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (r->images[i].may_change) r->images[i].may_change = is_alone(r, &m->values[i]);
    }
    for (uint32_t i = 0; i < m->code_count; i++) visit(r, &m->code[i]);
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (set_of(r, i) == i) r->images[i].is_last = true;
    }
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (!r->images[i].may_change) r->images[set_of(r, i)].is_last = false;
    }
    return true;
}

// Visits each call's sets that may change once: counts them, or notes the call with each. False if
// that takes too long.
static bool list_calls(relayout *r, bool is_counting) {
    uint64_t work = 0;
    for (uint32_t i = 0; i < r->m->code_count; i++) {
        uint32_t sets = 0, operands = 0, other = UINT32_MAX;
        sc_rt_operands o = sc_rt_operands_of(r->m, &r->m->code[i], SC_RT_ANY_ACCESS);
        while (sc_rt_operands_next(&o)) {
            const uint32_t set = set_of(r, index_of(r, o.value));
            image *first = &r->images[set];
            operands++;
            if (!first->is_last || first->newest == 2 * i + 1 + is_counting) continue;
            first->newest = 2 * i + 1 + is_counting;
            sets++;
            if (other != UINT32_MAX) sc_sets_join(r->groups, set, other);
            other = set;
            if (!is_counting) r->calls[first->first_call + first->call_count] = i;
            first->call_count++;
        }
        work += (uint64_t)sets * operands;
    }
    return work <= work_max / ROUNDS_MAX;
}

static bool find_calls(relayout *r) {
    uint32_t total = 0;
    if (!list_calls(r, true)) return false;
    for (uint32_t i = 0; i < r->m->value_count; i++) {
        image *first = &r->images[i];
        first->first_call = total;
        total += first->call_count;
        first->call_count = 0;
    }
    r->calls = sc_new_array(r->o->ctx->scratch, uint32_t, total);
    return list_calls(r, false);
}

// --- Choosing ------------------------------------------------------------------------------------

static void put_back(const relayout *r) {
    bool changes = true;
    for (uint32_t round = 0; changes && round < ROUNDS_MAX; round++) {
        changes = false;
        for (uint32_t i = r->m->value_count; i-- > 0;)
            if (r->images[i].is_last && !is_worth_it(r, i)) changes = true;
    }
}

// A connected group must be cheaper as a whole.
static void put_groups_back(const relayout *r) {
    double *costs = sc_new_array(r->o->ctx->scratch, double, r->m->value_count);
    for (uint32_t i = 0; i < r->m->code_count; i++) {
        sc_rt_operands o = sc_rt_operands_of(r->m, &r->m->code[i], SC_RT_ANY_ACCESS);
        while (sc_rt_operands_next(&o)) {
            if (!is_last(r, o.value)) continue;
            costs[group_of(r, set_of(r, index_of(r, o.value)))] += cost_of(r, &r->m->code[i]);
            break;
        }
    }
    for (uint32_t i = 0; i < r->m->value_count; i++) {
        if (r->images[i].is_last && costs[group_of(r, i)] > -enough) r->images[i].is_last = false;
    }
}

static void change(const relayout *r) {
    static const uint8_t order[4] = {0, 2, 3, 1};
    for (uint32_t i = 0; i < r->m->value_count; i++) {
        if (r->m->values[i].tag != SC_EVALUE_TENSOR || !is_last(r, &r->m->values[i])) continue;
        memcpy(r->m->values[i].tensor->dim_order, order, sizeof order);
        sc_rt_tensor_set_strides(r->m->values[i].tensor);
    }
}

static void choose(relayout *r) {
    r->images = sc_new_array(r->o->ctx->scratch, image, r->m->value_count);
    r->sets = sc_sets_new(r->o->ctx->scratch, r->m->value_count);
    r->groups = sc_sets_new(r->o->ctx->scratch, r->m->value_count);
    r->tensors = sc_new_array(r->o->ctx->scratch, const sc_evalue *, r->m->value_count);
    if (!find_images(r) || !find_calls(r)) return;
    if (r->m->program->options.channels_last == SC_RT_FASTER) {
        put_back(r);
        put_groups_back(r);
    }
    change(r);
}

sc_status sc_rt_relayout(sc_rt_optimizer *o) {
    relayout r = {.o = o, .m = o->m};
    if (o->m->program->options.channels_last == SC_RT_FASTER && !has_either(&r)) return SC_OK;
    sc_mark mark = sc_arena_mark(o->ctx->scratch);
    sc_rt_count_uses(o);
    choose(&r);
    sc_arena_rewind(o->ctx->scratch, mark);
    return SC_OK;
}
