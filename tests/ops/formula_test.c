// Formulas as text: what the parser makes of them, and what it refuses; and the rows of forms.def.
#include "ops/forms.h"
#include "setup.h"

static bool parse(setup *s, const char *text, sc_formula *out) {
    const sc_formula_names names = sc_formula_names_in("self, other");
    return sc_formula_parse(&s->ctx, &s->arena, sc_str_from(text), &names, out) == SC_OK;
}

TEST(names_stand_for_parameters_and_definitions) {
    setup s;
    sc_formula f;
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    if (CHECK(
            parse(&s, "x = neg(self); y = mul.Tensor(x, other); sub.Tensor(y, x, alpha=2)", &f))) {
        CHECK_EQ_UINT(f.param_count, 2);
        CHECK_EQ_UINT(f.name_count, 4);
        const sc_formula_node *result = sc_formula_result(&f);
        CHECK(result->op == sc_op_get(SC_OP_sub_Tensor));
        CHECK_EQ_UINT(result->count, 3);
        CHECK_EQ_UINT(result->items[0]->index, 3);
        CHECK_EQ_UINT(result->items[1]->index, 2);
        CHECK_EQ_INT(result->items[2]->i, 2);
        CHECK(f.definitions[3]->op == sc_op_get(SC_OP_mul_Tensor));
    }
    setup_end(&s);
}

TEST(the_newest_definition_of_a_name_counts_until_its_block_ends) {
    setup s;
    sc_formula f;
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    if (CHECK(parse(&s, "x = neg(self); x = abs(x); add.Tensor(x, opmath(x = exp(x); x))", &f))) {
        const sc_formula_node *result = sc_formula_result(&f);
        CHECK_EQ_UINT(result->items[0]->index, 3);
        CHECK_EQ_UINT(f.definitions[4]->items[0]->index, 3);
    }
    CHECK(!parse(&s, "add.Tensor(opmath(x = exp(self); x), x)", &f));
    setup_end(&s);
}

TEST(an_argument_can_be_said) {
    setup s;
    sc_formula f;
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    if (CHECK(parse(&s, "other is 'floor'; if self == -0.5 then inf else -inf", &f))) {
        CHECK_EQ_UINT(f.given_count, 1);
        CHECK_EQ_UINT(f.given[0].param, 1);
        CHECK(sc_str_is(f.given[0].is->text, "floor"));
        CHECK(f.root->kind == SC_FORMULA_IF && f.root->items[0]->kind == SC_FORMULA_EQUAL);
        CHECK(sc_formula_result(&f) == NULL);
    }
    setup_end(&s);
}

TEST(dtypes_and_lists_can_be_asked) {
    setup s;
    sc_formula f;
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    if (CHECK(parse(&s, "if dtype(self) == u8 then to(self, f32) else float(other)", &f))) {
        const sc_formula_node *const *parts = f.root->items;
        CHECK(parts[0]->kind == SC_FORMULA_EQUAL);
        CHECK(parts[0]->items[1]->code == SC_DTYPE_U8);
        CHECK(parts[1]->code == SC_WORD_to && parts[2]->code == SC_WORD_float);
    }
    CHECK(parse(&s, "if is_empty(other) then self else other", &f));
    CHECK(parse(&s, "if is_complex(self) then part_dtype(self) else dtype(self)", &f));
    setup_end(&s);
}

TEST(what_is_no_formula_is_refused) {
    static const char *const texts[] = {
        "",
        "neg(self",
        "neg(self))",
        "neg(self) other",
        "no_such_operator(self)",
        "neg(self, self)",
        "add.Tensor(self, other, beta=1)",
        "x",
        "x = neg(self)",
        "x = x; x",
        "scalar(1)",
        "last_bit(self)",
        "if self then 1 else 2",
        "if is_absent(self) 1 else 2",
        "if is_absent(self) then 1",
        "third is 1; self",
        "[self, other",
        "self[x]",
        "self[-1]",
        "'floor",
        "1.2.3",
        "-infinite",
    };
    setup s;
    sc_formula f;
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++)
        if (parse(&s, texts[i], &f)) FAIL("'%s' is taken", texts[i]);
    CHECK_EQ_UINT(s.ctx.error_count, SC_COUNT_OF(texts));
    setup_end(&s);
}

TEST(depth_and_names_are_bounded) {
    setup s;
    sc_formula f;
    char deep[SC_FORMULA_DEPTH * 4 + 8] = "", many[(SC_FORMULA_NAMES + 1) * 8] = "";
    REQUIRE_OK(sc_ops_init());
    setup_begin(&s);
    for (int i = 0; i <= SC_FORMULA_DEPTH; i++) strcat(deep, "neg(");
    for (int i = 0; i < SC_FORMULA_NAMES; i++) strcat(many, "x=self;");
    CHECK(!parse(&s, deep, &f));
    CHECK(!parse(&s, strcat(many, "x"), &f));
    setup_end(&s);
}

// A row that loading looks for ends with a call, and gives every operand but the one that it says.
TEST(forms_are_calls_of_their_operands) {
    REQUIRE_OK(sc_ops_init());
    for (sc_form_id id = 0; id < SC_FORM_COUNT; id++) {
        const sc_form *form = sc_form_get(id);
        const sc_formula *f = sc_form_formula(id);
        const sc_formula_node *result = sc_formula_result(f);
        if (form->known != SC_FORM_NEVER && !(result && result->op->id == form->root))
            FAIL("row %d of forms.def does not end with the call that it names", (int)id);
        CHECK(f->given_count <= 1);
        for (uint32_t i = 0; i < f->given_count; i++) {
            CHECK(f->given[i].param == f->param_count - 1);
            CHECK(f->given[i].is->kind == SC_FORMULA_TEXT);
        }
    }
    for (sc_step step = 0; step < SC_STEP_COUNT; step++)
        CHECK(sc_formula_result(sc_step_formula(step)) != NULL);
}

TEST(forms_take_the_dtypes_that_they_name) {
    const sc_form *shift = sc_form_get(SC_FORM___rshift___Tensor_SIGNED);
    const sc_form *sign = sc_form_get(SC_FORM_sign_FLOATS);
    CHECK(sc_form_takes(shift, SC_DTYPE_I8) && !sc_form_takes(shift, SC_DTYPE_U8));
    CHECK(!sc_form_takes(shift, SC_DTYPE_BOOL) && !sc_form_takes(shift, SC_DTYPE_F32));
    CHECK(sc_form_takes(sign, SC_DTYPE_BF16) && !sc_form_takes(sign, SC_DTYPE_C64));
    CHECK(sc_form_takes(sc_form_get(SC_FORM_signbit_INTEGERS_AND_BOOL), SC_DTYPE_BOOL));
}
