// Programs made up from bytes of levels of vmap and jvp and calls of any operators between them, on
// tensors of any level. Decomposition writes the levels out or refuses; what it writes passes the
// verifier, keeps no book, and returns tensors of the sizes that the program said.
#include "ir/ir.h"
#include "ir/verify.h"
#include "trace/decompose.h"

#include "bytes.h"
#include "context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NODES_MAX = 40, ARGS_MAX = 16, LEVELS_MAX = 4, BATCH = 3 };

typedef struct maker {
    byte_stream in;
    sc_ctx *ctx;
    sc_graph *graph;
    SC_VEC(sc_value *) tensors;
    uint8_t kinds[LEVELS_MAX];
    uint32_t open;
} maker;

static sc_arg any_tensor(maker *m) {
    // The latest are the likeliest.
    uint32_t back = next_byte(&m->in) % 8;
    return sc_arg_value(m->tensors.data[m->tensors.count - 1 - back % m->tensors.count]);
}

static sc_arg any_item(maker *m, sc_param_type type) {
    const int64_t i = (int64_t)next_byte(&m->in) % 6 - 1;
    switch (type) {
    case SC_PARAM_TENSOR: return any_tensor(m);
    case SC_PARAM_INT:
    case SC_PARAM_SCALAR: return sc_arg_int(i);
    case SC_PARAM_FLOAT: return sc_arg_float((double)i / 2);
    case SC_PARAM_BOOL: return sc_arg_bool(i & 1);
    case SC_PARAM_DTYPE: return sc_arg_dtype(i & 1 ? SC_DTYPE_F32 : SC_DTYPE_I64);
    case SC_PARAM_STR: return sc_arg_str(i & 1 ? SC_STR("same") : SC_STR("different"));
    default: return sc_arg_none();
    }
}

static sc_arg any_arg(maker *m, const sc_param *param) {
    const uint8_t how = next_byte(&m->in);
    if (param->default_kind != SC_DEFAULT_REQUIRED && how % 3 == 0)
        return sc_arg_default(m->ctx->arena, param);
    if (!param->is_list) return any_item(m, param->type);
    const uint32_t count = how % 4;
    sc_arg *items = sc_new_array(m->ctx->arena, sc_arg, count + 1);
    for (uint32_t i = 0; i < count; i++) items[i] = any_item(m, param->type);
    return sc_arg_list(items, count);
}

// A call that inference refuses is not in the program.
static void add(maker *m, const sc_op *op, const sc_arg *args, uint32_t count) {
    const sc_diag_mark mark = sc_diags_mark(m->ctx);
    sc_meta meta = {0};
    sc_node *node = NULL;
    if (sc_build(m->graph, NULL, op, args, count, &meta, &node) != SC_OK) {
        sc_diags_rewind(m->ctx, mark);
        return;
    }
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type == SC_VALUE_TENSOR)
            sc_vec_push(m->ctx->arena, &m->tensors, node->outs[i]);
}

static bool is_plain(const sc_op *op) {
    const sc_op_traits never = SC_HIGHER_ORDER | SC_SYMBOLIC | SC_ASSERTION | SC_FUNCTORCH |
                               SC_PTE_ONLY | SC_MUTATES | SC_INPLACE | SC_DATA_DEPENDENT;
    return op->infer && !sc_op_has(op, never) && op->schema->param_count <= ARGS_MAX;
}

static void add_call(maker *m) {
    sc_arg args[ARGS_MAX];
    const sc_op *op = next_op(&m->in, is_plain);
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        args[i] = any_arg(m, &op->schema->params[i]);
    add(m, op, args, op->schema->param_count);
}

static void open_level(maker *m, bool is_vmap) {
    const sc_arg args[2] = {
        sc_arg_int(BATCH),
        sc_arg_str(next_byte(&m->in) & 1 ? SC_STR("same") : SC_STR("different"))};
    if (m->open >= LEVELS_MAX) return;
    m->kinds[m->open++] = is_vmap;
    add(m, sc_op_get(is_vmap ? SC_OP_functorch_vmap_open : SC_OP_functorch_jvp_open), args,
        is_vmap ? 2 : 0);
}

static void close_level(maker *m) {
    const bool is_vmap = m->kinds[--m->open];
    add(m, sc_op_get(is_vmap ? SC_OP_functorch_vmap_close : SC_OP_functorch_jvp_close), NULL, 0);
}

// Now and then of a level that is not the innermost.
static sc_arg a_level(maker *m) {
    const uint8_t b = next_byte(&m->in);
    return sc_arg_int(b > 250 ? (int64_t)b - 250 : (int64_t)m->open);
}

static void add_book(maker *m) {
    const bool is_vmap = m->open > 0 && m->kinds[m->open - 1];
    const bool begins = next_byte(&m->in) & 1;
    const sc_arg x = any_tensor(m), other = any_tensor(m);
    const sc_arg dim = sc_arg_int(next_byte(&m->in) % 4), level = a_level(m);
    const sc_arg in[3] = {x, dim, level}, out[4] = {x, level, sc_arg_int(BATCH), dim};
    const sc_arg dual[3] = {x, other, sc_arg_int(0)}, unpacked[2] = {x, sc_arg_int(0)};
    if (is_vmap && begins) add(m, sc_op_get(SC_OP_functorch_add_batch_dim), in, 3);
    if (is_vmap && !begins) add(m, sc_op_get(SC_OP_functorch_remove_batch_dim), out, 4);
    if (!is_vmap && begins) add(m, sc_op_get(SC_OP_functorch_make_dual), dual, 3);
    if (!is_vmap && !begins) add(m, sc_op_get(SC_OP_functorch_unpack_dual), unpacked, 2);
}

// With the last tensor.
static void leave_level(maker *m) {
    const sc_arg x = sc_arg_value(sc_vec_last(&m->tensors)), level = sc_arg_int(m->open);
    const sc_arg out[4] = {x, level, sc_arg_int(BATCH), sc_arg_int(0)};
    const sc_arg dual[2] = {x, sc_arg_int(0)};
    if (m->kinds[m->open - 1])
        add(m, sc_op_get(SC_OP_functorch_remove_batch_dim), out, 4);
    else
        add(m, sc_op_get(SC_OP_functorch_unpack_dual), dual, 2);
    close_level(m);
}

static void make(maker *m) {
    for (uint32_t i = 0; i < NODES_MAX && m->in.at < m->in.size; i++) {
        const uint8_t what = next_byte(&m->in);
        if (what < 24)
            open_level(m, what < 16);
        else if (what < 36 && m->open > 0)
            leave_level(m);
        else if (what < 110)
            add_book(m);
        else
            add_call(m);
    }
    while (m->open > 0) leave_level(m);
}

static void add_inputs(maker *m) {
    static const char *const names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        sc_value *value = sc_graph_add_input(m->graph, sc_str_from(names[i]), SC_VALUE_TENSOR);
        value->spec = sc_spec_new(m->ctx->arena, i < 2 ? SC_DTYPE_F32 : SC_DTYPE_I64, 3 - i % 2);
        for (uint32_t d = 0; d < value->spec.rank; d++) value->spec.sizes[d] = sc_dim_int(BATCH);
        sc_spec_set_contiguous(m->graph->method->exprs, &value->spec);
        sc_vec_push(m->ctx->arena, &m->graph->method->inputs, (sc_input_sig){0});
        sc_vec_push(m->ctx->arena, &m->tensors, value);
    }
}

// The last tensors are returned, of whatever level they are.
static sc_value *return_last(maker *m) {
    sc_value *last = m->tensors.data[m->tensors.count - 1];
    const sc_arg out = sc_arg_value(last);
    sc_graph_set_outputs(m->graph, &out, 1);
    sc_vec_push(m->ctx->arena, &m->graph->method->outputs, (sc_output_sig){0});
    return last;
}

static void check(sc_method *method, const sc_spec *said) {
    const sc_graph *graph = method->graph;
    for (const sc_node *node = graph->first; node; node = node->next)
        SC_ASSERT(!sc_op_has(node->op, SC_FUNCTORCH));
    SC_ASSERT(graph->ret->arg_count > 0);  // what was written to comes first
    const sc_arg *out = &graph->ret->args[graph->ret->arg_count - 1];
    SC_ASSERT(out->kind == SC_ARG_VALUE);
    const sc_spec *made = &out->value->spec;
    SC_ASSERT(made->dtype == said->dtype && sc_spec_same_sizes(made, said));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    sc_method *method;
    SC_ASSERT(sc_ops_init() == SC_OK);
    sc_program *program = sc_program_new(ctx);
    SC_ASSERT(sc_program_add_method(program, SC_STR("forward"), &method) == SC_OK);
    maker m = {.in = {data, size, 0, 0}, .ctx = ctx, .graph = method->graph};
    add_inputs(&m);
    make(&m);
    const sc_spec said = return_last(&m)->spec;
    SC_ASSERT(sc_verify(ctx, program) == SC_OK);
    if (sc_decompose(ctx, method, NULL) == SC_OK) {
        SC_ASSERT(sc_verify(ctx, program) == SC_OK);
        check(method, &said);
    } else {
        SC_ASSERT(ctx->error_count > 0);
    }
    fuzz_end(&c);
    return 0;
}
