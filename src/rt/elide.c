// Copies that change nothing: a view, a transposition of dimensions of size 1, a slice or selection
// that is one run of bytes. Where the original stays untouched for as long as the copy is read, the
// copy becomes another name for it.
#include "rt/optimize.h"

// Row-major order is the order in memory, for both.
static bool both_dense(const sc_tensor *a, const sc_tensor *b) {
    return sc_tensor_is_contiguous(a) && sc_tensor_is_contiguous(b);
}

// Dimensions of size 1 aside, the dimensions keep their order?
static bool keeps_order(const sc_kernel_call *call, const sc_tensor *self, bool *known) {
    uint8_t order[SC_RANK_MAX];
    int64_t dims[SC_RANK_MAX];
    const uint32_t rank = self->rank;
    *known = true;
    for (uint32_t d = 0; d < rank; d++) order[d] = (uint8_t)d;
    switch (call->op->id) {
    case SC_OP_permute_copy:
        if (sc_call_ints(call, 1, dims, SC_RANK_MAX, 0) != rank) return false;
        for (uint32_t d = 0; d < rank; d++) order[d] = (uint8_t)sc_wrap_dim(dims[d], rank);
        break;
    case SC_OP_transpose_copy_int: {
        uint32_t a = sc_call_dim(call, 1, rank), b = sc_call_dim(call, 2, rank);
        if (rank) {
            order[a] = (uint8_t)b;
            order[b] = (uint8_t)a;
        }
        break;
    }
    case SC_OP_t_copy:
        if (rank == 2) order[0] = 1, order[1] = 0;
        break;
    default: *known = false; return false;
    }
    int last = -1;
    for (uint32_t d = 0; d < rank; d++) {
        if (self->sizes[order[d]] == 1) continue;
        if (order[d] < last) return false;
        last = order[d];
    }
    return true;
}

// Where a slice or selection along `dim` begins, if everything before that dimension has size 1.
static bool run_offset(const sc_tensor *self, uint32_t dim, int64_t start, int64_t step,
                       int64_t *offset) {
    if (step != 1 || start < 0) return false;
    for (uint32_t d = 0; d < dim; d++) {
        if (self->sizes[d] != 1) return false;
    }
    *offset = start * self->strides[dim];
    return true;
}

static bool slice_offset(const sc_kernel_call *call, const sc_tensor *self, int64_t *offset) {
    const uint32_t dim = sc_call_dim(call, 1, self->rank);
    if (self->rank == 0) return false;
    int64_t size = self->sizes[dim],
            start = sc_call_is_none(call, 2) ? 0 : sc_call_integer(call, 2);
    if (start < 0) start = sc_max_i64(start + size, 0);
    return run_offset(self, dim, sc_min_i64(start, size), sc_call_integer(call, 4), offset);
}

static bool select_offset(const sc_kernel_call *call, const sc_tensor *self, int64_t *offset) {
    const uint32_t dim = sc_call_dim(call, 1, self->rank);
    if (self->rank == 0) return false;
    int64_t index = sc_call_integer(call, 2);
    return run_offset(self, dim, index < 0 ? index + self->sizes[dim] : index, 1, offset);
}

// Is the result a run of the operand's own bytes, and from which element on?
static bool shows_operand(const sc_kernel_call *call, const sc_tensor *self, const sc_tensor *out,
                          int64_t *offset) {
    bool known;
    *offset = 0;
    switch (call->op->id) {
    case SC_OP_slice_copy_Tensor: return slice_offset(call, self, offset);
    case SC_OP_select_copy_int: return select_offset(call, self, offset);
    case SC_OP_alias_copy:
    case SC_OP_detach_copy:
    case SC_OP_lift_fresh_copy:
    case SC_OP_clone:
    case SC_OP__to_copy:
    case SC_OP_dim_order_ops__clone_dim_order:
    case SC_OP_dim_order_ops__to_dim_order_copy:
    case SC_OP_view_copy:
    case SC_OP_unsqueeze_copy:
    case SC_OP_squeeze_copy:
    case SC_OP_squeeze_copy_dim:
    case SC_OP_squeeze_copy_dims:
    case SC_OP_expand_copy: return self->numel == out->numel;
    default: return keeps_order(call, self, &known) && known;
    }
}

static void try_elide(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_instruction *in = &o->m->code[at];
    const sc_kernel_call *call = &in->call;
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || call->arg_count < 2 ||
        call->args[0]->tag != SC_EVALUE_TENSOR ||
        call->args[call->arg_count - 1]->tag != SC_EVALUE_TENSOR)
        return;
    sc_evalue *value = call->args[call->arg_count - 1];
    const sc_tensor *self = call->args[0]->tensor;
    sc_tensor *out = value->tensor;
    const sc_rt_use *use = sc_rt_plain_use(o, value);
    int64_t offset;
    if (!use || use->is_output || !use->reads || self->dtype != out->dtype || out->is_dynamic ||
        self->is_dynamic || !both_dense(self, out) || !shows_operand(call, self, out, &offset))
        return;
    const uint64_t item = sc_dtype_bytes((sc_dtype)self->dtype);
    if ((uint64_t)offset * item + sc_rt_tensor_bytes(out) > sc_rt_tensor_bytes(self)) return;
    uint8_t *data = (uint8_t *)self->data + (uint64_t)offset * item;
    if (!self->is_constant && !sc_rt_is_quiet(o, data, sc_rt_tensor_bytes(out), at, use->last_read))
        return;
    sc_rt_move_value(o, value, data, self->is_constant);
    in->kind = SC_RT_SKIP;
}

// --- state written in place ----------------------------------------------------------------------

typedef struct state_check {
    const sc_tensor *state;
    const sc_evalue *but;  // a value that may
    bool found;
} state_check;

static void look_for_state(void *user, sc_evalue *value) {
    state_check *c = user;
    const sc_tensor *t = value->tensor;
    c->found =
        c->found || (value != c->but && sc_rt_overlaps(t->data, t->capacity_bytes, c->state->data,
                                                       c->state->capacity_bytes));
}

// Does nobody but the update itself look at the old state until the new one is written back?
static bool only_update_reads(const sc_rt_optimizer *o, const sc_evalue *state, uint32_t update,
                              uint32_t write_back) {
    state_check operands = {state->tensor, state, false};
    sc_rt_each_read(&o->m->code[update], look_for_state, &operands);
    state_check others = {state->tensor, NULL, operands.found};
    for (uint32_t i = update + 1; i < write_back && !others.found; i++)
        sc_rt_each_read(&o->m->code[i], look_for_state, &others);
    return !others.found;
}

// new = index_put(state, ...); ... copy_(state, new): the update may as well work on the state.
static void try_in_place(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_instruction *in = &o->m->code[at];
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || in->call.op->id != SC_OP_copy_) return;
    const sc_evalue *state = in->call.args[0], *value = in->call.args[1];
    const sc_rt_use *use = sc_rt_plain_use(o, value);
    if (!use || use->is_output || use->first_write >= at) return;
    const sc_rt_instruction *update = &o->m->code[use->first_write];
    const sc_tensor *s = state->tensor, *t = value->tensor;
    const uint32_t end = use->last_read > at ? use->last_read : at;
    bool same = s->dtype == t->dtype && s->numel == t->numel && sc_tensor_is_contiguous(s) &&
                sc_tensor_is_contiguous(t) && s->rank == t->rank && !s->is_constant;
    if (update->kind != SC_RT_KERNEL || update->is_dynamic ||
        update->call.op->id != SC_OP_index_put || update->call.args[0] != state || !same ||
        !only_update_reads(o, state, use->first_write, at) ||
        !sc_rt_is_quiet(o, s->data, s->capacity_bytes, use->first_write, at - 1) ||
        !sc_rt_is_quiet(o, s->data, s->capacity_bytes, at, end))
        return;
    sc_rt_move_value(o, value, s->data, false);
    in->kind = SC_RT_SKIP;
}

sc_status sc_rt_elide_copies(sc_rt_optimizer *o) {
    for (uint32_t i = 0; i < o->m->code_count; i++) try_in_place(o, i);
    for (uint32_t i = 0; i < o->m->code_count; i++) try_elide(o, i);
    return SC_OK;
}
