// Hints for operators that cannot be lowered: the rows of foreign.def, and rules for whole kinds.

#include "base/print.h"
#include "ops/op.h"

static const struct {
    const char *name, *hint;
} foreign[] = {
#define FOREIGN(name, hint) {name, hint},
#include "ops/foreign.def"
#undef FOREIGN
};

enum { NAME_MAX_BYTES = 160 };

// Does a name fit a pattern whose '*' stand for anything?
static bool fits(const char *name, const char *pattern) {
    for (; *pattern && *pattern != '*'; name++, pattern++)
        if (*name != *pattern) return false;
    if (!*pattern) return !*name;
    for (; *name; name++)
        if (fits(name, pattern + 1)) return true;
    return !pattern[1];
}

const char *sc_op_advice_for(const char *name) {
    if (strlen(name) > NAME_MAX_BYTES) return NULL;
    for (size_t i = 0; i < SC_COUNT_OF(foreign); i++)
        if (fits(name, foreign[i].name)) return foreign[i].hint;
    return NULL;
}

const char *sc_op_advice(const sc_op *op) { return sc_op_advice_for(op->name); }

bool sc_op_is_pure(const sc_op *op) {
    static const char *const pure[] = {"aten::result_type.*", "aten::can_cast",
                                       "aten::promote_types", "aten::is_*",
                                       "aten::equal",         "aten::allclose"};
    if (sc_op_has(op, SC_REFUSED) || strlen(op->name) > NAME_MAX_BYTES) return false;
    for (size_t i = 0; i < SC_COUNT_OF(pure); i++)
        if (fits(op->name, pure[i])) return true;
    return false;
}

static const sc_op *find_with(const char *name, size_t bytes, const char *overload) {
    char whole[NAME_MAX_BYTES + 16];
    sc_print(whole, sizeof whole, "%.*s%s", (int)bytes, name, overload);
    return sc_op_find(sc_str_from(whole));
}

const sc_op *sc_op_tensor_form(const sc_op *op) {
    static const char *const forms[][2] = {{".Tensor_Scalar", ".Tensor_Tensor"},
                                           {"pow.Scalar", "pow.Tensor_Tensor"},
                                           {".int_Scalar", ".int_Tensor"},
                                           {".ScalarOther", ".self"},
                                           {".ScalarSelf", ".self"},
                                           {".Scalar", ".Tensor"}};
    const size_t size = strlen(op->name), base = strcspn(op->name, ".");
    const sc_op *found = NULL;
    if (size > NAME_MAX_BYTES || !fits(op->name, "*.*calar*")) return NULL;
    for (size_t i = 0; i < SC_COUNT_OF(forms) && !found; i++)
        if (sc_str_ends_with(sc_str_from(op->name), forms[i][0]))
            found = find_with(op->name, size - strlen(forms[i][0]), forms[i][1]);
    if (!found) found = find_with(op->name, base, ".Tensor");
    return found ? found : find_with(op->name, base, "");
}

const char *sc_op_foreign_hint(const sc_op *op) {
    const char *advice = sc_op_advice(op);
    if (advice) return advice;
    if (sc_op_tensor_form(op)) return "Pass its numbers as tensors, such as torch.tensor(2.0).";
    if (sc_str_starts_with(sc_str_from(op->name), "aten::"))
        return "Write this line with other operators; `sconce operators` lists them.";
    return "Register it with a kernel of your own, replace it by a pass, or give it to a backend "
           "that has it. Or call plain functions of PyTorch here: torch.export looks into those.";
}
