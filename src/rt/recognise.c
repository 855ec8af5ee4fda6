// Walking from a result to what it is made of, and putting one call in the place of many. The call
// stands where the last of them stood, on operands that nothing overwrites before; of the others
// those go whose results nobody reads any more. Nothing is taken for granted of a file: what is not
// exactly of the form that is looked for runs as it is written.
#include "rt/recognise.h"

#include <stdlib.h>

#include "rt/asks.h"

enum {
    STEPS_MAX = 4,         // views of views, and copies of them
    MOVED_MAX = 64 << 20,  // bytes a method, of results that cannot stay where they were planned
    WORK_MAX = 1 << 20,    // values that are looked at, beside eight for each instruction
    WAITS_MAX = 16 << 20,  // instructions that come between writing values and reading them
};

static uint32_t index_of(const sc_rt_search *s, const sc_evalue *value) {
    return sc_rt_value_index(s->o->m, value);
}

static sc_evalue *result_of(const sc_kernel_call *call) { return call->args[call->arg_count - 1]; }

// --- What a value is -----------------------------------------------------------------------------

static void add_part(sc_rt_search *s, uint32_t at) {
    for (uint32_t i = s->parts.count; i-- > 0 && s->parts.count - i <= STEPS_MAX;)
        if (s->parts.data[i] == at) return;
    if (at != s->root) sc_vec_push(s->o->ctx->scratch, &s->parts, at);
}

// The instruction that gives a value its content, if that is a call with so many results, of which
// the value is that one.
static const sc_rt_instruction *maker_of(sc_rt_search *s, const sc_evalue *value, uint32_t outs,
                                         uint32_t index) {
    const sc_rt_use *use = sc_rt_plain_use(s->o, value);
    if (!use || s->work == 0) return NULL;
    s->work--;
    const sc_rt_instruction *in = &s->o->m->code[use->first_write];
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || in->call.arg_count < outs ||
        sc_op_out_count(in->call.op) != outs ||
        in->call.args[in->call.arg_count - outs + index] != value)
        return NULL;
    return in;
}

const sc_kernel_call *sc_rt_made_among(sc_rt_search *s, const sc_evalue *value, sc_op_id op,
                                       uint32_t index) {
    const sc_rt_instruction *in = maker_of(s, value, sc_op_out_count(sc_op_get(op)), index);
    if (!in || in->call.op->id != op) return NULL;
    add_part(s, (uint32_t)(in - s->o->m->code));
    return &in->call;
}

const sc_kernel_call *sc_rt_made_by(sc_rt_search *s, const sc_evalue *value, sc_op_id op) {
    return sc_rt_made_among(s, value, op, 0);
}

bool sc_rt_is_fixed(const sc_rt_search *s, const sc_evalue *value) {
    return !s->o->m->places[index_of(s, value)].is_written;
}

bool sc_rt_is_number(const sc_rt_search *s, const sc_evalue *value, double number) {
    if (!sc_rt_is_fixed(s, value)) return false;
    switch (value->tag) {
    case SC_EVALUE_INT: return (double)value->i == number;
    case SC_EVALUE_DOUBLE: return value->d == number;
    case SC_EVALUE_BOOL: return value->b == number;
    default: return false;
    }
}

sc_evalue *sc_rt_base(const sc_rt_search *s, const sc_evalue *value) {
    const uint32_t base = s->bases[index_of(s, value)];
    return base ? &s->o->m->values[base - 1] : NULL;
}

bool sc_rt_is_shaped(const sc_evalue *value, uint32_t rank, const int64_t *sizes) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->rank == rank &&
           !value->tensor->is_dynamic &&
           memcmp(value->tensor->sizes, sizes, rank * sizeof *sizes) == 0;
}

static bool both_dense(const sc_tensor *a, const sc_tensor *b) {
    return a->dtype == b->dtype && !a->is_dynamic && !b->is_dynamic && sc_tensor_is_contiguous(a) &&
           sc_tensor_is_contiguous(b);
}

// The input in whose place a value lies that nothing writes before it is read.
static sc_evalue *input_below(sc_rt_search *s, const sc_evalue *value) {
    const sc_rt_method *m = s->o->m;
    const sc_rt_place *at = &m->places[index_of(s, value)];
    if (!at->memory_id || at->is_input || s->o->uses[index_of(s, value)].writes) return NULL;
    for (uint32_t i = 0; i < m->input_count && s->work > 0; i++, s->work--) {
        const sc_rt_place *place = &m->places[m->inputs[i]];
        if (place->memory_id == at->memory_id && place->offset <= at->offset &&
            at->offset + at->bytes <= place->offset + place->bytes)
            return &m->values[m->inputs[i]];
    }
    return NULL;
}

// What a value shows by its place in memory, without any instruction.
static sc_evalue *shown_by(sc_rt_search *s, const sc_evalue *value, int64_t *offset) {
    sc_evalue *of = sc_rt_base(s, value);
    if (!of) of = input_below(s, value);
    if (!of || of->tag != SC_EVALUE_TENSOR || !both_dense(value->tensor, of->tensor)) return NULL;
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)of->tensor->dtype);
    const int64_t ahead = (const char *)value->tensor->data - (const char *)of->tensor->data;
    *offset += ahead / bytes;
    return ahead % bytes == 0 ? of : NULL;
}

// What a call copies a run of.
static sc_evalue *copied_by(sc_rt_search *s, const sc_evalue *value, int64_t *offset) {
    const sc_rt_instruction *in = maker_of(s, value, 1, 0);
    if (!in || in->call.arg_count < 2 || in->call.args[0]->tag != SC_EVALUE_TENSOR ||
        !both_dense(value->tensor, in->call.args[0]->tensor))
        return NULL;
    sc_rt_window window = {.offset = 0};
    const bool hands_on = sc_op_has(in->call.op, SC_HANDS_ON) &&
                          in->call.args[0]->tensor->numel == value->tensor->numel;
    if (!hands_on && (!sc_rt_call_window(s->o->ctx, in, &window) || !window.is_contiguous))
        return NULL;
    *offset += window.offset;
    add_part(s, (uint32_t)(in - s->o->m->code));
    return in->call.args[0];
}

sc_evalue *sc_rt_source(sc_rt_search *s, sc_evalue *value, uint32_t rank, const int64_t *sizes,
                        int64_t *offset) {
    *offset = 0;
    for (int i = 0; i < STEPS_MAX && value->tag == SC_EVALUE_TENSOR; i++) {
        if (sc_rt_is_shaped(value, rank, sizes)) return value;
        sc_evalue *of = shown_by(s, value, offset);
        value = of ? of : copied_by(s, value, offset);
        if (!value) return NULL;
    }
    return sc_rt_is_shaped(value, rank, sizes) ? value : NULL;
}

// --- Parts of a dim ------------------------------------------------------------------------------

// By an instruction: (self, dim, start, end, step, out).
static sc_evalue *sliced(sc_rt_search *s, const sc_evalue *value, uint32_t dim, int64_t *start) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_slice_copy_Tensor);
    if (!call || call->args[0]->tag != SC_EVALUE_TENSOR || call->args[1]->tag != SC_EVALUE_INT ||
        !sc_rt_is_fixed(s, call->args[1]) ||
        sc_wrap_dim(call->args[1]->i, value->tensor->rank) != dim ||
        !sc_rt_is_number(s, call->args[4], 1))
        return NULL;
    *start = 0;
    if (call->args[2]->tag == SC_EVALUE_NONE) return call->args[0];
    if (call->args[2]->tag != SC_EVALUE_INT || call->args[2]->i < 0 ||
        !sc_rt_is_fixed(s, call->args[2]))
        return NULL;
    *start = call->args[2]->i;
    return call->args[0];
}

// By its place: a run of bytes, as the outermost dim has them.
static sc_evalue *shown(sc_rt_search *s, const sc_evalue *value, uint32_t dim, int64_t *start) {
    int64_t offset = 0;
    sc_evalue *of = shown_by(s, value, &offset);
    if (!of || of->tensor->rank != value->tensor->rank || offset < 0) return NULL;
    for (uint32_t d = 0; d < dim; d++)
        if (of->tensor->sizes[d] != 1) return NULL;
    const int64_t step = of->tensor->strides[dim];
    *start = step > 0 ? offset / step : 0;
    return step > 0 && offset % step == 0 ? of : NULL;
}

static sc_evalue *part_of(sc_rt_search *s, const sc_evalue *value, uint32_t dim, int64_t *start) {
    if (value->tag != SC_EVALUE_TENSOR || value->tensor->is_dynamic) return NULL;
    sc_evalue *of = shown(s, value, dim, start);
    if (!of) of = sliced(s, value, dim, start);
    if (!of || of->tensor->is_dynamic || of->tensor->rank != value->tensor->rank ||
        of->tensor->dtype != value->tensor->dtype)
        return NULL;
    for (uint32_t d = 0; d < of->tensor->rank; d++)
        if (d != dim && of->tensor->sizes[d] != value->tensor->sizes[d]) return NULL;
    return of;
}

bool sc_rt_is_part(sc_rt_search *s, const sc_evalue *value, const sc_evalue *x, uint32_t dim,
                   int64_t start, int64_t count) {
    int64_t from;
    return part_of(s, value, dim, &from) == x && from == start &&
           value->tensor->sizes[dim] == count && start + count <= x->tensor->sizes[dim];
}

sc_evalue *sc_rt_whole_of(sc_rt_search *s, const sc_evalue *value, uint32_t dim) {
    int64_t start;
    sc_evalue *x = part_of(s, value, dim, &start);
    return x && start == 0 ? x : NULL;
}

// --- One call in the place of many ---------------------------------------------------------------

typedef struct placing {
    sc_rt_search *s;
    sc_rt_instruction before;  // the root as it was
    uint8_t *was;              // of each part: its kind
    uint32_t first;            // of the parts that read a tensor
    sc_evalue *last, value;    // what has become the last argument, and what it was
    sc_rt_place place;         // where
} placing;

static void count_reads(sc_rt_search *s, const sc_rt_instruction *in, int by) {
    sc_rt_operands w = sc_rt_operands_of(s->o->m, in, SC_RT_TAKES);
    while (sc_rt_operands_next(&w)) s->o->uses[index_of(s, w.value)].reads += (uint32_t)by;
}

bool sc_rt_is_idle(const sc_rt_search *s, const sc_evalue *value) {
    const sc_rt_use *use = &s->o->uses[index_of(s, value)];
    if (use->reads || use->is_output || !sc_rt_plain_use(s->o, value)) return false;
    for (uint32_t view = use->first_view; view; view = s->o->uses[view - 1].next_view)
        if (s->o->uses[view - 1].reads || s->o->uses[view - 1].is_output) return false;
    return true;
}

static bool are_idle(const sc_rt_search *s, const sc_kernel_call *call) {
    const uint32_t outs = sc_op_out_count(call->op);
    for (uint32_t i = 0; i < outs; i++)
        if (!sc_rt_is_idle(s, call->args[call->arg_count - 1 - i])) return false;
    return true;
}

static int downwards(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// From the last on: what read the others goes before them.
static void drop_idle(placing *p) {
    sc_rt_search *s = p->s;
    for (uint32_t i = 0; i < s->parts.count; i++) {
        sc_rt_instruction *in = &s->o->m->code[s->parts.data[i]];
        p->was[i] = in->kind;
        if (in->kind != SC_RT_KERNEL || in->origin_count != 1 || !are_idle(s, &in->call)) continue;
        count_reads(s, in, -1);
        in->kind = SC_RT_SKIP;
    }
}

static void take_back(placing *p) {
    sc_rt_search *s = p->s;
    sc_rt_instruction *root = &s->o->m->code[s->root];
    count_reads(s, root, -1);
    *root = p->before;
    count_reads(s, root, 1);
    if (p->last) {
        *p->last = p->value;
        s->o->m->places[index_of(s, p->last)] = p->place;
    }
    for (uint32_t i = s->parts.count; i-- > 0;) {
        sc_rt_instruction *in = &s->o->m->code[s->parts.data[i]];
        if (in->kind == p->was[i]) continue;
        in->kind = p->was[i];
        count_reads(s, in, 1);
    }
}

// A value that nobody reads any more becomes the None, or whatever it is, that the call needs.
static bool make_last(placing *p, const sc_evalue *number, sc_evalue **arg) {
    sc_rt_search *s = p->s;
    for (uint32_t i = 0; i < s->parts.count; i++) {
        const sc_rt_instruction *in = &s->o->m->code[s->parts.data[i]];
        if (in->kind != SC_RT_SKIP || p->was[i] == SC_RT_SKIP) continue;
        sc_evalue *value = result_of(&in->call);
        if (s->o->uses[index_of(s, value)].first_view) continue;
        s->o->uses[index_of(s, *arg)].reads--;
        p->last = *arg = value;
        p->value = *value;
        p->place = s->o->m->places[index_of(s, value)];
        *value = *number;
        s->o->m->places[index_of(s, value)] = (sc_rt_place){0};
        s->o->uses[index_of(s, value)].reads++;
        return true;
    }
    return false;
}

static sc_status give_room(sc_rt_search *s, sc_evalue *value, bool *fits) {
    const uint64_t bytes = sc_align_up(value->tensor->capacity_bytes, 64);
    uint8_t *memory = NULL;
    *fits = bytes <= MOVED_MAX - s->moved;
    if (!*fits) return SC_OK;
    SC_TRY(sc_rt_keep_memory(s->o, bytes, &memory));
    s->moved += bytes;
    sc_rt_move_value(s->o, value, memory, false);
    return SC_OK;
}

// The new call is held to what calls of files are held to.
static bool is_sound(const sc_rt_search *s, const sc_kernel_call *call) {
    sc_ctx *ctx = s->o->ctx;
    const sc_diag_mark diags = sc_diags_mark(ctx);
    const bool ok = sc_rt_call_check(ctx, call) == SC_OK &&
                    sc_rt_call_shape(ctx, call, true) == SC_OK && !sc_rt_call_is_empty(call);
    sc_diags_rewind(ctx, diags);
    return ok;
}

// The call stands for the parts that are gone, in the order of the file.
static void merge_origins(sc_rt_search *s) {
    sc_rt_instruction *root = &s->o->m->code[s->root];
    uint32_t count = 0;
    sc_rt_origin *origins =
        sc_new_array(&s->o->m->program->arena, sc_rt_origin, s->parts.count + 1);
    for (uint32_t i = s->parts.count; i-- > 0;) {
        sc_rt_instruction *in = &s->o->m->code[s->parts.data[i]];
        if (in->kind != SC_RT_SKIP || !in->origin_count) continue;
        origins[count++] = in->origin;
        in->origin_count = 0;
    }
    origins[count++] = root->origin;
    root->origins = origins;
    root->origin_count = count;
}

static void write_first(sc_rt_search *s, sc_evalue *first) {
    sc_rt_instruction *root = &s->o->m->code[s->root];
    const uint32_t count = root->call.arg_count;
    sc_evalue **args = sc_new_array(&s->o->m->program->arena, sc_evalue *, count + 1);
    memcpy(args, root->call.args, count * sizeof *args);
    args[0] = first;
    count_reads(s, root, -1);
    root->call.args = args;
    count_reads(s, root, 1);
}

static void write_call(sc_rt_search *s, const sc_rt_found *found) {
    sc_rt_instruction *root = &s->o->m->code[s->root];
    sc_evalue *result = result_of(&root->call);
    if (found->stays) {
        write_first(s, found->args[0]);
        return;
    }
    sc_evalue **args = sc_new_array(&s->o->m->program->arena, sc_evalue *, SC_RT_FOUND_ARGS + 2);
    uint32_t count = found->arg_count;
    memcpy(args, found->args, count * sizeof *args);
    if (found->ends_in) args[count++] = result;  // until there is one
    args[count++] = result;
    count_reads(s, root, -1);
    root->kernel = found->kernel->run;
    root->call.op = sc_op_get(found->op);
    root->call.args = args;
    root->call.arg_count = count;
    count_reads(s, root, 1);
}

// Results lie where the file may have operands by now, which were not needed there any more.
static sc_status give_results_room(sc_rt_search *s, bool *fits) {
    const sc_kernel_call *call = &s->o->m->code[s->root].call;
    const uint32_t outs = sc_op_out_count(call->op);
    *fits = true;
    for (uint32_t i = 0; i < outs && *fits && sc_rt_call_write_fault(call); i++)
        SC_TRY(give_room(s, call->args[call->arg_count - outs + i], fits));
    return SC_OK;
}

static sc_status settle(placing *p, const sc_rt_found *found, bool *done) {
    sc_rt_search *s = p->s;
    sc_rt_instruction *root = &s->o->m->code[s->root];
    sc_evalue **args = (sc_evalue **)(uintptr_t)root->call.args;
    bool fits;
    *done = false;
    drop_idle(p);
    if (found->ends_in && !make_last(p, found->ends_in, &args[found->arg_count])) return SC_OK;
    for (uint32_t i = 0; i < found->arg_count; i++)
        if (!sc_rt_is_intact(s, found->args[i], p->first)) return SC_OK;
    if (!found->is_checked && !is_sound(s, &root->call)) return SC_OK;
    const uint64_t scratch = sc_rt_ask_scratch(found->kernel, &root->call);
    if (scratch > s->o->ctx->limits.planned_bytes_max) return SC_OK;
    SC_TRY(give_results_room(s, &fits));
    if (!fits) return SC_OK;
    s->scratch = sc_max_u64(s->scratch, scratch);
    root->call.scratch_bytes = sc_max_u64(root->call.scratch_bytes, scratch);
    *done = true;
    return SC_OK;
}

static bool are_plain(const sc_rt_search *s, const sc_kernel_call *call) {
    const uint32_t outs = sc_op_out_count(call->op);
    for (uint32_t i = 0; i < outs; i++)
        if (!sc_rt_plain_use(s->o, call->args[call->arg_count - 1 - i])) return false;
    return true;
}

static sc_status place(sc_rt_search *s, const sc_rt_found *found, bool *done) {
    placing p = {.s = s, .before = s->o->m->code[s->root]};
    *done = false;
    if (!are_plain(s, &p.before.call)) return SC_OK;
    p.was = sc_new_array(s->o->ctx->scratch, uint8_t, s->parts.count + 1);
    if (s->parts.count) qsort(s->parts.data, s->parts.count, sizeof *s->parts.data, downwards);
    p.first = sc_rt_first_reader(s);
    if (!sc_rt_parts_hold(s, found, p.first)) return SC_OK;
    write_call(s, found);
    SC_TRY(settle(&p, found, done));
    if (*done)
        merge_origins(s);
    else
        take_back(&p);
    return SC_OK;
}

// --- The method ----------------------------------------------------------------------------------

static void find_bases(sc_rt_search *s) {
    const sc_rt_method *m = s->o->m;
    s->bases = sc_new_array(s->o->ctx->scratch, uint32_t, m->value_count + 1);
    for (uint32_t i = 0; i < m->value_count; i++)
        for (uint32_t view = s->o->uses[i].first_view; view; view = s->o->uses[view - 1].next_view)
            s->bases[view - 1] = i + 1;
}

static uint64_t scratch_of(const sc_rt_method *m) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->code_count; i++)
        most = sc_max_u64(most, m->code[i].call.scratch_bytes);
    return most;
}

static sc_status grow_scratch(sc_rt_search *s, uint64_t had) {
    sc_rt_method *m = s->o->m;
    if (s->scratch <= had) return SC_OK;
    uint8_t *memory = sc_try_alloc(s->scratch);
    if (!memory)
        return sc_fail(s->o->ctx, SC_ERR_MEMORY, NULL, "no memory for %llu bytes of scratch space",
                       (unsigned long long)s->scratch);
    sc_free(m->scratch);
    m->scratch = memory;
    for (uint32_t i = 0; i < m->code_count; i++) m->code[i].call.scratch = memory;
    return SC_OK;
}

// What is looked for, by the operator that it ends with: of any results, or of whole numbers only.
// Remainders and tests of signs are parts of other things, too, and looked at when those have been.
static const struct form {
    sc_op_id root;
    bool is_whole, is_late;
    bool (*find)(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
} forms[] = {
    {SC_OP_pow_Scalar, false, false, sc_rt_is_pointwise},
    {SC_OP_bitwise_right_shift_Tensor, true, false, sc_rt_is_pointwise},
    {SC_OP_where_self, false, false, sc_rt_is_pointwise},
    {SC_OP_where_self, false, false, sc_rt_is_product},
    {SC_OP_lt_Scalar, false, true, sc_rt_is_pointwise},
    {SC_OP_cat, false, false, sc_rt_is_scan},
    {SC_OP_cat, false, false, sc_rt_is_fft},
    {SC_OP_where_self, false, false, sc_rt_is_grouped},
    {SC_OP_where_self, true, false, sc_rt_is_division},
    {SC_OP_scatter_src, false, false, sc_rt_is_extreme},
    {SC_OP_add_Tensor, true, false, sc_rt_is_gcd},
    {SC_OP_sub_Tensor, true, true, sc_rt_is_remainder},
    {SC_OP_native_group_norm, false, false, sc_rt_is_centred},
    {SC_OP__native_batch_norm_legit_no_stats, false, false, sc_rt_is_centred},
};

static bool is_whole(const sc_kernel_call *call) {
    const sc_evalue *out = call->arg_count ? call->args[call->arg_count - 1] : NULL;
    return out && out->tag == SC_EVALUE_TENSOR &&
           sc_dtype_is_integral((sc_dtype)out->tensor->dtype, false);
}

static sc_status look_at(sc_rt_search *s, uint32_t at, bool is_late, bool *changed) {
    const sc_rt_instruction *in = &s->o->m->code[at];
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || !s->roots[is_late][in->call.op->id] ||
        !sc_rt_runs_once(s->o, at))
        return SC_OK;
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) {
        sc_rt_found found = {.arg_count = 0};
        bool done = false;
        if (forms[i].root != in->call.op->id || forms[i].is_late != is_late ||
            (forms[i].is_whole && !is_whole(&in->call)))
            continue;
        if (!s->bases) find_bases(s);
        s->root = at;
        s->parts.count = 0;
        if (!forms[i].find(s, &in->call, &found)) continue;
        SC_TRY(place(s, &found, &done));
        *changed |= done;
        return SC_OK;
    }
    return SC_OK;
}

sc_status sc_rt_recognise(sc_rt_optimizer *o, bool *changed) {
    sc_rt_search s = {
        .o = o, .work = WORK_MAX + 8 * (uint64_t)o->m->code_count, .waits = WAITS_MAX};
    const uint64_t had = scratch_of(o->m);
    *changed = false;
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) s.roots[forms[i].is_late][forms[i].root] = true;
    for (uint32_t i = 0; i < o->m->code_count; i++) SC_TRY(look_at(&s, i, false, changed));
    for (uint32_t i = 0; i < o->m->code_count; i++) SC_TRY(look_at(&s, i, true, changed));
    return grow_scratch(&s, had);
}
