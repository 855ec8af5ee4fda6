// The memory of values: one workspace, with each value for as long as it is needed, and if possible
// in the memory of its operand. A node that only changes sizes costs nothing. An element-wise one
// writes over an operand that is not needed any more.
#include "backends/xnnpack/run/fuse.h"

#define ALIGN 64

// Free ranges of the workspace, in order; the last one has no end.
typedef struct sc_xnn_gap {
    uint64_t offset, bytes;
} sc_xnn_gap;

typedef struct placer {
    sc_xnn_delegate *d;
    sc_xnn_gap *gaps;
    uint32_t count;
    uint64_t most;
} placer;

static uint32_t value_of(const placer *p, const sc_xnn_operand *operand) {
    return (uint32_t)(operand - p->d->operands);
}

static sc_xnn_operand *operand_of(const placer *p, uint32_t value) {
    return &p->d->operands[value];
}

static uint32_t root_of(const placer *p, uint32_t value) {
    uint32_t root = value;
    while (operand_of(p, root)->root != root) root = operand_of(p, root)->root;
    while (operand_of(p, value)->root != root) {
        uint32_t next = operand_of(p, value)->root;
        operand_of(p, value)->root = root;
        value = next;
    }
    return root;
}

static bool is_internal(const sc_xnn_operand *o) { return !o->value->flags && !o->value->constant; }

// --- Sizes and uses ------------------------------------------------------------------------------

static uint64_t bytes_of(const sc_xnn_operand *o) {
    uint64_t bytes = (uint64_t)o->tensor.numel * sc_dtype_bytes((sc_dtype)o->tensor.dtype);
    if (sc_xnn_is(o, SC_XNN_QDINT8))
        bytes = sc_align_up(bytes, ALIGN) + (uint64_t)o->rows * (sizeof(int32_t) + sizeof(float));
    return bytes;
}

static sc_status too_large(const sc_xnn_delegate *d, uint64_t bytes) {
    return sc_fail(d->ctx, SC_ERR_LIMIT, NULL,
                   "an XNNPACK delegate of method '" SC_STR_FMT
                   "' needs %llu bytes for its values, which is more than the limit",
                   SC_STR_ARG(d->method), (unsigned long long)bytes);
}

// Does it pay to run the step together with the next one?
static bool is_pair(const sc_xnn_delegate *d, const sc_xnn_step *s) {
    const sc_xnn_step *next = s + 1;
    if (s->index + 1 >= d->graph->nodes.count || s->node->kind != SC_XNN_CONV ||
        next->node->kind != SC_XNN_DEPTHWISE_CONV || next->in[0] != s->out[0] ||
        !sc_xnn_is(s->in[0], SC_XNN_FP32) || !sc_xnn_is(s->out[0], SC_XNN_FP32) ||
        !sc_xnn_is(next->out[0], SC_XNN_FP32) || !next->out[0]->tensor.numel)
        return false;
    const sc_conv_call first = sc_xnn_conv_call(s), second = sc_xnn_conv_call(next);
    return sc_conv_is_pair(&first, &second);
}

static sc_status begin(const placer *p) {
    sc_xnn_delegate *d = p->d;
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        sc_xnn_operand *o = operand_of(p, v);
        o->root = v;
        o->last = 0;
        o->is_placed = false;
        o->offset = 0;
        if ((uint64_t)o->tensor.numel > d->ctx->limits.planned_bytes_max && is_internal(o))
            return too_large(d, (uint64_t)o->tensor.numel);
        o->bytes = bytes_of(o);
    }
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        sc_xnn_step *s = &d->steps[i];
        s->leads = is_pair(d, s);
        for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX; k++)
            if (s->out[k]) s->out[k]->last = i;
        for (uint32_t k = 0; k < SC_XNN_INPUTS_MAX; k++)
            if (s->in[k]) s->in[k]->last = i + s->leads;
        if (sc_xnn_is_fused(s)) sc_xnn_fusion_source(s)->last = i;
    }
    for (uint32_t v = 0; v < d->graph->values.count; v++)
        if (operand_of(p, v)->value->flags) operand_of(p, v)->last = UINT32_MAX;
    return SC_OK;
}

// --- Sharing -------------------------------------------------------------------------------------

// Puts `value` into the memory of `owner`.
static void join(const placer *p, uint32_t value, uint32_t owner) {
    sc_xnn_operand *from = operand_of(p, value), *to = operand_of(p, owner);
    from->root = owner;
    to->last = sc_max_u32(to->last, from->last);
    to->bytes = sc_max_u64(to->bytes, from->bytes);
}

// Results under a new name. A result that is an argument gives its memory to its operand, unless
// the operand has another owner's memory; then its elements are copied.
static void share_names(const placer *p) {
    for (uint32_t i = 0; i < p->d->graph->nodes.count; i++) {
        const sc_xnn_step *s = &p->d->steps[i];
        if (!s->runner->renames) continue;
        uint32_t in = root_of(p, s->node->inputs[0]), out = root_of(p, s->node->outputs[0]);
        if (is_internal(operand_of(p, out)))
            join(p, out, in);
        else if (is_internal(operand_of(p, in)))
            join(p, in, out);
    }
}

static bool may_overwrite(const placer *p, const sc_xnn_step *s, const sc_xnn_operand *in,
                          uint32_t root) {
    const sc_xnn_operand *memory = operand_of(p, root), *out = s->out[0];
    return is_internal(memory) && memory->last == s->index &&
           in->tensor.dtype == out->tensor.dtype && in->tensor.numel == out->tensor.numel &&
           in->tensor.rank == out->tensor.rank &&
           memory->bytes == operand_of(p, root_of(p, s->node->outputs[0]))->bytes;
}

static void share_results(const placer *p) {
    for (uint32_t i = 0; i < p->d->graph->nodes.count; i++) {
        const sc_xnn_step *s = &p->d->steps[i];
        for (uint32_t k = 0; s->runner->overwrites && k < SC_XNN_INPUTS_MAX; k++) {
            if (!s->in[k]) continue;
            uint32_t in = root_of(p, s->node->inputs[k]), out = root_of(p, s->node->outputs[0]);
            if (in == out || !may_overwrite(p, s, s->in[k], in)) continue;
            join(p, in, out);
            break;
        }
    }
}

// --- The workspace -------------------------------------------------------------------------------

// Takes the smallest gap that is large enough; the last one always is.
static uint64_t take(placer *p, uint64_t bytes) {
    uint32_t best = p->count - 1;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->gaps[i].bytes >= bytes && p->gaps[i].bytes < p->gaps[best].bytes) best = i;
    uint64_t offset = p->gaps[best].offset;
    p->gaps[best].offset += bytes;
    p->gaps[best].bytes -= bytes;
    if (p->gaps[best].bytes == 0) {
        p->count--;
        memmove(p->gaps + best, p->gaps + best + 1, (p->count - best) * sizeof *p->gaps);
    }
    p->most = sc_max_u64(p->most, offset + bytes);
    return offset;
}

static void give(placer *p, uint64_t offset, uint64_t bytes) {
    uint32_t at = 0;
    while (p->gaps[at].offset < offset) at++;
    sc_xnn_gap *next = &p->gaps[at];
    bool joins_last = at > 0 && next[-1].offset + next[-1].bytes == offset;
    bool joins_next = offset + bytes == next->offset;
    if (joins_next) {
        next->offset = offset;
        next->bytes += bytes;
        if (!joins_last) return;
        next[-1].bytes += next->bytes;
        p->count--;
        memmove(next, next + 1, (p->count - at) * sizeof *next);
    } else if (joins_last) {
        next[-1].bytes += bytes;
    } else {
        memmove(next + 1, next, (p->count - at) * sizeof *next);
        *next = (sc_xnn_gap){offset, bytes};
        p->count++;
    }
}

static void begin_value(placer *p, uint32_t value) {
    sc_xnn_operand *o = operand_of(p, root_of(p, value));
    if (o->is_placed || !is_internal(o)) return;
    o->is_placed = true;
    if (o->bytes) o->offset = take(p, sc_align_up(o->bytes, ALIGN));
}

// The further results of a product, whose steps come later.
static void begin_fused(placer *p, const sc_xnn_step *s) {
    sc_xnn_operand *results[2];
    const uint32_t count = sc_xnn_is_fused(s) ? sc_xnn_fusion_results(s, results) : 0;
    for (uint32_t i = 0; i < count; i++) begin_value(p, (uint32_t)(results[i] - p->d->operands));
}

static void end_value(placer *p, uint32_t value, uint32_t step) {
    sc_xnn_operand *o = operand_of(p, root_of(p, value));
    if (!o->is_placed || o->last != step || !o->bytes) return;
    give(p, o->offset, sc_align_up(o->bytes, ALIGN));
    o->last = UINT32_MAX;  // freed once
}

static void place_values(placer *p) {
    for (uint32_t i = 0; i < p->d->graph->nodes.count; i++) {
        const sc_xnn_step *s = &p->d->steps[i];
        for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX; k++)
            if (s->out[k]) begin_value(p, s->node->outputs[k]);
        begin_fused(p, s);
        for (uint32_t k = 0; k < SC_XNN_INPUTS_MAX; k++)
            if (s->in[k]) end_value(p, s->node->inputs[k], i);
        if (sc_xnn_is_fused(s)) end_value(p, value_of(p, sc_xnn_fusion_source(s)), i);
        // The step before reads its inputs as long as this one runs.
        for (uint32_t k = 0; i > 0 && s[-1].leads && k < SC_XNN_INPUTS_MAX; k++)
            if (s[-1].in[k]) end_value(p, s[-1].node->inputs[k], i);
        for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX; k++)
            if (s->out[k]) end_value(p, s->node->outputs[k], i);
    }
}

// --- The whole -----------------------------------------------------------------------------------

// One workspace for all delegates of a program: no value in it outlives a call.
static sc_status grow_workspace(sc_xnn_delegate *d) {
    uint64_t bytes = d->placed_bytes + d->scratch_bytes;
    if (bytes > d->ctx->limits.planned_bytes_max) return too_large(d, bytes);
    if (bytes <= d->shared->workspace_bytes) return SC_OK;
    uint8_t *workspace = sc_try_alloc(bytes);
    if (!workspace)
        return sc_fail(d->ctx, SC_ERR_MEMORY, NULL,
                       "no memory for %llu bytes of values of an XNNPACK delegate",
                       (unsigned long long)bytes);
    sc_free(d->shared->workspace);
    d->shared->workspace = workspace;
    d->shared->workspace_bytes = bytes;
    return SC_OK;
}

sc_status sc_xnn_place(sc_xnn_delegate *d) {
    // Every freed value leaves at most one gap.
    if (!d->gaps) d->gaps = sc_new_array(&d->arena, sc_xnn_gap, (size_t)d->graph->values.count + 2);
    placer p = {.d = d, .gaps = d->gaps, .count = 1};
    p.gaps[0] = (sc_xnn_gap){0, UINT64_MAX};
    SC_TRY(begin(&p));
    share_names(&p);
    share_results(&p);
    place_values(&p);
    for (uint32_t v = 0; v < d->graph->values.count; v++) (void)root_of(&p, v);
    d->placed_bytes = p.most;
    d->scratch_bytes = 0;
    for (uint32_t i = 0; i < d->graph->nodes.count; i++)
        d->scratch_bytes = sc_max_u64(d->scratch_bytes, d->steps[i].scratch_bytes);
    return grow_workspace(d);
}

void sc_xnn_point(sc_xnn_delegate *d) {
    uint8_t *workspace = d->shared->workspace;
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        sc_xnn_operand *o = &d->operands[v], *root = &d->operands[o->root];
        if (is_internal(root))
            o->tensor.data = root->is_placed && workspace ? workspace + root->offset : NULL;
        else
            o->tensor.data = root->tensor.data;
    }
    d->scratch = workspace ? workspace + d->placed_bytes : NULL;
}
