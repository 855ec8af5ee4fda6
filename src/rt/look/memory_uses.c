// The uses of each value of a method: a walk over the instructions of the file as they are, without
// loading the method. For loaded methods, operands.h says the same.
#include "rt/look/memory_uses.h"

#include "rt/run/prim.h"

static sc_status bad(const sc_rt_survey *s, const char *what) {
    return sc_fail(s->ctx, SC_ERR_CORRUPT, NULL, "method '" SC_STR_FMT "': %s",
                   SC_STR_ARG(sc_pte_ExecutionPlan_name(s->plan)), what);
}

// --- Uses of values ------------------------------------------------------------------------------

typedef enum access { TAKES = 0, READS = 1, WRITES = 2 } access;

static void find_ops(sc_rt_survey *s) {
    s->values = sc_pte_ExecutionPlan_values(s->plan);
    s->uses = sc_new_array(s->arena, sc_rt_planned_use, (size_t)s->values.count + 1);
    sc_fb_vec list = sc_pte_ExecutionPlan_operators(s->plan);
    s->op_count = list.count;
    s->ops = sc_new_array(s->arena, const sc_op *, (size_t)list.count + 1);
    s->op_names = sc_new_array(s->arena, sc_str, (size_t)list.count + 1);
    for (uint32_t i = 0; i < list.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(list, i);
        const sc_str name = sc_pte_Operator_name(entry), overload = sc_pte_Operator_overload(entry);
        s->ops[i] = sc_op_find_out(name, overload);
        s->op_names[i] = sc_str_format(s->arena, SC_STR_FMT "%s" SC_STR_FMT, SC_STR_ARG(name),
                                       overload.size ? "." : "", SC_STR_ARG(overload));
    }
}

static sc_status note(sc_rt_survey *s, int32_t value, uint32_t instruction, uint32_t how) {
    if (value < 0 || (uint32_t)value >= s->values.count)
        return bad(s, "an instruction names a value that does not exist");
    sc_rt_planned_use *u = &s->uses[value];
    const uint32_t now = instruction + 1;
    if (!u->first) u->first = now;
    u->last = now;
    if ((how & READS) && !u->read) u->read = now;
    if ((how & WRITES) && !u->written) u->written = now;
    return SC_OK;
}

// A tensor that a primitive returns is another view of its operand. The primitive does not write
// the operand.
static uint32_t access_of_out(const sc_op *op) {
    return sc_rt_prim(op) && !sc_op_has(op, SC_SYMBOLIC) ? READS : WRITES;
}

static uint32_t access_of_param(const sc_op *op, const sc_param *param) {
    const bool is_shape = sc_op_has(op, SC_SHAPE_ONLY) && param->type == SC_PARAM_TENSOR;
    const bool is_lost = sc_op_has(op, SC_OVERWRITES) && param->is_written;
    return (is_shape || is_lost ? TAKES : READS) | (param->is_written ? WRITES : 0);
}

// If the operator is unknown here, every argument counts as read, and the value repeated at the end
// counts as written.
static sc_status note_unknown(sc_rt_survey *s, sc_fb_vec args, uint32_t at) {
    for (uint32_t i = 0; i < args.count; i++) {
        const bool is_out =
            args.count > 1 && i + 2 >= args.count &&
            sc_fb_vec_i32(args, args.count - 1) == sc_fb_vec_i32(args, args.count - 2);
        SC_TRY(note(s, sc_fb_vec_i32(args, i), at, is_out ? WRITES : READS));
    }
    return SC_OK;
}

static sc_status note_kernel(sc_rt_survey *s, sc_fb_table call, uint32_t at) {
    const int32_t index = sc_pte_KernelCall_op_index(call);
    sc_fb_vec args = sc_pte_KernelCall_args(call);
    if (index < 0 || (uint32_t)index >= s->op_count)
        return bad(s, "an instruction names an operator that does not exist");
    s->out->ops[at] = s->op_names[index];
    const sc_op *op = s->ops[index];
    if (!op) return note_unknown(s, args, at);
    const sc_schema *schema = op->schema;
    uint32_t param = 0;
    for (uint32_t i = 0; i < args.count; i++) {
        while (param < schema->param_count && !sc_op_out_keeps(op, param)) param++;
        const bool is_input = param < schema->param_count;
        const uint32_t how =
            is_input ? access_of_param(op, &schema->params[param++]) : access_of_out(op);
        // The results are repeated at the end. An operator that writes an argument repeats that
        // one.
        const bool is_repeated = !is_input && sc_op_has(op, SC_MUTATES);
        SC_TRY(note(s, sc_fb_vec_i32(args, i), at, is_repeated ? TAKES : how));
    }
    return SC_OK;
}

static bool has_initial(const sc_rt_survey *s, int32_t value) {
    sc_fb_table entry = sc_fb_vec_table(s->values, (uint32_t)value), t = sc_pte_EValue_val(entry);
    return sc_pte_EValue_val_type(entry) == SC_PTE_KernelTypes_Tensor && t.at &&
           sc_pte_Tensor_data_buffer_idx(t);
}

// A delegate reads values that were written before, and writes the rest. Inputs stand before
// results, but the file does not say how many there are. A view that only delegates use counts as a
// result, until it turns out to lie in memory that is still needed.
static sc_status note_delegate(sc_rt_survey *s, sc_fb_table call, uint32_t at) {
    const int32_t index = sc_pte_DelegateCall_delegate_index(call);
    sc_fb_vec args = sc_pte_DelegateCall_args(call),
              delegates = sc_pte_ExecutionPlan_delegates(s->plan);
    if (index < 0 || (uint32_t)index >= delegates.count)
        return bad(s, "it calls a delegate that does not exist");
    s->out->ops[at] = sc_pte_BackendDelegate_id(sc_fb_vec_table(delegates, (uint32_t)index));
    for (uint32_t i = 0; i < args.count; i++) {
        const int32_t value = sc_fb_vec_i32(args, i);
        const bool is_known = value >= 0 && (uint32_t)value < s->values.count;
        const bool is_new =
            is_known && !s->uses[value].first && !s->uses[value].is_input && !has_initial(s, value);
        SC_TRY(note(s, value, at, is_new ? WRITES : READS));
        if (is_new) s->uses[value].is_guess = true;
    }
    return SC_OK;
}

static sc_status note_jump(sc_rt_survey *s, sc_fb_table jump, uint32_t first, uint32_t at) {
    const int32_t to = sc_pte_JumpFalseCall_destination_instruction(jump);
    if (to >= 0 && (uint32_t)to < at - first) {
        const sc_rt_loop l = {first + (uint32_t)to, at};
        sc_vec_push(s->arena, &s->loops, l);
    }
    return note(s, sc_pte_JumpFalseCall_cond_value_index(jump), at, READS);
}

static sc_status note_instruction(sc_rt_survey *s, sc_fb_table entry, uint32_t first, uint32_t at) {
    sc_fb_table args = sc_pte_Instruction_instr_args(entry);
    if (!args.at) return bad(s, "an instruction has no arguments");
    switch (sc_pte_Instruction_instr_args_type(entry)) {
    case SC_PTE_InstructionArguments_KernelCall: return note_kernel(s, args, at);
    case SC_PTE_InstructionArguments_DelegateCall: return note_delegate(s, args, at);
    case SC_PTE_InstructionArguments_JumpFalseCall: return note_jump(s, args, first, at);
    case SC_PTE_InstructionArguments_MoveCall:
        SC_TRY(note(s, sc_pte_MoveCall_move_from(args), at, READS));
        return note(s, sc_pte_MoveCall_move_to(args), at, WRITES);
    case SC_PTE_InstructionArguments_FreeCall:
        return note(s, sc_pte_FreeCall_value_index(args), at, TAKES);
    default: return bad(s, "an instruction is of an unknown kind");
    }
}

static sc_status count_instructions(sc_rt_survey *s, sc_fb_vec chains) {
    uint64_t total = 0;
    for (uint32_t c = 0; c < chains.count; c++)
        total += sc_pte_Chain_instructions(sc_fb_vec_table(chains, c)).count;
    if (total > s->ctx->limits.node_max || s->values.count > s->ctx->limits.node_max)
        return sc_fail(s->ctx, SC_ERR_LIMIT, NULL,
                       "a method has more than %llu instructions or values",
                       (unsigned long long)s->ctx->limits.node_max);
    s->out->instruction_count = (uint32_t)total;
    s->out->ops = sc_new_array(s->arena, sc_str, (size_t)total + 1);
    return SC_OK;
}

static sc_status note_ends(sc_rt_survey *s) {
    sc_fb_vec inputs = sc_pte_ExecutionPlan_inputs(s->plan),
              outputs = sc_pte_ExecutionPlan_outputs(s->plan);
    for (uint32_t i = 0; i < inputs.count + outputs.count; i++) {
        const bool is_input = i < inputs.count;
        const int32_t value =
            is_input ? sc_fb_vec_i32(inputs, i) : sc_fb_vec_i32(outputs, i - inputs.count);
        if (value < 0 || (uint32_t)value >= s->values.count)
            return bad(s, "an input or output does not exist");
        if (is_input)
            s->uses[value].is_input = true;
        else
            s->uses[value].is_output = true;
    }
    return SC_OK;
}

static sc_status note_all(sc_rt_survey *s) {
    sc_fb_vec chains = sc_pte_ExecutionPlan_chains(s->plan);
    uint32_t at = 0;
    SC_TRY(count_instructions(s, chains));
    SC_TRY(note_ends(s));
    for (uint32_t c = 0; c < chains.count; c++) {
        sc_fb_vec list = sc_pte_Chain_instructions(sc_fb_vec_table(chains, c));
        const uint32_t first = at;
        for (uint32_t i = 0; i < list.count; i++, at++)
            SC_TRY(note_instruction(s, sc_fb_vec_table(list, i), first, at));
    }
    return SC_OK;
}

// --- Lists ---------------------------------------------------------------------------------------

static uint32_t earlier(uint32_t a, uint32_t b) { return !a || (b && b < a) ? b : a; }

// A use of a list of tensors is a use of each of them.
static void spread(sc_rt_survey *s, const sc_rt_planned_use *list, sc_fb_vec items) {
    for (uint32_t i = 0; list->first && i < items.count; i++) {
        const int32_t at = sc_fb_vec_i32(items, i);
        if (at < 0 || (uint32_t)at >= s->values.count) continue;
        sc_rt_planned_use *u = &s->uses[at];
        u->first = earlier(u->first, list->first);
        u->last = sc_max_u32(u->last, list->last);
        u->read = earlier(u->read, list->read);
        u->written = earlier(u->written, list->written);
    }
}

static void spread_lists(sc_rt_survey *s) {
    for (uint32_t i = 0; i < s->values.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(s->values, i), list = sc_pte_EValue_val(entry);
        const uint8_t type = sc_pte_EValue_val_type(entry);
        if (!list.at) continue;
        if (type == SC_PTE_KernelTypes_TensorList)
            spread(s, &s->uses[i], sc_pte_TensorList_items(list));
        if (type == SC_PTE_KernelTypes_OptionalTensorList)
            spread(s, &s->uses[i], sc_pte_OptionalTensorList_items(list));
    }
}

sc_status sc_rt_survey_uses(sc_rt_survey *s) {
    find_ops(s);
    SC_TRY(note_all(s));
    spread_lists(s);
    return SC_OK;
}
