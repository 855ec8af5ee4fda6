// Instructions that give the same result on every run: done once at load. Their results move to
// memory of their own, where nothing overwrites them, and count as constants from then on. A
// constant matrix that is only transposed for a matrix product is not even copied: the product
// reads it with its strides swapped.
#include "rt/optimize.h"

enum { FOLD_BYTES_MAX = 16 << 20 };  // per method; what is beyond is computed as the file says

// --- transposed weights --------------------------------------------------------------------------

typedef struct reader_check {
    const sc_rt_optimizer *o;
    const sc_evalue *value;
    bool ok;
} reader_check;

// Reads `value` only as a matrix operand, which may have any strides?
static bool reads_as_matrix(const sc_rt_instruction *in, const sc_evalue *value) {
    const sc_op *op = in->call.op;
    uint32_t operands = 0;
    while (operands < op->schema->param_count &&
           op->schema->params[operands].type == SC_PARAM_TENSOR)
        operands++;
    if (!sc_op_has(op, SC_MATRICES)) return false;
    for (uint32_t i = 0; i < in->call.arg_count; i++) {
        bool is_matrix = i + 2 >= operands && i < operands;
        if (in->call.args[i] == value && !is_matrix) return false;
    }
    return true;
}

static void match_value(void *user, sc_evalue *value) {
    reader_check *c = user;
    c->ok = c->ok || value == c->value;
}

static bool all_readers_take_matrices(const sc_rt_optimizer *o, const sc_evalue *value,
                                      const sc_rt_use *use) {
    uint32_t left = use->reads;
    for (uint32_t i = use->first_read; left && i <= use->last_read; i++) {
        const sc_rt_instruction *in = &o->m->code[i];
        reader_check c = {o, value, false};
        sc_rt_each_read(in, match_value, &c);
        if (!c.ok) continue;
        if (!reads_as_matrix(in, value)) return false;
        left--;
    }
    return true;
}

static bool try_transpose(sc_rt_optimizer *o, sc_rt_instruction *in) {
    const sc_evalue *self = in->call.args[0];
    sc_evalue *out = in->call.args[in->call.arg_count - 1];
    sc_rt_view view;
    if (self->tag != SC_EVALUE_TENSOR || !self->tensor->is_constant ||
        !sc_op_has(in->call.op, SC_PERMUTES) || !sc_rt_call_view(o->ctx, in, &view))
        return false;
    const sc_rt_use *use = sc_rt_plain_use(o, out);
    if (!use || use->is_output || use->first_view || !all_readers_take_matrices(o, out, use))
        return false;
    sc_tensor *to = out->tensor;
    memcpy(to->strides, view.strides, view.rank * sizeof *view.strides);
    to->data = self->tensor->data;
    to->is_constant = true;
    in->kind = SC_RT_SKIP;
    return true;
}

// --- constants in, constants out -----------------------------------------------------------------

static void need_constant(void *user, sc_evalue *value) {
    bool *all = user;
    *all = *all && value->tensor->is_constant;
}

typedef struct result_check {
    sc_rt_optimizer *o;
    bool ok;
    uint64_t bytes;
} result_check;

static void check_result(void *user, sc_evalue *value) {
    result_check *c = user;
    c->ok = c->ok && sc_rt_plain_use(c->o, value) && !value->tensor->is_dynamic;
    c->bytes += sc_align_up(value->tensor->capacity_bytes, 64);
}

typedef struct relocation {
    sc_rt_optimizer *o;
    uint8_t *memory;
} relocation;

static void relocate(void *user, sc_evalue *value) {
    relocation *r = user;
    sc_rt_move_value(r->o, value, r->memory, false);
    r->memory += sc_align_up(value->tensor->capacity_bytes, 64);
}

static void freeze(void *user, sc_evalue *value) {
    sc_rt_move_value(user, value, value->tensor->data, true);
}

// Instructions whose operands are all constants, and results that can move.
static bool can_fold(sc_rt_optimizer *o, const sc_rt_instruction *in, uint64_t *bytes) {
    if (in->kind != SC_RT_KERNEL || in->is_dynamic ||
        sc_op_has(in->call.op, SC_MUTATES | SC_RANDOM | SC_NO_FOLD))
        return false;
    bool constant = true;
    // Shapes are settled for calls that are not dynamic.
    if (!sc_op_has(in->call.op, SC_SHAPE_ONLY)) sc_rt_each_read(in, need_constant, &constant);
    if (!constant) return false;
    result_check c = {o, true, 0};
    sc_rt_each_write(in, check_result, &c);
    *bytes = c.bytes;
    return c.ok;
}

static sc_status keep_memory(sc_rt_optimizer *o, uint64_t bytes, uint8_t **out) {
    sc_rt_folded *folded = sc_new(&o->m->program->arena, sc_rt_folded);
    *out = sc_try_alloc(bytes);
    if (!*out) return sc_fail(o->ctx, SC_ERR_MEMORY, NULL, "no memory for folded constants");
    folded->memory = *out;
    folded->next = o->m->folded;
    o->m->folded = folded;
    return SC_OK;
}

sc_status sc_rt_fold_constants(sc_rt_optimizer *o) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < o->m->code_count; i++) {
        sc_rt_instruction *in = &o->m->code[i];
        uint64_t bytes = 0;
        if (!can_fold(o, in, &bytes) || try_transpose(o, in)) continue;
        if (total + bytes > FOLD_BYTES_MAX) continue;
        total += bytes;
        relocation r = {o, NULL};
        SC_TRY(keep_memory(o, bytes ? bytes : 64, &r.memory));
        sc_rt_each_write(in, relocate, &r);
        o->ctx->where.instruction = in->index;
        o->ctx->where.op = in->op_name;
        SC_TRY(in->kernel(&in->call));
        sc_rt_each_write(in, freeze, o);
        in->kind = SC_RT_SKIP;
    }
    return SC_OK;
}
