// Walks from a result to its operands: finds the instruction behind a value, looks through views
// and copies, and finds parts of dims.
#include "rt/rewrite/recognise/recognise.h"

#include "rt/run/shape.h"

enum { STEPS_MAX = 4 };  // views of views, and copies of views

static uint32_t index_of(const sc_rt_search *s, const sc_evalue *value) {
    return sc_rt_value_index(s->o->m, value);
}

void sc_rt_find_bases(sc_rt_search *s) {
    const sc_rt_method *m = s->o->m;
    s->bases = sc_new_array(s->o->ctx->scratch, uint32_t, m->value_count + 1);
    for (uint32_t i = 0; i < m->value_count; i++)
        for (uint32_t view = s->o->uses[i].first_view; view; view = s->o->uses[view - 1].next_view)
            s->bases[view - 1] = i + 1;
}

static void add_part(sc_rt_search *s, uint32_t at) {
    for (uint32_t i = s->parts.count; i-- > 0 && s->parts.count - i <= STEPS_MAX;)
        if (s->parts.data[i] == at) return;
    if (at != s->root) sc_vec_push(s->o->ctx->scratch, &s->parts, at);
}

// The instruction that gives a value its content, if that is a call with so many results and the
// value is the one of that index.
static const sc_rt_instruction *maker_of(sc_rt_search *s, const sc_evalue *value, uint32_t outs,
                                         uint32_t index) {
    const sc_rt_use *use = sc_rt_plain_use(s->o, value);
    if (!use || s->work == 0) return NULL;
    s->work--;
    const sc_rt_instruction *in = &s->o->m->code[use->first_write];
    if (in->kind != SC_RT_KERNEL || (in->is_dynamic && !s->takes_any_size) ||
        in->call.arg_count < outs || sc_op_out_count(in->call.op) != outs ||
        in->call.args[in->call.arg_count - outs + index] != value)
        return NULL;
    return in;
}

const sc_kernel_call *sc_rt_made_among(sc_rt_search *s, const sc_evalue *value, sc_op_id op,
                                       uint32_t index) {
    const sc_op *made = sc_op_get(op);
    const sc_rt_instruction *in = made ? maker_of(s, value, sc_op_out_count(made), index) : NULL;
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

sc_kernel_call sc_rt_found_call(const sc_rt_search *s, const sc_rt_found *found, sc_evalue *out,
                                sc_evalue **args) {
    memcpy(args, found->args, found->arg_count * sizeof *args);
    args[found->arg_count] = out;
    return (sc_kernel_call){.ctx = s->o->ctx,
                            .op = sc_op_get(found->op),
                            .kernel = found->kernel,
                            .args = args,
                            .arg_count = found->arg_count + 1,
                            .form = found->form};
}

bool sc_rt_counts_up(sc_rt_search *s, sc_evalue *value, int64_t count) {
    if (!sc_rt_is_shaped(value, 1, &count) || value->tensor->dtype != SC_DTYPE_I64) return false;
    if (value->tensor->is_constant) {
        if ((uint64_t)count > s->work) return false;
        s->work -= (uint64_t)count;
        for (int64_t i = 0; i < count; i++)
            if (sc_tensor_integer(value->tensor, i * value->tensor->strides[0]) != i) return false;
        return true;
    }
    const sc_kernel_call *made = sc_rt_made_by(s, value, SC_OP_arange_start_step);
    return made && sc_rt_is_number(s, made->args[0], 0) && sc_rt_is_number(s, made->args[2], 1);
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

// The input that a value shares its place with, if no instruction writes there before the value is
// read.
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

sc_evalue *sc_rt_shown_by(sc_rt_search *s, const sc_evalue *value, int64_t *offset) {
    sc_evalue *of = sc_rt_base(s, value);
    if (!of) of = input_below(s, value);
    if (!of || of->tag != SC_EVALUE_TENSOR || !both_dense(value->tensor, of->tensor)) return NULL;
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)of->tensor->dtype);
    const int64_t ahead = (const char *)value->tensor->data - (const char *)of->tensor->data;
    *offset += ahead / bytes;
    return ahead % bytes == 0 ? of : NULL;
}

// The tensor of which a call copies a run.
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
        sc_evalue *of = sc_rt_shown_by(s, value, offset);
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

// By its place: a run of bytes, if the dim is the outermost.
static sc_evalue *shown(sc_rt_search *s, const sc_evalue *value, uint32_t dim, int64_t *start) {
    int64_t offset = 0;
    sc_evalue *of = sc_rt_shown_by(s, value, &offset);
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
