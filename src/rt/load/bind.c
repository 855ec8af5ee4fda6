// From the file's instructions to calls that run without further checks. The first part resolves
// names and checks indexes and kinds. It reports all operators that this build lacks before it
// gives up. The second part, with memory bound, fixes shapes, overlaps and scratch.
#include "core/delegate_call.h"
#include "ops/library.h"
#include "rt/asks.h"
#include "rt/load/delegates.h"
#include "rt/load/steps.h"
#include "rt/operands.h"
#include "rt/run/delegate.h"
#include "rt/run/prim.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"
#include "rt/trace.h"

typedef struct binder {
    sc_ctx *ctx;
    sc_rt_method *m;
    const sc_op **ops;  // by operator index of the plan; NULL: this build lacks it
    uint32_t op_count;
    uint32_t missing;
    bool *is_known;  // by value: it exists at this point of the program
} binder;

static sc_status bad(const binder *b, const char *what) {
    return sc_fail(b->ctx, SC_ERR_CORRUPT, NULL, "method '" SC_STR_FMT "': %s",
                   SC_STR_ARG(b->m->name), what);
}

// --- Operators -----------------------------------------------------------------------------------

static bool can_run(const sc_op *op) { return op && (sc_rt_prim(op) || sc_kernel_of(op)); }

// NULL: the hint of the code.
static const char *hint_for_missing(void) {
    return sc_ops_are_whole() ? NULL
                              : "Load the file in an engine of createEngine(): this runtime leaves "
                                "out operators that few programs have.";
}

// Advice for that operator, or the hint for all.
static const char *advice_for(binder *b, sc_str name) {
    const char *text = sc_str_dup(b->ctx->scratch, name);
    const char *advice = sc_op_advice_for(text);
    if (!advice && sc_op_name_may_be_own(text))
        return "Register its kernel before loading: registerOperator({ schema, run }).";
    return advice ? advice : hint_for_missing();
}

static void report_missing(binder *b, sc_str name, sc_str overload) {
    b->missing++;
    sc_report(
        b->ctx, SC_ERROR, SC_ERR_OPERATOR_MISSING, advice_for(b, name),
        "method '" SC_STR_FMT "' calls " SC_STR_FMT "%s" SC_STR_FMT ", which this build cannot run",
        SC_STR_ARG(b->m->name), SC_STR_ARG(name), overload.size ? "." : "", SC_STR_ARG(overload));
}

static sc_status find_operators(binder *b) {
    sc_fb_vec operators = sc_pte_ExecutionPlan_operators(b->m->plan);
    b->op_count = operators.count;
    b->ops = sc_new_array(&b->m->program->arena, const sc_op *, operators.count);
    for (uint32_t i = 0; i < operators.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(operators, i);
        sc_str name = sc_pte_Operator_name(entry), overload = sc_pte_Operator_overload(entry);
        if (!name.data || name.size + overload.size >= 100)
            return bad(b, "an operator has no name, or one of 100 characters or more");
        b->ops[i] = sc_op_find_out(name, overload);
        if (!can_run(b->ops[i])) report_missing(b, name, overload);
    }
    if (b->missing)
        return sc_fail(b->ctx, SC_ERR_OPERATOR_MISSING, hint_for_missing(),
                       "method '" SC_STR_FMT "' cannot be run here: %u operators are missing",
                       SC_STR_ARG(b->m->name), b->missing);
    return SC_OK;
}

// --- Instructions --------------------------------------------------------------------------------

static sc_status check_value(const binder *b, int32_t index) {
    if (index < 0 || (uint32_t)index >= b->m->value_count)
        return bad(b, "an instruction names a value that does not exist");
    return SC_OK;
}

// Primitives overwrite value records, so they may write numbers only into records of numbers.
static sc_status check_prim(const binder *b, const sc_kernel_call *call) {
    const uint8_t tag = call->args[call->arg_count - 1]->tag;
    bool number = tag == SC_EVALUE_INT || tag == SC_EVALUE_BOOL || tag == SC_EVALUE_DOUBLE;
    if (sc_op_has(call->op, SC_SYMBOLIC) && !number)
        return bad(b, "a number would overwrite a value of another kind");
    return SC_OK;
}

// ExecuTorch's exporter gives a number that changes from call to call no kind, so its runtime
// accepts no value for it either. An absent argument of the model is never an operand.
static sc_status check_operand(const binder *b, const sc_op *op, uint32_t value) {
    uint32_t at = 0;
    if (b->m->values[value].tag != SC_EVALUE_NONE) return SC_OK;
    while (at < b->m->input_count && b->m->inputs[at] != value) at++;
    if (at == b->m->input_count) return SC_OK;
    return sc_fail(b->ctx, SC_ERR_UNSUPPORTED,
                   "Lower the .pt2 with Sconce, which makes it a tensor without dimensions, or "
                   "export the model with such a tensor and .item().",
                   "input %u of method '" SC_STR_FMT
                   "' is a number that changes from call to call, but the file does not say of "
                   "which kind, and a call of %s reads it",
                   at, SC_STR_ARG(b->m->name), op->out_name);
}

// The inputs and outs, without the repeated return value at the end.
static sc_status parse_call(binder *b, sc_fb_table table, sc_rt_instruction *in) {
    int32_t index = sc_pte_KernelCall_op_index(table);
    sc_fb_vec args = sc_pte_KernelCall_args(table);
    if (index < 0 || (uint32_t)index >= b->op_count)
        return bad(b, "an instruction names an operator that does not exist");
    const sc_op *op = b->ops[index];
    const sc_prim_fn prim = sc_rt_prim(op);
    uint32_t outs = prim ? !sc_op_has(op, SC_MUTATES) : sc_op_out_count(op);
    uint32_t count = sc_rt_kept_inputs(op) + outs;
    if (args.count != count && args.count != count + 1)
        return sc_fail(b->ctx, SC_ERR_CORRUPT, NULL, "a call of %s has %u arguments, not %u",
                       op->out_name, args.count, count);
    sc_evalue **list = sc_new_array(&b->m->program->arena, sc_evalue *, count);
    for (uint32_t i = 0; i < args.count; i++) {
        SC_TRY(check_value(b, sc_fb_vec_i32(args, i)));
        SC_TRY(check_operand(b, op, (uint32_t)sc_fb_vec_i32(args, i)));
        if (i < count) list[i] = &b->m->values[sc_fb_vec_i32(args, i)];
    }
    in->kind = prim ? SC_RT_PRIM : SC_RT_KERNEL;
    in->prim = prim;
    in->origin.op_name = sc_str_from(op->out_name);
    in->call = (sc_kernel_call){
        .ctx = b->ctx, .op = op, .kernel = sc_kernel_of(op), .args = list, .arg_count = count};
    return prim ? check_prim(b, &in->call) : sc_rt_call_check(b->ctx, &in->call);
}

static sc_status parse_jump(binder *b, sc_fb_table table, uint32_t first, uint32_t count,
                            sc_rt_instruction *in) {
    int32_t to = sc_pte_JumpFalseCall_destination_instruction(table);
    int32_t cond = sc_pte_JumpFalseCall_cond_value_index(table);
    SC_TRY(check_value(b, cond));
    if (to < 0 || (uint32_t)to > count) return bad(b, "a jump leads out of the program");
    const sc_evalue *value = &b->m->values[cond];
    bool may_be_bool = value->tag == SC_EVALUE_BOOL || value->tag == SC_EVALUE_INT ||
                       (value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == SC_DTYPE_BOOL);
    if (!may_be_bool) return bad(b, "a jump depends on a value that can never be true or false");
    in->kind = SC_RT_JUMP_FALSE;
    in->target = first + (uint32_t)to;
    in->from = (uint32_t)cond;
    return SC_OK;
}

static bool same_kind(const sc_evalue *a, const sc_evalue *b) {
    if (a->tag != b->tag || a->tag != SC_EVALUE_TENSOR)
        return a->tag == b->tag && a->tag <= SC_EVALUE_STRING;
    return a->tensor->dtype == b->tensor->dtype && a->tensor->rank == b->tensor->rank;
}

static sc_status parse_move(binder *b, sc_fb_table table, sc_rt_instruction *in) {
    int32_t from = sc_pte_MoveCall_move_from(table), to = sc_pte_MoveCall_move_to(table);
    SC_TRY(check_value(b, from));
    SC_TRY(check_value(b, to));
    if (!same_kind(&b->m->values[from], &b->m->values[to]))
        return bad(b, "a value is moved to one of another kind");
    in->kind = SC_RT_MOVE;
    in->from = (uint32_t)from;
    in->to = (uint32_t)to;
    return SC_OK;
}

static sc_status parse_free(binder *b, sc_fb_table table, sc_rt_instruction *in) {
    int32_t index = sc_pte_FreeCall_value_index(table);
    SC_TRY(check_value(b, index));
    if (b->m->values[index].tag != SC_EVALUE_TENSOR)
        return bad(b, "a value that is freed is not a tensor");
    in->kind = SC_RT_FREE;
    in->from = (uint32_t)index;
    return SC_OK;
}

// --- Inputs of delegates -------------------------------------------------------------------------

// Values that exist before the first instruction: inputs of the method, constants, and state with
// initial bytes.
static void begin_known(binder *b) {
    const sc_rt_method *m = b->m;
    b->is_known = sc_new_array(b->ctx->scratch, bool, (size_t)m->value_count + 1);
    for (uint32_t i = 0; i < m->value_count; i++)
        b->is_known[i] = m->places[i].is_constant || m->places[i].buffer_index != 0;
    for (uint32_t i = 0; i < m->input_count; i++) b->is_known[m->inputs[i]] = true;
}

static void note_known(binder *b, const sc_rt_instruction *in) {
    for (uint32_t i = 0; i < in->call.arg_count; i++)
        b->is_known[sc_rt_value_index(b->m, in->call.args[i])] = true;
    if (in->kind == SC_RT_MOVE) b->is_known[in->to] = true;
}

// Files of other exporters do not have this count.
static uint32_t count_known(const binder *b, sc_fb_table table, const sc_rt_instruction *in) {
    const int32_t said = sc_fb_get_i32(table, SC_DELEGATE_CALL_INPUTS, 0);
    uint32_t count = in->call.arg_count;
    if (said > 0 && (uint32_t)said - 1 <= count) return (uint32_t)said - 1;
    while (count && !b->is_known[sc_rt_value_index(b->m, in->call.args[count - 1])]) count--;
    return count;
}

static sc_status parse_delegate(binder *b, sc_fb_table table, sc_rt_instruction *in) {
    int32_t index = sc_pte_DelegateCall_delegate_index(table);
    sc_fb_vec args = sc_pte_DelegateCall_args(table);
    if (index < 0 || (uint32_t)index >= b->m->delegate_count)
        return bad(b, "it calls a delegate that does not exist");
    sc_evalue **list = sc_new_array(&b->m->program->arena, sc_evalue *, (size_t)args.count + 1);
    for (uint32_t i = 0; i < args.count; i++) {
        SC_TRY(check_value(b, sc_fb_vec_i32(args, i)));
        list[i] = &b->m->values[sc_fb_vec_i32(args, i)];
    }
    in->kind = SC_RT_DELEGATE;
    in->origin.op_name = b->m->delegates[index].id;
    in->call = (sc_kernel_call){.ctx = b->ctx, .args = list, .arg_count = args.count};
    return sc_rt_delegate_bind(b->ctx, b->m, (uint32_t)index, count_known(b, table, in), in);
}

static sc_status parse_instruction(binder *b, sc_fb_table entry, uint32_t first, uint32_t count,
                                   sc_rt_instruction *in) {
    sc_fb_table args = sc_pte_Instruction_instr_args(entry);
    if (!args.at) return bad(b, "an instruction has no arguments");
    switch (sc_pte_Instruction_instr_args_type(entry)) {
    case SC_PTE_InstructionArguments_KernelCall: return parse_call(b, args, in);
    case SC_PTE_InstructionArguments_JumpFalseCall: return parse_jump(b, args, first, count, in);
    case SC_PTE_InstructionArguments_MoveCall: return parse_move(b, args, in);
    case SC_PTE_InstructionArguments_FreeCall: return parse_free(b, args, in);
    case SC_PTE_InstructionArguments_DelegateCall: return parse_delegate(b, args, in);
    default: return bad(b, "an instruction is of an unknown kind");
    }
}

// The status, whose error then names the user's own line.
static sc_status traced(const binder *b, const sc_rt_instruction *in, sc_diag_mark since,
                        sc_status status) {
    if (status != SC_OK) sc_rt_trace_diags(b->ctx, b->m, &in->origin, since);
    return status;
}

sc_status sc_rt_code_parse(sc_ctx *ctx, sc_rt_method *m) {
    binder b = {.ctx = ctx, .m = m};
    sc_fb_vec chains = sc_pte_ExecutionPlan_chains(m->plan);
    uint64_t total = 0;
    if (chains.count == 0) return bad(&b, "it has no chain of instructions");
    for (uint32_t c = 0; c < chains.count; c++) {
        sc_fb_vec list = sc_pte_Chain_instructions(sc_fb_vec_table(chains, c));
        if (!list.items) return bad(&b, "a chain has no list of instructions");
        total += list.count;
    }
    if (total > ctx->limits.node_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "the method has more than %llu instructions",
                       (unsigned long long)ctx->limits.node_max);
    SC_TRY(sc_rt_delegates_open(ctx, m));
    SC_TRY(find_operators(&b));
    begin_known(&b);
    m->code = sc_new_array(&m->program->arena, sc_rt_instruction, (size_t)total);
    for (uint32_t c = 0; c < chains.count; c++) {
        sc_fb_vec list = sc_pte_Chain_instructions(sc_fb_vec_table(chains, c));
        uint32_t first = m->code_count;
        for (uint32_t i = 0; i < list.count; i++) {
            sc_rt_instruction *in = &m->code[m->code_count++];
            in->origin = (sc_rt_origin){.chain = c, .index = i};
            in->origins = &in->origin;
            in->origin_count = 1;
            in->shown = in;
            ctx->where.instruction = i;
            const sc_diag_mark mark = sc_diags_mark(ctx);
            SC_TRY(traced(&b, in, mark,
                          parse_instruction(&b, sc_fb_vec_table(list, i), first, list.count, in)));
            note_known(&b, in);
        }
    }
    ctx->where.instruction = -1;
    return SC_OK;
}

// --- With memory in place ------------------------------------------------------------------------

static sc_status finish_call(binder *b, sc_rt_instruction *in, uint64_t *scratch) {
    const sc_kernel *kernel = sc_kernel_of(in->call.op);
    const char *fault = sc_rt_call_write_fault(&in->call);
    if (fault) return sc_fail(b->ctx, SC_ERR_CORRUPT, NULL, "%s %s", in->call.op->out_name, fault);
    // A kernel of the host says at load if it cannot tell the sizes of a dynamic call.
    if (!in->is_dynamic || kernel->sizes) SC_TRY(sc_rt_call_shape(b->ctx, &in->call, true));
    if (!in->is_dynamic && sc_rt_call_is_empty(&in->call)) {
        in->kind = SC_RT_SKIP;
    } else if (kernel->scratch) {
        in->call.scratch_bytes = sc_rt_ask_scratch(kernel, &in->call);
        *scratch = sc_max_u64(*scratch, in->call.scratch_bytes);
    }
    return SC_OK;
}

void sc_rt_code_link(sc_rt_method *m) {
    uint32_t next = m->code_count;
    for (uint32_t i = m->code_count; i-- > 0;) {
        m->code[i].next = next;
        if (m->code[i].kind != SC_RT_SKIP) next = i;
    }
}

sc_status sc_rt_code_finish(sc_ctx *ctx, sc_rt_method *m) {
    binder b = {.ctx = ctx, .m = m};
    uint64_t scratch = 0;
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_instruction *in = &m->code[i];
        ctx->where.instruction = in->origin.index;
        ctx->where.op = in->origin.op_name;
        const sc_diag_mark mark = sc_diags_mark(ctx);
        if (in->kind == SC_RT_KERNEL) SC_TRY(traced(&b, in, mark, finish_call(&b, in, &scratch)));
        if (in->kind == SC_RT_DELEGATE)
            SC_TRY(traced(&b, in, mark, sc_rt_delegate_check(ctx, m, in)));
    }
    ctx->where.instruction = -1;
    ctx->where.op = SC_STR("");
    if (scratch > ctx->limits.planned_bytes_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "method '" SC_STR_FMT
                       "' needs %llu bytes of scratch space, but the limit is %llu",
                       SC_STR_ARG(m->name), (unsigned long long)scratch,
                       (unsigned long long)ctx->limits.planned_bytes_max);
    // At least one byte, so that no kernel computes with a null pointer.
    m->scratch = sc_try_alloc(sc_max_u64(scratch, 1));
    if (!m->scratch)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for %llu bytes of scratch space",
                       (unsigned long long)scratch);
    for (uint32_t i = 0; i < m->code_count; i++) {
        if (m->code[i].kind == SC_RT_KERNEL) m->code[i].call.scratch = m->scratch;
    }
    sc_rt_code_link(m);
    return SC_OK;
}
