// Checks calls against the operator table: are the arguments those of the schema, and what sizes
// does the shape rule give the outs? The rules that propagated symbols at lowering run here on
// numbers.
#include "rt/run/shape.h"

#include "ops/infer.h"
#include "rt/operands.h"
#include "rt/run/tensor.h"

static sc_status wrong(sc_ctx *ctx, const sc_op *op, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "a call of %s %s", op->out_name, what);
}

// --- Kinds ---------------------------------------------------------------------------------------

static bool is_number(uint8_t tag) {
    return tag == SC_EVALUE_INT || tag == SC_EVALUE_BOOL || tag == SC_EVALUE_DOUBLE;
}

static bool list_fits(const sc_param *param, uint8_t tag) {
    switch (param->type) {
    case SC_PARAM_TENSOR:
        return tag == SC_EVALUE_TENSOR_LIST ||
               (param->item_is_optional && tag == SC_EVALUE_OPTIONAL_TENSOR_LIST);
    case SC_PARAM_INT: return tag == SC_EVALUE_INT_LIST || tag == SC_EVALUE_INT;
    case SC_PARAM_BOOL: return tag == SC_EVALUE_BOOL_LIST;
    case SC_PARAM_FLOAT: return tag == SC_EVALUE_DOUBLE_LIST;
    case SC_PARAM_SCALAR: return tag == SC_EVALUE_DOUBLE_LIST || tag == SC_EVALUE_INT_LIST;
    default: return false;
    }
}

static bool fits(const sc_param *param, uint8_t tag) {
    if (tag == SC_EVALUE_NONE) return param->is_optional || param->default_kind == SC_DEFAULT_NONE;
    if (param->is_list) return list_fits(param, tag);
    switch (param->type) {
    case SC_PARAM_TENSOR: return tag == SC_EVALUE_TENSOR;
    case SC_PARAM_INT:
    case SC_PARAM_BOOL: return tag == SC_EVALUE_INT || tag == SC_EVALUE_BOOL;
    case SC_PARAM_FLOAT:
    case SC_PARAM_SCALAR: return is_number(tag);
    case SC_PARAM_STR: return tag == SC_EVALUE_STRING;
    case SC_PARAM_DTYPE:
    case SC_PARAM_LAYOUT:
    case SC_PARAM_MEMORY_FORMAT: return tag == SC_EVALUE_INT;
    default: return false;
    }
}

sc_status sc_rt_call_check(sc_ctx *ctx, const sc_kernel_call *call) {
    const sc_op *op = call->op;
    uint32_t at = 0;
    for (uint32_t i = 0; i < op->schema->param_count; i++) {
        const sc_param *param = &op->schema->params[i];
        if (!sc_op_out_keeps(op, i)) continue;
        if (!fits(param, call->args[at++]->tag))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "a call of %s has the wrong kind of value for '" SC_STR_FMT "'",
                           op->out_name, SC_STR_ARG(param->name));
    }
    for (uint32_t i = 0; at < call->arg_count; at++, i++) {
        bool list = i < op->schema->return_count && op->schema->returns[i].is_list;
        if (call->args[at]->tag != (list ? SC_EVALUE_TENSOR_LIST : SC_EVALUE_TENSOR))
            return wrong(ctx, op, "has a result that is not a tensor");
    }
    return SC_OK;
}

// --- Arguments of the rule -----------------------------------------------------------------------

static sc_spec *spec_of(sc_arena *arena, const sc_tensor *t) {
    sc_spec *spec = sc_new(arena, sc_spec);
    *spec = sc_spec_new(arena, (sc_dtype)t->dtype, t->rank);
    for (uint32_t d = 0; d < t->rank; d++) {
        spec->sizes[d] = sc_dim_int(t->sizes[d]);
        spec->strides[d] = sc_dim_int(t->strides[d]);
    }
    return spec;
}

static sc_iarg tensor_arg(sc_arena *arena, const sc_tensor *t, bool values_known) {
    sc_iarg arg = {.kind = SC_IARG_TENSOR, .tensor = spec_of(arena, t)};
    if (!(values_known || t->is_constant) || !t->data || !sc_tensor_is_contiguous(t)) return arg;
    if (t->dtype == SC_DTYPE_I64) arg.data = t->data;
    if (t->dtype == SC_DTYPE_BOOL || t->dtype == SC_DTYPE_U8) arg.mask = t->data;
    return arg;
}

// A code of the file, which may be any number. Codes beyond 32 bits have no meaning.
static uint32_t code_of(int64_t value) {
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static sc_iarg int_arg(const sc_param *param, int64_t value) {
    sc_iarg arg = {.kind = SC_IARG_INT, .dim = sc_dim_int(value)};
    if (param->type == SC_PARAM_DTYPE)
        arg = (sc_iarg){.kind = SC_IARG_DTYPE, .code = code_of(value)};
    else if (param->type == SC_PARAM_MEMORY_FORMAT)
        arg = (sc_iarg){.kind = SC_IARG_MEMORY_FORMAT, .code = code_of(value)};
    return arg;
}

static sc_iarg list_arg(sc_arena *arena, const sc_param *param, const sc_evalue *value,
                        bool values_known) {
    sc_iarg *items = sc_new_array(arena, sc_iarg, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        switch (value->tag) {
        case SC_EVALUE_INT_LIST: items[i] = int_arg(param, value->ints[i]->i); break;
        case SC_EVALUE_DOUBLE_LIST:
            items[i] = (sc_iarg){.kind = SC_IARG_FLOAT, .f = value->doubles[i]};
            break;
        case SC_EVALUE_BOOL_LIST:
            items[i] = (sc_iarg){.kind = SC_IARG_BOOL, .b = value->bools[i] != 0};
            break;
        default:
            if (value->tensors[i])
                items[i] = tensor_arg(arena, value->tensors[i]->tensor, values_known);
        }
    }
    return (sc_iarg){.kind = SC_IARG_LIST, .count = value->count, .items = items};
}

static sc_iarg arg_of(sc_arena *arena, const sc_param *param, const sc_evalue *value,
                      bool values_known) {
    switch (value->tag) {
    case SC_EVALUE_NONE: return (sc_iarg){.kind = SC_IARG_NONE};
    case SC_EVALUE_TENSOR: return tensor_arg(arena, value->tensor, values_known);
    case SC_EVALUE_DOUBLE: return (sc_iarg){.kind = SC_IARG_FLOAT, .f = value->d};
    case SC_EVALUE_BOOL: return (sc_iarg){.kind = SC_IARG_BOOL, .b = value->b};
    case SC_EVALUE_STRING: return (sc_iarg){.kind = SC_IARG_STR, .str = value->str};
    case SC_EVALUE_INT:
        if (param->is_list) {  // int[2] given as one int
            sc_iarg *item = sc_new(arena, sc_iarg);
            *item = int_arg(param, value->i);
            return (sc_iarg){.kind = SC_IARG_LIST, .count = 1, .items = item};
        }
        return int_arg(param, value->i);
    default: return list_arg(arena, param, value, values_known);
    }
}

static bool codes_known(const sc_iarg *arg) {
    if (arg->kind == SC_IARG_DTYPE) return sc_dtype_is_known(arg->code);
    return arg->kind != SC_IARG_MEMORY_FORMAT || arg->code <= SC_MEMORY_FORMAT_CHANNELS_LAST_3D;
}

// The element type of the first out replaces a dtype that the out form lacks.
static const sc_tensor *first_out(const sc_kernel_call *call, uint32_t kept) {
    if (kept >= call->arg_count) return NULL;
    const sc_evalue *out = call->args[kept];
    if (out->tag == SC_EVALUE_TENSOR) return out->tensor;
    return out->tag == SC_EVALUE_TENSOR_LIST && out->count ? out->tensors[0]->tensor : NULL;
}

static sc_status fill_args(sc_infer *in, const sc_kernel_call *call, sc_iarg *args,
                           bool values_known) {
    const sc_schema *schema = call->op->schema;
    const sc_tensor *out = first_out(call, sc_rt_kept_inputs(call->op));
    uint32_t at = 0;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        if (sc_op_out_keeps(call->op, i))
            args[i] = arg_of(in->arena, param, call->args[at++], values_known);
        else if (param->type == SC_PARAM_DTYPE && out)
            args[i] = (sc_iarg){.kind = SC_IARG_DTYPE, .code = out->dtype};
        if (!codes_known(&args[i]))
            return wrong(in->ctx, call->op, "names an element type or layout that does not exist");
    }
    in->args = args;
    in->arg_count = schema->param_count;
    return SC_OK;
}

// --- Results of the rule -------------------------------------------------------------------------

// A size that depends on data starts as large as it may be. The file may state less than the
// operands allow.
static int64_t at_most(const sc_tensor *t, const int64_t *sizes, uint32_t rank) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)t->dtype);
    for (uint32_t d = 1; d < rank; d++)
        if (!sc_mul_u64(bytes, sizes[d] > 0 ? (uint64_t)sizes[d] : 1, &bytes)) return sizes[0];
    return (int64_t)sc_min_u64(t->capacity_bytes / bytes, (uint64_t)sizes[0]);
}

static sc_status fit_out(sc_ctx *ctx, const sc_op *op, const sc_iout *result, sc_tensor *t) {
    int64_t sizes[SC_RANK_MAX];
    if (result->kind == SC_IOUT_NONE) return SC_OK;
    if (result->kind != SC_IOUT_TENSOR)
        return wrong(ctx, op, "gives a number where the program expects a tensor");
    const sc_spec *spec = &result->spec;
    if (spec->dtype != t->dtype)
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "%s gives %s, but the program expects %s",
                       op->out_name, sc_dtype_name((sc_dtype)spec->dtype),
                       sc_dtype_name((sc_dtype)t->dtype));
    for (uint32_t d = 0; d < spec->rank; d++) sizes[d] = spec->sizes[d].value;
    if (result->is_most) sizes[0] = at_most(t, sizes, spec->rank);
    return sc_rt_tensor_resize(ctx, t, sizes, spec->rank);
}

static sc_status fit_outs(const sc_infer *in, const sc_kernel_call *call) {
    uint32_t result = 0;
    sc_rt_operands o = sc_rt_operands_of_call(call, SC_RT_WRITES);
    while (sc_rt_operands_next(&o)) {
        if (o.access & SC_RT_TAKES) continue;  // keeps its shape
        if (result >= in->out_count)
            return wrong(in->ctx, call->op, "has more results than the operator");
        SC_TRY(fit_out(in->ctx, call->op, &in->outs[result++], o.tensor));
    }
    if (result != in->out_count - sc_op_written_count(call->op) && result != 0)
        return wrong(in->ctx, call->op, "has fewer results than the operator");
    return SC_OK;
}

sc_status sc_rt_call_infer(const sc_kernel_call *call, bool at_load, sc_infer *in) {
    *in =
        (sc_infer){.ctx = call->ctx, .arena = call->ctx->scratch, .op = call->op, .runtime = true};
    sc_iarg *args = sc_new_array(in->arena, sc_iarg, call->op->schema->param_count + 1);
    SC_TRY(fill_args(in, call, args, !at_load));
    return sc_infer_run(in);
}

sc_status sc_rt_call_shape(sc_ctx *ctx, const sc_kernel_call *call, bool at_load) {
    if (call->kernel && call->kernel->sizes) return call->kernel->sizes(call, at_load);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_infer in;
    sc_status status = sc_rt_call_infer(call, at_load, &in);
    if (status == SC_OK) status = fit_outs(&in, call);
    const char *what, *hint;
    if (status == SC_OK && sc_infer_lacks_kernel(&in, &what, &hint))
        status = sc_call_fail_hint(call, SC_ERR_DTYPE, hint, "%s", what);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

bool sc_rt_call_is_empty(const sc_kernel_call *call) {
    if (sc_op_has(call->op, SC_DATA_DEPENDENT)) return false;
    sc_rt_operands o = sc_rt_operands_of_call(call, SC_RT_WRITES);
    while (sc_rt_operands_next(&o)) {
        if ((o.access & SC_RT_TAKES) || (o.tensor && o.tensor->numel)) return false;
    }
    return true;
}

bool sc_rt_call_window(sc_ctx *ctx, const sc_rt_instruction *instruction, sc_rt_window *out) {
    const sc_kernel_call *call = &instruction->call;
    if (instruction->kind != SC_RT_KERNEL || instruction->is_dynamic || !call->op->view)
        return false;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_infer in = {.ctx = ctx, .arena = ctx->scratch, .op = call->op, .runtime = true};
    sc_iarg *args = sc_new_array(ctx->scratch, sc_iarg, call->op->schema->param_count + 1);
    bool ok = fill_args(&in, call, args, false) == SC_OK &&
              sc_infer_view_of(&in, args[0].tensor) == SC_OK && in.out_count == 1;
    if (ok) {
        const sc_spec *spec = &in.outs[0].spec;
        *out = (sc_rt_window){.rank = spec->rank,
                              .offset = spec->offset.value,
                              .is_contiguous = sc_spec_is_contiguous(NULL, spec)};
        for (uint32_t d = 0; d < spec->rank; d++) out->strides[d] = spec->strides[d].value;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return ok;
}
