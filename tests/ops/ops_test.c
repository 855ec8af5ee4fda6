// The operator table checks itself: names, schemas, .pte names, twins, look-ups; and the notation
// of schemas.
#include "ops/infer.h"
#include "ops/takes.h"
#include "setup.h"

static const sc_op *find(const char *name) { return sc_op_find(sc_str_from(name)); }

TEST(in_place_twins_are_of_operators_with_one_tensor) {
    CHECK_OK(sc_ops_init());
    CHECK(sc_op_find(SC_STR("aten::split_with_sizes_")) == NULL);
    CHECK(sc_op_find(SC_STR("aten::topk_")) == NULL);
    CHECK(sc_op_find(SC_STR("aten::transpose_"))->functional == sc_op_get(SC_OP_transpose_int));
}

TEST(ops_rows_are_consistent) {
    REQUIRE_OK(sc_ops_init());
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        bool ok = find(op->name) == op && sc_str_is(op->schema->name, op->name) &&
                  strstr(op->name, "::") && op->id == id;
        // An operator in a lowered graph must have a name in the .pte, or leave by its twin.
        if (sc_op_has(op, SC_VIEW))
            ok = ok && !op->out_name && op->schema->param_count > 0 &&
                 op->schema->params[0].is_aliased +
                         sc_str_is(sc_str_from(op->name), "aten::_unsafe_view") ==
                     1;
        if (op->out_name) ok = ok && op->infer;
        if (sc_op_has(op, SC_MUTATES)) ok = ok && sc_op_written_count(op) > 0;
        if (sc_op_has(op, SC_RUNS)) ok = ok && op->out_name;
        if (!ok) FAIL("%s contradicts itself", op->name);
        for (uint32_t i = 0; i < op->schema->param_count; i++) {
            const sc_param *param = &op->schema->params[i];
            if (param->is_list && param->default_kind == SC_DEFAULT_INT)
                FAIL("%s: the default of '" SC_STR_FMT "' is not a list", op->name,
                     SC_STR_ARG(param->name));
        }
    }
}

TEST(ops_have_every_core_op) {
    size_t bytes;
    REQUIRE_OK(sc_ops_init());
    sc_str text = {test_read("data/core_ops.txt", &bytes), 0};
    text.size = bytes;
    uint32_t count = 0;
    while (text.size) {
        ptrdiff_t end = sc_str_find(text, '\n');
        REQUIRE(end > 0);
        sc_str name = sc_str_slice(text, 0, (size_t)end);
        const sc_op *op = sc_op_find(name);
        if (!op || !sc_op_has(op, SC_CORE))
            FAIL(SC_STR_FMT " is missing or not marked as core", SC_STR_ARG(name));
        count++;
        text = sc_str_slice(text, (size_t)end + 1, text.size);
    }
    CHECK_EQ_INT(count, 192);
}

TEST(ops_are_found_by_all_their_names) {
    REQUIRE_OK(sc_ops_init());
    CHECK(find("aten::add.Tensor") == sc_op_get(SC_OP_add_Tensor));
    CHECK(find("aten::relu.default") == sc_op_get(SC_OP_relu));
    CHECK(!find("aten::no_such_op") && !find("") && !find("aten::") && !find("_"));
    CHECK(sc_op_find_out(SC_STR("aten::add"), SC_STR("out")) == sc_op_get(SC_OP_add_Tensor));
    CHECK(sc_op_find_out(SC_STR("aten::copy_"), SC_STR("")) == sc_op_get(SC_OP_copy_));
    CHECK(sc_op_find_out(SC_STR("aten::copy_"), SC_STR("default")) == sc_op_get(SC_OP_copy_));
    CHECK(sc_op_find_out(SC_STR("executorch_prim::et_view"), SC_STR("default")) ==
          sc_op_get(SC_OP_executorch_prim_et_view));
    CHECK(sc_op_find_out(SC_STR("executorch_prim::add"), SC_STR("Scalar")) ==
          sc_op_get(SC_OP_sym_add));
    CHECK(sc_op_find_out(SC_STR("aten::sym_size"), SC_STR("int")) == sc_op_get(SC_OP_sym_size_int));
    CHECK(!sc_op_find_out(SC_STR("aten::add"), SC_STR("Tensor")));
}

TEST(ops_in_place_twins_come_from_their_functional_op) {
    REQUIRE_OK(sc_ops_init());
    const sc_op *twin = find("aten::add_.Tensor");
    REQUIRE(twin != NULL);
    CHECK(twin == find("aten::add_.Tensor"));
    CHECK(twin->functional == sc_op_get(SC_OP_add_Tensor));
    CHECK(sc_op_has(twin, SC_INPLACE) && twin->schema->params[0].is_written);
    CHECK(!twin->functional->schema->params[0].is_written);
    CHECK_EQ_STR(twin->name, "aten::add_.Tensor");
    CHECK_EQ_INT(sc_op_out_count(twin), 0);
    CHECK(find("aten::relu_") && find("aten::relu_")->functional == sc_op_get(SC_OP_relu));
    CHECK(find("aten::copy_") == sc_op_get(SC_OP_copy_));  // has a row of its own
    CHECK(sc_op_get(SC_OP_copy_)->functional == sc_op_get(SC_OP_copy));
    CHECK(!find("aten::arange_") && !find("aten::max_.dim"));  // no tensor first, two results
}

TEST(ops_views_have_copies) {
    REQUIRE_OK(sc_ops_init());
    CHECK(sc_op_get(SC_OP_view)->copy == sc_op_get(SC_OP_view_copy));
    CHECK(sc_op_get(SC_OP_select_int)->copy == sc_op_get(SC_OP_select_copy_int));
    CHECK(!sc_op_get(SC_OP_add_Tensor)->copy && !sc_op_get(SC_OP_add_Tensor)->view);
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id), *twin = op->copy;
        if (sc_op_has(op, SC_VIEW) && sc_op_has(op, SC_CORE) && !twin)
            FAIL("%s has no copy", op->name);
        if (sc_op_has(op, SC_PERMUTES) && !op->view) FAIL("%s copies no view", op->name);
        if (twin && (twin->view != op || twin->schema->param_count != op->schema->param_count))
            FAIL("%s and %s take different arguments", op->name, twin->name);
    }
}

TEST(ops_families_agree_with_traits) {
    REQUIRE_OK(sc_ops_init());
    const sc_op_traits control = SC_SYMBOLIC | SC_HIGHER_ORDER | SC_ASSERTION | SC_FUNCTORCH;
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        bool ok = (op->family == SC_FAMILY_OTHER) == !!(op->traits & control);
        if (sc_op_has(op, SC_POINTWISE)) ok = ok && op->family == SC_FAMILY_POINTWISE;
        if ((sc_op_has(op, SC_VIEW) || op->view) && !sc_op_has(op, SC_FUNCTORCH))
            ok = ok && op->family == SC_FAMILY_SHAPE;
        if (!ok) FAIL("%s is in the wrong section", op->name);
    }
    CHECK(find("aten::softmax.int")->family == SC_FAMILY_REDUCE);
    CHECK(find("aten::convolution")->family == SC_FAMILY_CONV);
    CHECK(find("aten::addmm")->family == SC_FAMILY_MATRIX);
    CHECK(find("aten::index_put_")->family == SC_FAMILY_INDEX);
}

TEST(ops_know_their_pte_form) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_STR(sc_op_get(SC_OP_sum_dim_IntList)->out_name, "aten::sum.IntList_out");
    CHECK_EQ_STR(sc_op_get(SC_OP_max_dim)->out_name, "aten::max.dim_max");
    CHECK_EQ_STR(sc_op_get(SC_OP_topk)->out_name, "aten::topk.values");
    const sc_op *full = sc_op_get(SC_OP_full);
    CHECK(sc_op_out_keeps(full, 0) && sc_op_out_keeps(full, 1));
    for (uint32_t i = 2; i < full->schema->param_count; i++) CHECK(!sc_op_out_keeps(full, i));
    const sc_op *sum = sc_op_get(SC_OP_sum_dim_IntList);
    CHECK(sc_op_out_keeps(sum, sum->schema->param_count - 1));
    CHECK_EQ_INT(sc_op_out_count(sc_op_get(SC_OP_native_layer_norm)), 3);
    CHECK_EQ_INT(sc_op_out_count(sc_op_get(SC_OP_split_with_sizes_copy)), 1);
    CHECK_EQ_INT(sc_op_out_count(sc_op_get(SC_OP_index_put_)), 0);
}

// --- Schemas -------------------------------------------------------------------------------------

TEST(schema_notation) {
    setup s;
    sc_schema schema;
    setup_begin(&s);
    sc_str text = SC_STR("ns::f.ov(Tensor(a!) self, Tensor?[] xs, int[2] p=1, SymInt[]? n=None, *, "
                         "float eps=1e-5, str mode='none', bool b=True, ScalarType? dtype=4, "
                         "int[] q=[0,-1], float w=2.) -> (Tensor(a!), Tensor[] rest)");
    REQUIRE_OK(sc_schema_parse(&s.ctx, &s.arena, text, &schema));
    CHECK_EQ_TEXT(schema.name.data, schema.name.size, "ns::f.ov");
    CHECK_EQ_INT(schema.param_count, 10);
    CHECK_EQ_INT(schema.return_count, 2);
    CHECK(schema.params[0].is_written && !schema.params[0].is_aliased);
    CHECK(schema.params[1].is_list && schema.params[1].item_is_optional &&
          !schema.params[1].is_optional);
    CHECK(schema.params[2].default_kind == SC_DEFAULT_INTS);
    CHECK_EQ_INT(schema.params[2].default_ints_count, 2);
    CHECK_EQ_INT(schema.params[2].default_ints[1], 1);
    CHECK(schema.params[3].is_list && schema.params[3].is_optional && schema.params[3].is_symbolic);
    CHECK(schema.params[3].default_kind == SC_DEFAULT_NONE && !schema.params[3].keyword_only);
    CHECK(schema.params[4].keyword_only);
    CHECK_SAME_FLOAT(schema.params[4].default_float, 1e-5);
    CHECK_EQ_TEXT(schema.params[5].default_str.data, schema.params[5].default_str.size, "none");
    CHECK_EQ_INT(schema.params[7].default_int, SC_DTYPE_I64);
    CHECK_EQ_INT(schema.params[8].default_ints[1], -1);
    CHECK_SAME_FLOAT(schema.params[9].default_float, 2.0);
    CHECK(schema.returns[1].is_list && !schema.returns[0].is_list);
    setup_end(&s);
}

TEST(schema_refuses_bad_notation) {
    static const char *const texts[] = {
        "",
        "f",
        "(Tensor a) -> Tensor",
        "f(Tensor a",
        "f(Tensor a)",
        "f(Tensor a) ->",
        "f(Tensor) -> Tensor",
        "f(Tensr a) -> Tensor",
        "f(Tensor a Tensor b) -> Tensor",
        "f(int[99999999999] a) -> Tensor",
        "f(int a=x) -> Tensor",
        "f(int[] a=[1,2,3,4,5]) -> Tensor",
        "f(str a='x) -> Tensor",
        "f(Tensor(a a) -> Tensor",
        "f(Tensor a) -> Tensor extra more",
        "f(Tensor a) -> (Tensor, ",
        "f(*, ) -> ()",
    };
    setup s;
    setup_begin(&s);
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++) {
        sc_schema schema;
        if (sc_schema_parse(&s.ctx, &s.arena, sc_str_from(texts[i]), &schema) == SC_OK)
            FAIL("'%s' was taken", texts[i]);
    }
    setup_end(&s);
}

// --- Inference on wrong arguments ----------------------------------------------------------------

static sc_status infer(setup *s, sc_op_id id, const sc_iarg *args, uint32_t count) {
    sc_infer in = {.ctx = &s->ctx,
                   .arena = &s->arena,
                   .op = sc_op_get(id),
                   .args = args,
                   .arg_count = count,
                   .exprs = sc_exprs_new(&s->arena, s->ctx.names)};
    return sc_infer_run(&in);
}

TEST(infer_names_what_is_wrong) {
    setup s;
    setup_begin(&s);
    REQUIRE_OK(sc_ops_init());
    sc_spec a = sc_spec_new(&s.arena, SC_DTYPE_F32, 2), b = sc_spec_new(&s.arena, SC_DTYPE_I32, 1);
    a.sizes[0] = sc_dim_int(2);
    a.sizes[1] = sc_dim_int(3);
    b.sizes[0] = sc_dim_int(4);
    sc_spec_set_contiguous(NULL, &a);
    sc_spec_set_contiguous(NULL, &b);
    sc_iarg one = {.kind = SC_IARG_INT, .dim = sc_dim_int(1)};
    sc_iarg add[3] = {
        {.kind = SC_IARG_TENSOR, .tensor = &a}, {.kind = SC_IARG_TENSOR, .tensor = &b}, one};
    CHECK_STATUS(infer(&s, SC_OP_add_Tensor, add, 3), SC_ERR_SHAPE);
    CHECK_EQ_STR(setup_message(&s),
                 "sizes [2, 3] and [4] do not broadcast: they differ in dimension 1");
    CHECK_STATUS(infer(&s, SC_OP_add_Tensor, add, 2), SC_ERR_ARGUMENT);
    add[1].kind = SC_IARG_STR;
    CHECK_STATUS(infer(&s, SC_OP_add_Tensor, add, 3), SC_ERR_ARGUMENT);
    sc_iarg numbers[3] = {one, one, one};
    CHECK_STATUS(infer(&s, SC_OP_add_Tensor, numbers, 3), SC_ERR_ARGUMENT);
    sc_iarg mm[2] = {add[0], add[0]};
    CHECK_STATUS(infer(&s, SC_OP_mm, mm, 2), SC_ERR_SHAPE);
    CHECK_EQ_STR(setup_message(&s), "the inner sizes of aten::mm must be equal, but are 3 and 2");
    sc_iarg linear[3] = {add[0], add[0], {.kind = SC_IARG_NONE}};
    CHECK_STATUS(infer(&s, find("aten::inner") ? (sc_op_id)find("aten::inner")->id : SC_OP_FOREIGN,
                       linear, 2),
                 SC_ERR_UNSUPPORTED_OP);
    setup_end(&s);
}

// --- Dtypes of kernels ---------------------------------------------------------------------------

static uint32_t bit(sc_dtype dtype) { return UINT32_C(1) << dtype; }

TEST(takes_reads_words_of_dtypes) {
    sc_takes takes;
    CHECK(sc_takes_parse("float32|float64, same, int64 -> bool", &takes));
    CHECK_EQ_INT(takes.count, 3);
    CHECK_EQ_INT(takes.operands[0].dtypes, bit(SC_DTYPE_F32) | bit(SC_DTYPE_F64));
    CHECK_EQ_INT(takes.operands[1].dtypes, takes.operands[0].dtypes);
    CHECK_EQ_INT(takes.operands[1].how, SC_TAKES_SAME);
    CHECK_EQ_INT(takes.operands[2].dtypes, bit(SC_DTYPE_I64));
    CHECK_EQ_INT(takes.gives, bit(SC_DTYPE_BOOL));
    CHECK(sc_takes_parse("", &takes));
    CHECK_EQ_INT(takes.count, 0);
}

TEST(takes_refuses_other_words) {
    static const char *const texts[] = {"flaot",      "float,",
                                        "float|",     "float -> ",
                                        "float ->",   "float -> same",
                                        "float|same", "|float",
                                        "float  ",    "any, any, any, any, any",
                                        "->"};
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++) {
        sc_takes takes;
        if (sc_takes_parse(texts[i], &takes)) FAIL("'%s' was read", texts[i]);
    }
}

// --- The official runtime ------------------------------------------------------------------------

// Kernels of the official runtime that have no counterpart here.
static const struct {
    const char *name, *reason;
} without[] = {
    {"llama::quantized_moe_ffn.out", "its weights are in a layout of torchao's own"},
};

static const char *reason_for(sc_str name) {
    for (size_t i = 0; i < SC_COUNT_OF(without); i++)
        if (sc_str_is(name, without[i].name)) return without[i].reason;
    return NULL;
}

// tests/data/official_kernels.txt has the names that executorch 1.5.1 registers, with its libraries
// for language models and for quantization.
TEST(ops_of_the_official_runtime_run_here) {
    size_t bytes;
    uint32_t count = 0;
    REQUIRE_OK(sc_ops_init());
    sc_str text = {test_read("data/official_kernels.txt", &bytes), 0};
    for (text.size = bytes; text.size; count++) {
        const ptrdiff_t end = sc_str_find(text, '\n');
        REQUIRE(end > 0);
        const sc_str name = sc_str_slice(text, 0, (size_t)end);
        const ptrdiff_t dot = sc_str_find_last(name, '.');
        const sc_str base = dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
        const sc_str overload =
            dot < 0 ? SC_STR("") : sc_str_slice(name, (size_t)dot + 1, name.size);
        const sc_op *op = sc_op_find_out(base, overload);
        const bool runs = op && sc_op_has(op, SC_RUNS);
        if (!runs && !reason_for(name)) FAIL(SC_STR_FMT " has no kernel", SC_STR_ARG(name));
        if (runs && reason_for(name)) FAIL(SC_STR_FMT " runs after all", SC_STR_ARG(name));
        text = sc_str_slice(text, (size_t)end + 1, text.size);
    }
    CHECK_EQ_UINT(count, 270);
}
