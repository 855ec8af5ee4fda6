#include "rt/operands.h"

// Instructions that are not calls: what they do to `from` and to `to`.
static const uint8_t records[][2] = {
    [SC_RT_JUMP_FALSE] = {SC_RT_TAKES | SC_RT_READS, 0},
    [SC_RT_MOVE] = {SC_RT_TAKES | SC_RT_READS, SC_RT_WRITES | SC_RT_REPOINTS},
    [SC_RT_FREE] = {SC_RT_REPOINTS, 0},
    [SC_RT_COPY] = {SC_RT_TAKES | SC_RT_READS, SC_RT_WRITES},
    [SC_RT_SKIP] = {0, 0},
};

uint32_t sc_rt_kept_inputs(const sc_op *op) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->schema->param_count; i++) kept += sc_op_out_keeps(op, i);
    return kept;
}

static bool is_call(const sc_rt_instruction *in) {
    return in->kind == SC_RT_KERNEL || in->kind == SC_RT_PRIM || in->kind == SC_RT_DELEGATE;
}

sc_rt_operands sc_rt_operands_of(const sc_rt_method *m, const sc_rt_instruction *in,
                                 uint32_t wanted) {
    return (sc_rt_operands){
        .wanted = wanted, .m = m, .in = in, .call = is_call(in) ? &in->call : NULL};
}

sc_rt_operands sc_rt_operands_of_call(const sc_kernel_call *call, uint32_t wanted) {
    return (sc_rt_operands){.wanted = wanted, .call = call};
}

// --- Arguments -----------------------------------------------------------------------------------

static uint32_t access_of_input(const sc_op *op, const sc_param *param) {
    const bool is_shape = sc_op_has(op, SC_SHAPE_ONLY) && param->type == SC_PARAM_TENSOR;
    const bool is_lost = sc_op_has(op, SC_OVERWRITES) && param->is_written;
    uint32_t access = SC_RT_TAKES;
    if (!is_shape && !is_lost) access |= SC_RT_READS;
    if (param->is_written) access |= SC_RT_WRITES;
    return access;
}

// A primitive computes numbers. A tensor that it returns is another view of its operand.
static uint32_t access_of_out(const sc_rt_operands *o) {
    const bool shows_operand =
        o->in && o->in->kind == SC_RT_PRIM && !sc_op_has(o->call->op, SC_SYMBOLIC);
    return shows_operand ? SC_RT_WRITES | SC_RT_REPOINTS : SC_RT_WRITES;
}

static uint32_t next_access(sc_rt_operands *o) {
    const sc_op *op = o->call->op;
    // How a delegate uses its arguments is unknown; their number is known.
    if (!op) return o->arg < o->in->inputs ? SC_RT_TAKES | SC_RT_READS : SC_RT_WRITES;
    const sc_schema *schema = op->schema;
    while (o->param < schema->param_count && !sc_op_out_keeps(op, o->param)) o->param++;
    // Calls of a form may leave out the last parameters.
    const bool is_out = o->call->form && o->arg + sc_op_out_count(op) >= o->call->arg_count;
    if (o->param == schema->param_count || is_out) return access_of_out(o);
    return access_of_input(op, &schema->params[o->param++]);
}

static sc_evalue *next_arg(sc_rt_operands *o) {
    if (o->call) {
        if (o->arg == o->call->arg_count) return NULL;
        o->access = next_access(o);
        return o->call->args[o->arg++];
    }
    if (o->arg == 2) return NULL;
    o->access = records[o->in->kind][o->arg];
    return &o->m->values[o->arg++ ? o->in->to : o->in->from];
}

// --- Values --------------------------------------------------------------------------------------

// Lists of plain numbers, which are no values of the program, are operands themselves.
static bool lists_values(const sc_evalue *value) {
    return value->tag == SC_EVALUE_INT_LIST || value->tag == SC_EVALUE_TENSOR_LIST ||
           value->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
}

// NULL at the end of the list.
static sc_evalue *next_item(sc_rt_operands *o) {
    while (o->list && o->item < o->list->count) {
        const uint32_t at = o->item++;
        sc_evalue *value =
            o->list->tag == SC_EVALUE_INT_LIST ? o->list->ints[at] : o->list->tensors[at];
        if (value) return value;
    }
    o->list = NULL;
    return NULL;
}

bool sc_rt_operands_next(sc_rt_operands *o) {
    sc_evalue *value = next_item(o);
    while (!value) {
        value = next_arg(o);
        if (!value) return false;
        if (!(o->access & o->wanted)) {
            value = NULL;
        } else if (lists_values(value)) {
            o->list = value;
            o->item = 0;
            value = next_item(o);
        }
    }
    o->value = value;
    o->tensor = value->tag == SC_EVALUE_TENSOR ? value->tensor : NULL;
    return true;
}
