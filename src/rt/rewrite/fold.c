// Computes instructions that give the same result on every run once, at load. Their results move to
// memory of their own, where they are not overwritten, and count as constants from then on. A
// constant matrix that is only transposed for a matrix product is not copied: the product reads it
// with its strides swapped.
#include "rt/deferred.h"
#include "rt/rewrite/rewrites.h"
#include "rt/run/shape.h"

enum {
    FOLD_BYTES_MAX = 16 << 20
};  // bytes per method; instructions beyond this limit run as the
    // file says

// --- Transposed weights --------------------------------------------------------------------------

// Does the instruction read `value` only as a matrix operand, which may have any strides?
static bool reads_as_matrix(const sc_rt_instruction *in, const sc_evalue *value) {
    const sc_op *op = in->call.op;
    uint32_t operands = 0;
    if (in->kind != SC_RT_KERNEL) return false;
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

static bool takes(const sc_rt_optimizer *o, const sc_rt_instruction *in, const sc_evalue *value) {
    sc_rt_operands w = sc_rt_operands_of(o->m, in, SC_RT_TAKES);
    while (sc_rt_operands_next(&w)) {
        if (w.value == value) return true;
    }
    return false;
}

static bool all_readers_take_matrices(const sc_rt_optimizer *o, const sc_evalue *value,
                                      const sc_rt_use *use) {
    uint32_t left = use->reads;
    for (uint32_t i = use->first_read; left && i <= use->last_read; i++) {
        const sc_rt_instruction *in = &o->m->code[i];
        if (!takes(o, in, value)) continue;
        if (!reads_as_matrix(in, value)) return false;
        left--;
    }
    return true;
}

static bool try_transpose(sc_rt_optimizer *o, sc_rt_instruction *in) {
    const sc_evalue *self = in->call.args[0];
    sc_evalue *out = in->call.args[in->call.arg_count - 1];
    sc_rt_window window;
    if (self->tag != SC_EVALUE_TENSOR || !self->tensor->is_constant ||
        !sc_op_has(in->call.op, SC_PERMUTES) || !sc_rt_call_window(o->ctx, in, &window))
        return false;
    const sc_rt_use *use = sc_rt_plain_use(o, out);
    if (!use || use->is_output || use->first_view || !all_readers_take_matrices(o, out, use))
        return false;
    sc_tensor *to = out->tensor;
    memcpy(to->strides, window.strides, window.rank * sizeof *window.strides);
    to->data = self->tensor->data;
    to->capacity_bytes = self->tensor->capacity_bytes;
    to->is_constant = true;
    in->kind = SC_RT_SKIP;
    return true;
}

// --- Constants in, constants out -----------------------------------------------------------------

static bool reads_constants(const sc_rt_optimizer *o, const sc_rt_instruction *in) {
    sc_rt_operands w = sc_rt_operands_of(o->m, in, SC_RT_READS);
    while (sc_rt_operands_next(&w)) {
        if (w.tensor && !w.tensor->is_constant) return false;
    }
    return true;
}

// Can all results move to memory of their own, and how many bytes do they need?
static bool can_move_results(sc_rt_optimizer *o, const sc_rt_instruction *in, uint64_t *bytes) {
    sc_rt_operands w = sc_rt_operands_of(o->m, in, SC_RT_WRITES);
    for (*bytes = 0; sc_rt_operands_next(&w);) {
        if (!sc_rt_plain_use(o, w.value) || w.tensor->is_dynamic) return false;
        *bytes += sc_align_up(w.tensor->capacity_bytes, 64);
    }
    return true;
}

// Folds instructions whose operands are all constants and whose results can move. If only the
// shapes of operands are read, these are final in calls that are not dynamic.
static bool can_fold(sc_rt_optimizer *o, const sc_rt_instruction *in, uint64_t *bytes) {
    return in->kind == SC_RT_KERNEL && !in->is_dynamic &&
           !sc_op_has(in->call.op, SC_MUTATES | SC_RANDOM | SC_NO_FOLD) && reads_constants(o, in) &&
           can_move_results(o, in, bytes);
}

static void relocate_results(sc_rt_optimizer *o, const sc_rt_instruction *in, uint8_t *memory) {
    sc_rt_operands w = sc_rt_operands_of(o->m, in, SC_RT_WRITES);
    while (sc_rt_operands_next(&w)) {
        sc_rt_move_value(o, w.value, memory, false);
        memory += sc_align_up(w.tensor->capacity_bytes, 64);
    }
}

static void freeze_results(sc_rt_optimizer *o, const sc_rt_instruction *in) {
    sc_rt_operands w = sc_rt_operands_of(o->m, in, SC_RT_WRITES);
    while (sc_rt_operands_next(&w)) sc_rt_move_value(o, w.value, w.tensor->data, true);
}

sc_status sc_rt_fold_constants(sc_rt_optimizer *o) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < o->m->code_count; i++) {
        sc_rt_instruction *in = &o->m->code[i];
        uint64_t bytes = 0;
        if (!sc_rt_runs_once(o, i) || !can_fold(o, in, &bytes) || try_transpose(o, in)) continue;
        if (total + bytes > FOLD_BYTES_MAX) continue;
        total += bytes;
        uint8_t *memory = NULL;
        SC_TRY(sc_rt_keep_memory(o, bytes ? bytes : 64, &memory));
        SC_TRY(sc_rt_deferred_need_all(o->ctx, o->m, in));
        relocate_results(o, in, memory);
        o->ctx->where.instruction = in->origin.index;
        o->ctx->where.op = in->origin.op_name;
        SC_TRY(in->call.kernel->run(&in->call));
        freeze_results(o, in);
        in->kind = SC_RT_SKIP;
    }
    return SC_OK;
}
