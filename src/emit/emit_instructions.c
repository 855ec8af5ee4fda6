// The method's one chain of instructions, and the table of operators that they name.
#include "emit/emit_state.h"

#include "program_fbs.h"

#define OPERATOR_NAME_MAX 99  // runtimes look operators up through a buffer of 100 characters

// Did the expansion for that runtime report why the call stays?
static bool is_explained(const sc_ctx *ctx) {
    for (uint32_t i = 0; i < ctx->diags.count; i++) {
        const sc_diag *diag = &ctx->diags.data[i];
        if (diag->severity == SC_WARNING && diag->code == SC_ERR_UNSUPPORTED_OP &&
            sc_str_is(diag->where.pass, "official") &&
            sc_str_equal(diag->where.op, ctx->where.op) &&
            sc_str_equal(diag->where.method, ctx->where.method))
            return true;
    }
    return false;
}

// Warns once per operator and method. The program is still useful to the runtime that can run it.
static void warn_of_gaps(const sc_emit_state *state, const sc_op *op) {
    sc_ctx *ctx = state->ctx;
    if (!sc_op_has(op, SC_RUNS | SC_OWN))
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, "Run it with the official runtime.",
                  "this runtime has no kernel for %s", op->out_name);
    if (sc_op_has(op, SC_UNOFFICIAL) && sc_options_are_official(&state->options) &&
        !is_explained(ctx))
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP,
                  "Run it with Sconce. For apps, write this line with other operators; `sconce "
                  "operators` lists which runtime runs each.",
                  "the official runtime has no kernel for %s", op->out_name);
}

static sc_status operator_index(sc_emit_method *m, const sc_op *op, int32_t *out) {
    sc_str full = sc_str_from(op->out_name);
    uintptr_t known = (uintptr_t)sc_map_get(&m->operator_ids, full);
    if (known) {
        *out = (int32_t)known - 1;
        return SC_OK;
    }
    // The only runtime primitive whose registered name includes the overload.
    sc_str overload = op->id == SC_OP_executorch_prim_et_view ? SC_STR("default") : SC_STR("");
    ptrdiff_t dot = sc_str_find_last(full, '.');
    sc_str name = dot < 0 ? full : sc_str_slice(full, 0, (size_t)dot);
    if (dot >= 0) overload = sc_str_slice(full, (size_t)dot + 1, full.size);
    if (full.size > OPERATOR_NAME_MAX)
        return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED_OP, NULL,
                       "the operator's name is too long for a .pte");
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref name_ref = sc_emit_string(m->state, name);
    sc_fb_ref overload_ref = sc_emit_string(m->state, overload);
    sc_fb_begin(fb);
    sc_pte_Operator_set_name(fb, name_ref);
    sc_pte_Operator_set_overload(fb, overload_ref);
    sc_vec_push(m->state->arena, &m->operators, sc_fb_end_shared(fb));
    sc_map_add(&m->operator_ids, full, (void *)(uintptr_t)m->operators.count);
    *out = (int32_t)m->operators.count - 1;
    warn_of_gaps(m->state, op);
    return SC_OK;
}

static void append(sc_emit_method *m, sc_emit_instruction instruction) {
    sc_vec_push(m->state->arena, &m->code, instruction);
}

static void append_call(sc_emit_method *m, sc_emit_kind kind, int32_t callee, const int32_t *args,
                        uint32_t count, const sc_node *served) {
    append(m, (sc_emit_instruction){.kind = kind,
                                    .a = callee,
                                    .first_arg = m->args.count,
                                    .arg_count = count,
                                    .served = served});
    for (uint32_t i = 0; i < count; i++) sc_vec_push(m->state->arena, &m->args, args[i]);
}

sc_status sc_emit_scaffold(sc_emit_method *m, const sc_op *op, const int32_t *args, uint32_t count,
                           const sc_node *served) {
    int32_t index = 0;
    SC_TRY(operator_index(m, op, &index));
    append_call(m, SC_EMIT_KERNEL, index, args, count, served);
    return SC_OK;
}

sc_status sc_emit_call(sc_emit_method *m, const sc_op *op, const int32_t *args, uint32_t count,
                       const sc_node *node) {
    SC_TRY(sc_emit_scaffold(m, op, args, count, node));
    sc_vec_last(&m->code).node = node;
    return SC_OK;
}

void sc_emit_delegate_call(sc_emit_method *m, int32_t delegate, const int32_t *args, uint32_t count,
                           const sc_node *node) {
    append_call(m, SC_EMIT_DELEGATE, delegate, args, count, node);
    sc_vec_last(&m->code).node = node;
}

void sc_emit_move(sc_emit_method *m, int32_t from, int32_t to) {
    append(m, (sc_emit_instruction){.kind = SC_EMIT_MOVE, .a = from, .b = to});
}

uint32_t sc_emit_jump_false(sc_emit_method *m, int32_t condition) {
    append(m, (sc_emit_instruction){.kind = SC_EMIT_JUMP_FALSE, .a = condition});
    return m->code.count - 1;
}

void sc_emit_jump_back(sc_emit_method *m, int32_t condition, uint32_t destination) {
    append(m, (sc_emit_instruction){
                  .kind = SC_EMIT_JUMP_FALSE, .a = condition, .b = (int32_t)destination});
}

void sc_emit_land(sc_emit_method *m, uint32_t jump) {
    m->code.data[jump].b = (int32_t)m->code.count;
}
