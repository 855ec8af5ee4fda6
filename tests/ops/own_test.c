// Operators of the user's own: what their schemas may say, the names of their variants, and how
// lookups find them.
#include "ops/own.h"

#include "setup.h"

typedef struct reading {
    const char *schema, *overload, *out;  // out: the variant, or what is said of a wrong text
    sc_status status;
} reading;

static void check_reading(const reading *row) {
    setup s;
    sc_op op = {0};
    setup_begin(&s);
    const sc_status status =
        sc_own_read(&s.ctx, &s.arena, sc_str_from(row->schema), sc_str_from(row->overload), &op);
    CHECK_STATUS(status, row->status);
    CHECK_EQ_STR(status == SC_OK ? op.out_name : setup_message(&s), row->out);
    setup_end(&s);
}

TEST(a_schema_names_its_variant) {
    static const reading rows[] = {
        {"mylib::scale(Tensor x) -> Tensor", "", "mylib::scale.out", SC_OK},
        {"mylib::scale.default(Tensor x) -> Tensor", "", "mylib::scale.out", SC_OK},
        {"mylib::scale.Scalar(Tensor x, Scalar s) -> Tensor", "", "mylib::scale.Scalar_out", SC_OK},
        {"mylib::scale.Scalar(Tensor x) -> Tensor", "to", "mylib::scale.to", SC_OK},
        {"a::b(Tensor[] xs, Tensor?[] ys, Tensor? z=None, *, SymInt n, int[2] k=1, float f=2., "
         "bool b=False, str s='x', ScalarType? d=None, float[] fs=[], Scalar c=1) -> (Tensor a, "
         "Tensor b)",
         "", "a::b.out", SC_OK},
        {"a::b() -> Tensor", "", "a::b.out", SC_OK},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) check_reading(&rows[i]);
}

TEST(a_wrong_schema_says_what_is_wrong) {
    static const reading rows[] = {
        {"scale(Tensor x) -> Tensor", "",
         "the name of an operator is namespace::name or namespace::name.overload, not 'scale'",
         SC_ERR_ARGUMENT},
        {"my-lib::scale(Tensor x) -> Tensor", "",
         "the name of an operator is namespace::name or namespace::name.overload, not "
         "'my-lib::scale'",
         SC_ERR_ARGUMENT},
        {"sym::scale(Tensor x) -> Tensor", "", "the namespace of 'sym::scale' is reserved",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor x) -> Tensor", "a.b", "'a.b' is not the overload of an out variant",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor x) -> Tensor", "default", "'default' is not the overload of an out variant",
         SC_ERR_ARGUMENT},
        {"", "", "operator schema: expected a name and '(' at byte 0 of ''", SC_ERR_ARGUMENT},
        {"a::b(Tensor x", "", "operator schema: expected ',' or ')' at byte 13 of 'a::b(Tensor x'",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor x) -> Tensor;", "",
         "operator schema: expected the end at byte 24 of 'a::b(Tensor x) -> Tensor;'",
         SC_ERR_ARGUMENT},
        {"a::b(Thing x) -> Tensor", "",
         "operator schema: expected a type at byte 10 of 'a::b(Thing x) -> Tensor'",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor x, Tensor x) -> Tensor", "", "a::b: the parameter 'x' comes twice",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor 1x) -> Tensor", "", "a::b: the parameter '1x' has a name that is no word",
         SC_ERR_ARGUMENT},
        {"a::b(int n='x') -> Tensor", "", "a::b: the parameter 'n' has a default of another type",
         SC_ERR_ARGUMENT},
        {"a::b(Tensor x=None) -> Tensor", "", "a::b: the parameter 'x' may not be None",
         SC_ERR_ARGUMENT},
        {"a::b(int n=1, Tensor x) -> Tensor", "",
         "a::b: the parameter 'x' has no default, but the one before it has", SC_ERR_ARGUMENT},
        {"a::b(Tensor(a!) x) -> Tensor", "",
         "a::b writes to an operand or returns a view of one, as its marks say: only operators "
         "that compute new tensors are supported",
         SC_ERR_UNSUPPORTED},
        {"a::b(Tensor(a) x) -> Tensor(a)", "",
         "a::b writes to an operand or returns a view of one, as its marks say: only operators "
         "that compute new tensors are supported",
         SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x) -> ()", "", "a::b has no result", SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x) -> Tensor[]", "", "a::b: result 0 is not a tensor", SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x) -> (Tensor, SymInt)", "", "a::b: result 1 is not a tensor",
         SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x, Device d) -> Tensor", "",
         "a::b: a .pte file cannot store the type of the parameter 'd'", SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x, str[] d) -> Tensor", "",
         "a::b: a .pte file cannot store the type of the parameter 'd'", SC_ERR_UNSUPPORTED},
        {"a::b(Tensor x\t) -> Tensor", "",
         "the schema of an operator has a byte that is no ASCII text, at 13", SC_ERR_ARGUMENT},
        {"a::"
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
         "bb"
         "bbbbbbbbbbb(Tensor x) -> Tensor",
         "",
         "a::"
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
         "bb"
         "bbbbbbbbbbb.out has more than 99 characters, the most that a .pte file can store",
         SC_ERR_LIMIT},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) check_reading(&rows[i]);
}

TEST(lookups_find_what_is_registered) {
    setup s;
    setup_begin(&s);
    REQUIRE_OK(sc_ops_init());
    const sc_str schema = SC_STR("mine::turn.Scalar(Tensor x, Scalar s=1) -> Tensor");
    CHECK(!sc_op_find(SC_STR("mine::turn.Scalar")));
    REQUIRE_OK(sc_own_add(&s.ctx, schema, (sc_str){0}, NULL));
    const sc_op *op = sc_op_find(SC_STR("mine::turn.Scalar"));
    REQUIRE(op != NULL);
    CHECK(sc_op_has(op, SC_OWN) && !sc_op_has(op, SC_RUNS));
    CHECK(sc_op_find_out(SC_STR("mine::turn"), SC_STR("Scalar_out")) == op);
    CHECK(sc_op_find_python(SC_STR("mine.turn.Scalar")) == op);
    CHECK(!sc_op_find(SC_STR("mine::turn_.Scalar")));  // nobody said that it writes in place
    CHECK_STATUS(sc_own_add(&s.ctx, schema, (sc_str){0}, NULL), SC_ERR_ARGUMENT);
    CHECK_EQ_STR(setup_message(&s),
                 "an operator mine::turn.Scalar, or its variant mine::turn.Scalar_out, is known "
                 "already");
    CHECK_STATUS(sc_own_add(&s.ctx, SC_STR("aten::relu(Tensor x) -> Tensor"), (sc_str){0}, NULL),
                 SC_ERR_ARGUMENT);
    CHECK_STATUS(
        sc_own_add(&s.ctx, SC_STR("aten::relu.other(Tensor x) -> Tensor"), SC_STR("out"), NULL),
        SC_ERR_ARGUMENT);
    setup_end(&s);
}
