// Replaces many calls by one. The new call takes the place of the last of them, if its operands are
// not overwritten before. The other calls are removed if their results have no reader left.
#include "rt/rewrite/recognise/recognise.h"

#include <stdlib.h>

#include "rt/asks.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"

// Bytes per method for results that cannot stay where they were planned.
enum { MOVED_MAX = 64 << 20 };

static uint32_t index_of(const sc_rt_search *s, const sc_evalue *value) {
    return sc_rt_value_index(s->o->m, value);
}

static sc_evalue *result_of(const sc_kernel_call *call) { return call->args[call->arg_count - 1]; }

typedef struct placing {
    sc_rt_search *s;
    sc_rt_instruction before;           // the root as it was before
    uint8_t *was;                       // the kind of each part
    uint32_t firsts[SC_RT_FOUND_ARGS];  // by argument: the first part that reads it
    sc_evalue *last, value;  // the value that became the last argument, and its earlier content
    sc_rt_place place;       // its place
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

// Goes backwards, since readers of a part must be removed before it.
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

// A value without readers becomes the None, or other argument, that the new call needs.
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

// The new call is checked like calls of files.
static bool is_sound(const sc_rt_search *s, const sc_kernel_call *call) {
    sc_ctx *ctx = s->o->ctx;
    const sc_diag_mark diags = sc_diags_mark(ctx);
    const bool ok = sc_rt_call_check(ctx, call) == SC_OK &&
                    sc_rt_call_shape(ctx, call, true) == SC_OK && !sc_rt_call_is_empty(call);
    sc_diags_rewind(ctx, diags);
    return ok;
}

// The call stands for the removed parts, in the order of the file.
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
    if (found->ends_in) args[count++] = result;  // until one is found
    args[count++] = result;
    count_reads(s, root, -1);
    root->call.kernel = found->kernel;
    root->call.op = sc_op_get(found->op);
    root->call.args = args;
    root->call.arg_count = count;
    root->call.form = found->form;
    if (found->form) root->is_dynamic = false;  // its kernel checks sizes, and gives results theirs
    count_reads(s, root, 1);
}

// Results may lie where the file has operands, which it did not need there any more.
static sc_status give_results_room(sc_rt_search *s, bool *fits) {
    const sc_kernel_call *call = &s->o->m->code[s->root].call;
    const uint32_t outs = sc_op_out_count(call->op);
    *fits = true;
    for (uint32_t i = 0; i < outs && *fits && sc_rt_call_write_fault(call); i++)
        SC_TRY(give_room(s, call->args[call->arg_count - outs + i], fits));
    return SC_OK;
}

static sc_status make_call(placing *p, const sc_rt_found *found, bool *done) {
    sc_rt_search *s = p->s;
    sc_rt_instruction *root = &s->o->m->code[s->root];
    sc_evalue **args = (sc_evalue **)(uintptr_t)root->call.args;
    bool fits;
    *done = false;
    drop_idle(p);
    if (found->goes && !sc_rt_is_idle(s, found->goes)) return SC_OK;
    if (found->ends_in && !make_last(p, found->ends_in, &args[found->arg_count])) return SC_OK;
    for (uint32_t i = 0; i < found->arg_count; i++)
        if (!sc_rt_is_intact(s, found->args[i], p->firsts[i])) return SC_OK;
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

sc_status sc_rt_put(sc_rt_search *s, const sc_rt_found *found, bool *done) {
    placing p = {.s = s, .before = s->o->m->code[s->root]};
    *done = false;
    // The expansion runs as it is where the build leaves out what it comes to.
    if (!found->stays && (!found->kernel || !sc_op_get(found->op))) return SC_OK;
    if (!are_plain(s, &p.before.call)) return SC_OK;
    p.was = sc_new_array(s->o->ctx->scratch, uint8_t, s->parts.count + 1);
    if (s->parts.count) qsort(s->parts.data, s->parts.count, sizeof *s->parts.data, downwards);
    if (!sc_rt_parts_hold(s, found, p.firsts)) return SC_OK;
    write_call(s, found);
    SC_TRY(make_call(&p, found, done));
    if (*done)
        merge_origins(s);
    else
        take_back(&p);
    return SC_OK;
}
