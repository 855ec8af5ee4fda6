// Programs made up from bytes, as torch.export would record them: inputs and states, then calls
// with the results that the expansion gives.
#ifndef FUZZ_MADE_H
#define FUZZ_MADE_H

#include <math.h>
#include <stdio.h>

#include "bytes.h"
#include "ir/print.h"
#include "trace/expand.h"

enum { VALUES_MAX = 64, INPUTS_MAX = 5, CALLS_MAX = 8, NUMEL_MAX = 2048, NODES_MAX = 1500 };

typedef struct source {
    byte_stream in;
    sc_arena *arena;
    sc_ctx *ctx;
    sc_program *program;
    sc_method *method;
    sc_arena cells;
    sc_trace trace;  // the calls once more, for what their results are
    sc_value *values[VALUES_MAX];
    sc_x traced[VALUES_MAX];
    uint32_t count;
    bool has_random;
    const sc_op *op;  // of the call under way
} source;

// A finding is of use with the program and what was said about it.
static inline void expect(const source *s, bool is_true, const char *what) {
    if (is_true) return;
    sc_sb text;
    sc_sb_init(&text, s->arena);
    sc_program_print(&text, s->program, (sc_print_options){.signature = true});
    fprintf(stderr, "%s", sc_sb_terminate(&text));
    if (s->op) fprintf(stderr, "in a call of %s\n", s->op->name);
    for (uint32_t i = 0; i < s->ctx->diags.count; i++)
        fprintf(stderr, SC_STR_FMT " " SC_STR_FMT ": " SC_STR_FMT "\n",
                SC_STR_ARG(s->ctx->diags.data[i].where.pass),
                SC_STR_ARG(s->ctx->diags.data[i].where.node),
                SC_STR_ARG(s->ctx->diags.data[i].message));
    sc_panic(__FILE__, __LINE__, what);
}
#define EXPECT(is_true) expect(s, (is_true), #is_true)

// Reasons for which a program may be refused, and errors that only a defect of ours can give.
static inline bool is_answer(sc_status status) {
    switch (status) {
    case SC_OK:
    case SC_ERR_UNSUPPORTED:
    case SC_ERR_UNSUPPORTED_OP:
    case SC_ERR_SHAPE:
    case SC_ERR_DTYPE:
    case SC_ERR_ARGUMENT:
    case SC_ERR_UNBOUNDED:
    case SC_ERR_LIMIT:
    case SC_ERR_OPERATOR_MISSING:
    case SC_ERR_INDEX:
    case SC_ERR_BUDGET:
    case SC_ERR_NUMERIC: return true;
    default: return false;
    }
}

// --- Numbers -------------------------------------------------------------------------------------

static inline int64_t number(source *s) {
    static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 100, -100};
    uint8_t b = next_byte(&s->in);
    if (b >= 250) return odd[b % SC_COUNT_OF(odd)];
    return b >= 200 ? -(int64_t)(b % 4 + 1) : b >= 190 ? b - 180 : b % 5;
}

static inline double real(source *s) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -0.0, 1e-5};
    uint8_t b = next_byte(&s->in);
    return b >= 245 ? odd[b % SC_COUNT_OF(odd)] : ((double)b - 100) / 16;
}

static inline sc_dtype any_dtype(source *s) {
    static const sc_dtype all[] = {SC_DTYPE_F32, SC_DTYPE_F32, SC_DTYPE_F32,  SC_DTYPE_I64,
                                   SC_DTYPE_F32, SC_DTYPE_I64, SC_DTYPE_BOOL, SC_DTYPE_I32,
                                   SC_DTYPE_F64, SC_DTYPE_F16, SC_DTYPE_BF16, SC_DTYPE_U8,
                                   SC_DTYPE_I8,  SC_DTYPE_C64};
    return all[next_byte(&s->in) % SC_COUNT_OF(all)];
}

// --- Inputs --------------------------------------------------------------------------------------

static inline sc_dim any_size(source *s) {
    static const int64_t sizes[] = {1, 2, 3, 4, 2, 3, 4, 5, 6, 8, 1, 0};
    uint8_t b = next_byte(&s->in);
    if (b < 230) return sc_dim_int(sizes[b % SC_COUNT_OF(sizes)]);
    sc_symbol *symbol = sc_exprs_symbol(s->method->exprs, b % 2 ? SC_STR("s0") : SC_STR("s1"));
    symbol->range = (sc_range){2, 4};
    symbol->has_hint = true;
    symbol->hint = 3;
    return sc_dim_from_symbol(s->method->exprs, symbol);
}

static inline void set_layout(source *s, sc_spec *spec, uint8_t how) {
    uint8_t order[SC_RANK_MAX];
    sc_spec_set_contiguous(s->method->exprs, spec);
    if (how < 200 || spec->rank < 2) return;
    for (uint32_t d = 0; d < spec->rank; d++) order[d] = (uint8_t)d;
    if (spec->rank == 4 && how < 240) {
        memcpy(order, (const uint8_t[]){0, 2, 3, 1}, 4);
    } else {
        order[spec->rank - 1] = (uint8_t)(spec->rank - 2);
        order[spec->rank - 2] = (uint8_t)(spec->rank - 1);
    }
    sc_spec_set_order(s->method->exprs, spec, order);
}

static inline sc_spec any_spec(source *s, bool is_static) {
    const sc_value *like = s->count ? s->values[0] : NULL;
    uint8_t how = next_byte(&s->in);
    bool alike = like && how % 3 == 0;
    uint32_t rank = alike ? like->spec.rank : how / 3 % 5;
    sc_dtype dtype = alike && how % 2 ? (sc_dtype)like->spec.dtype : any_dtype(s);
    sc_spec spec = sc_spec_new(s->arena, dtype, rank);
    for (uint32_t d = 0; d < rank; d++) {
        spec.sizes[d] = alike && next_byte(&s->in) < 200 ? like->spec.sizes[d] : any_size(s);
        if (is_static && spec.sizes[d].expr) spec.sizes[d] = sc_dim_int(3);
    }
    set_layout(s, &spec, next_byte(&s->in));
    return spec;
}

// Small numbers mostly, as indices and sensible operands are.
static inline void fill(source *s, void *to, sc_dtype dtype, uint64_t bytes, uint8_t how) {
    s->in.random = how * 2654435761u;
    uint8_t *raw = to;
    uint64_t count = bytes / sc_dtype_bytes(dtype);
    for (uint64_t i = 0; i < bytes; i++)
        raw[i] = dtype == SC_DTYPE_BOOL ? next_noise(&s->in) & 1 : 0;
    for (uint64_t i = 0; i < count; i++) {
        int32_t value = (int32_t)(next_noise(&s->in) % 9) - (how % 2 ? 4 : 0);
        switch (dtype) {
        case SC_DTYPE_F32: ((float *)to)[i] = (float)value / 2; break;
        case SC_DTYPE_F64: ((double *)to)[i] = (double)value / 2; break;
        case SC_DTYPE_I64: ((int64_t *)to)[i] = value; break;
        case SC_DTYPE_I32: ((int32_t *)to)[i] = value; break;
        case SC_DTYPE_BF16:
        case SC_DTYPE_F16: ((uint16_t *)to)[i] = (uint16_t)(next_noise(&s->in) & 0x3fff); break;
        case SC_DTYPE_I8:
        case SC_DTYPE_U8: raw[i] = (uint8_t)(value & 15); break;
        default: break;
        }
    }
}

static inline sc_constant *constant_for(source *s, const sc_value *value, sc_str name) {
    sc_constant *constant = sc_new(s->arena, sc_constant);
    uint64_t bytes = 0;
    SC_ASSERT(sc_spec_bytes_max(&value->spec, &bytes));
    void *data = sc_arena_alloc(s->arena, (size_t)bytes + 1);
    fill(s, data, (sc_dtype)value->spec.dtype, bytes, next_byte(&s->in));
    *constant = (sc_constant){.name = name, .spec = value->spec, .persistent = true};
    constant->data = sc_extent_whole(sc_source_from_memory(s->arena, data, bytes));
    return constant;
}

static inline void add_input(source *s) {
    static const sc_input_kind kinds[] = {SC_INPUT_USER,      SC_INPUT_USER,
                                          SC_INPUT_PARAMETER, SC_INPUT_BUFFER,
                                          SC_INPUT_BUFFER,    SC_INPUT_CONSTANT_TENSOR};
    sc_input_sig sig = {.kind = kinds[next_byte(&s->in) % SC_COUNT_OF(kinds)]};
    sc_spec spec = any_spec(s, sig.kind != SC_INPUT_USER);
    sc_value *value = sc_graph_add_input(s->method->graph, SC_STR("x"), SC_VALUE_TENSOR);
    value->spec = spec;
    value->spec.requires_grad = sig.kind == SC_INPUT_PARAMETER;
    if (sig.kind != SC_INPUT_USER) {
        sig.target = sc_name_str(value->name);
        sig.persistent = sig.kind == SC_INPUT_BUFFER;
        sig.constant = constant_for(s, value, sig.target);
    }
    sc_vec_push(s->arena, &s->method->inputs, sig);
    s->values[s->count++] = value;
}

static inline void begin_trace(source *s) {
    sc_graph *graph = sc_graph_new(s->method, NULL, SC_STR("traced"));
    for (uint32_t i = 0; i < s->count; i++) {
        sc_value *value = sc_graph_add_input(graph, SC_STR("x"), SC_VALUE_TENSOR);
        value->spec = s->values[i]->spec;
    }
    const sc_trace_hooks hooks = {.dispatch = sc_trace_dispatch};
    sc_trace_init(&s->trace, s->ctx, &s->cells, graph, &hooks);
    for (uint32_t i = 0; i < s->count; i++) {
        s->values[i]->mark = i;
        s->traced[i] = sc_trace_fresh(&s->trace, graph->inputs.data[i]);
    }
}

// --- Arguments -----------------------------------------------------------------------------------

static inline sc_arg item(source *s, sc_param_type type) {
    static const char *const texts[] = {"none",    "floor", "trunc",    "mean",
                                        "sum",     "same",  "valid",    "constant",
                                        "reflect", "tanh",  "bilinear", "nearest"};
    uint8_t how;
    switch (type) {
    case SC_PARAM_TENSOR:
        how = next_byte(&s->in);
        return sc_arg_value(
            s->values[how < 128 ? s->count - 1 - how % sc_min_u32(s->count, 3) : how % s->count]);
    case SC_PARAM_INT: return sc_arg_int(number(s));
    case SC_PARAM_FLOAT: return sc_arg_float(real(s));
    case SC_PARAM_BOOL: return sc_arg_bool(next_byte(&s->in) & 1);
    case SC_PARAM_SCALAR:
        how = next_byte(&s->in);
        return how % 2 ? sc_arg_float(real(s)) : sc_arg_int(number(s));
    case SC_PARAM_STR:
        return sc_arg_str(sc_str_from(texts[next_byte(&s->in) % SC_COUNT_OF(texts)]));
    case SC_PARAM_DTYPE: return sc_arg_dtype(any_dtype(s));
    case SC_PARAM_LAYOUT: return (sc_arg){.kind = SC_ARG_LAYOUT};
    case SC_PARAM_MEMORY_FORMAT: return sc_arg_format((sc_memory_format)(next_byte(&s->in) % 4));
    case SC_PARAM_DEVICE: return (sc_arg){.kind = SC_ARG_DEVICE, .str = SC_STR("cpu")};
    case SC_PARAM_GENERATOR:
    case SC_PARAM_GRAPH:
    case SC_PARAM_PART: break;
    }
    return sc_arg_none();
}

static inline sc_arg argument(source *s, const sc_param *param) {
    uint8_t how = next_byte(&s->in);
    if (param->is_optional && how % 3 == 0) return sc_arg_none();
    if (param->default_kind != SC_DEFAULT_REQUIRED && how % 3 == 1)
        return sc_arg_default(s->arena, param);
    if (!param->is_list) return item(s, param->type);
    uint32_t rank = s->values[s->count - 1]->spec.rank;
    uint32_t count = how < 120 ? rank : how < 240 ? how % 4 : how % 17;
    if (param->list_size > 0 && how % 4) count = (uint32_t)param->list_size;
    sc_arg *items = sc_new_array(s->arena, sc_arg, count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] =
            param->item_is_optional && next_byte(&s->in) % 2 ? sc_arg_none() : item(s, param->type);
    return sc_arg_list(items, count);
}

static inline sc_x traced_arg(source *s, const sc_arg *arg) {
    sc_trace *t = &s->trace;
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_VALUE: return s->traced[arg->value->mark];
    case SC_ARG_INT: return sc_x_int(t, arg->i);
    case SC_ARG_FLOAT: return sc_x_float(t, arg->f);
    case SC_ARG_BOOL: return sc_x_bool(arg->b);
    case SC_ARG_STR: return sc_x_new(t, (sc_x_data){.kind = SC_X_STR, .str = arg->str});
    case SC_ARG_DEVICE: return X_CPU;
    case SC_ARG_DTYPE: return sc_x_dtype(t, (sc_dtype)arg->code);
    case SC_ARG_LAYOUT: return X_STRIDED;
    case SC_ARG_MEMORY_FORMAT: return sc_x_format(t, (sc_memory_format)arg->code);
    case SC_ARG_LIST: {
        sc_x *items = sc_new_array(&s->cells, sc_x, arg->count + 1);
        for (uint32_t i = 0; i < arg->count; i++) items[i] = traced_arg(s, &arg->items[i]);
        return sc_x_list_of(t, items, arg->count);
    }
    case SC_ARG_NONE:
    case SC_ARG_GRAPH:
    case SC_ARG_PART: break;
    }
    return X_NONE;
}

// --- Calls ---------------------------------------------------------------------------------------

// A call that reads unwritten memory returns the bytes that happen to be there.
static inline bool is_left_out(const sc_op *op) {
    return sc_op_has(op, SC_HIGHER_ORDER | SC_FUNCTORCH) || sc_op_has(op, SC_SYMBOLIC) ||
           sc_op_has(op, SC_ASSERTION) || strstr(op->name, "empty") || strstr(op->name, "resize_");
}

// Its twin in place, if there is one.
static inline const sc_op *twin_of(source *s, const sc_op *op) {
    sc_str name = sc_str_from(op->name);
    ptrdiff_t dot = sc_str_find(name, '.');
    sc_str base = dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
    sc_str rest = sc_str_slice(name, base.size, name.size);
    const sc_op *twin = sc_op_find(
        sc_str_format(s->arena, SC_STR_FMT "_" SC_STR_FMT, SC_STR_ARG(base), SC_STR_ARG(rest)));
    return twin ? twin : op;
}

static inline const sc_op *any_op(source *s) {
    const sc_op *op = next_op(&s->in, NULL);
    return next_byte(&s->in) % 4 ? op : twin_of(s, op);
}

static inline bool is_usable(source *s, sc_x x) {
    uint64_t bytes = 0;
    if (x->kind == SC_X_NONE) return true;
    return x->kind == SC_X_TENSOR && sc_spec_bytes_max(sc_x_spec(x), &bytes) &&
           bytes <= NUMEL_MAX * 8 && s->trace.graph->node_count < NODES_MAX;
}

static inline bool add_results(source *s, sc_node *node, const sc_x *results, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sc_value *out = node->outs[i];
        out->name = sc_graph_unique_name(s->method->graph, SC_STR("y"));
        if (results[i]->kind == SC_X_NONE) continue;
        out->type = SC_VALUE_TENSOR;
        out->spec = *sc_x_spec(results[i]);
        if (s->count == VALUES_MAX) continue;
        out->mark = s->count;
        s->traced[s->count] = results[i];
        s->values[s->count++] = out;
    }
    return true;
}

// Makes the call, and takes what it gives for values; false where the program cannot go on.
static inline bool call_with(source *s, const sc_op *op, const sc_arg *args) {
    sc_trace *t = &s->trace;
    const uint32_t count = op->schema->param_count;
    sc_arg *full;
    sc_x *traced = sc_new_array(&s->cells, sc_x, count + 1);
    s->op = op;
    if (sc_args_complete(s->ctx, s->arena, op, args, count, &full) != SC_OK) return true;
    for (uint32_t i = 0; i < count; i++) traced[i] = traced_arg(s, &full[i]);
    sc_x result = sc_trace_call(t, op, traced, count);
    if (t->status != SC_OK) {
        EXPECT(s->ctx->error_count > 0 && is_answer(t->status));
        t->status = SC_OK;
        return !sc_op_has(op, SC_MUTATES);  // which may have been written by half
    }
    s->has_random = s->has_random || sc_op_has(op, SC_RANDOM);
    bool single = result->kind != SC_X_LIST;
    uint32_t results = single ? 1 : result->count;
    const sc_x *items = single ? &result : result->items;
    for (uint32_t i = 0; i < results; i++)
        if (!is_usable(s, items[i])) return false;
    sc_node *node = sc_node_new(s->method->graph, op, full, count, results, NULL);
    sc_graph_append(s->method->graph, node);
    return add_results(s, node, items, results);
}

// A call of any operator, on anything.
static inline bool call(source *s) {
    const sc_op *op = any_op(s);
    if (is_left_out(op)) return true;
    s->op = op;
    sc_arg *args = sc_new_array(s->arena, sc_arg, op->schema->param_count + 1);
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        args[i] = argument(s, &op->schema->params[i]);
    return call_with(s, op, args);
}

static inline void finish(source *s) {
    sc_arg outputs[4];
    uint32_t count = 0;
    for (uint32_t i = s->count; i-- > 0 && count < SC_COUNT_OF(outputs);) {
        if (next_byte(&s->in) % 4 == 1) continue;
        outputs[count++] = sc_arg_value(s->values[i]);
        sc_vec_push(s->arena, &s->method->outputs, ((sc_output_sig){.kind = SC_OUTPUT_USER}));
    }
    sc_graph_set_outputs(s->method->graph, outputs, count);
}

// --- From the first to the last ------------------------------------------------------------------

typedef struct source_memory {
    sc_arena arena, scratch;
    sc_ctx ctx;
} source_memory;

// An empty program, to be made of these bytes.
static inline source *source_open(source_memory *m, const uint8_t *data, size_t size) {
    sc_arena_init(&m->arena);
    sc_arena_init(&m->scratch);
    sc_ctx_init(&m->ctx, &m->arena, &m->scratch);
    source *s = sc_new(&m->arena, source);
    *s = (source){.in = {.data = data, .size = size}, .arena = &m->arena, .ctx = &m->ctx};
    sc_arena_init(&s->cells);
    s->program = sc_program_new(&m->ctx);
    SC_ASSERT(sc_program_add_method(s->program, SC_STR("forward"), &s->method) == SC_OK);
    return s;
}

// Calls, for as long as there are bytes, and outputs.
static inline void make_calls(source *s, bool (*one)(source *)) {
    begin_trace(s);
    for (uint32_t i = 0; i < CALLS_MAX && s->in.at < s->in.size; i++)
        if (!one(s)) break;
    finish(s);
}

static inline void source_close(source_memory *m, source *s) {
    sc_arena_deinit(&s->cells);
    sc_arena_deinit(&m->arena);
    sc_arena_deinit(&m->scratch);
}

#endif
