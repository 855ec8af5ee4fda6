// What to do about operators that the table lacks and their authors can leave out.
#include "ops/op.h"

static const struct {
    const char *name, *hint;
} foreign[] = {
#define FOREIGN(name, hint) {name, hint},
#include "ops/foreign.def"
#undef FOREIGN
};

const char *sc_op_foreign_hint(const sc_op *op) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (sc_str_is(sc_str_from(op->name), foreign[i].name)) return foreign[i].hint;
    return "Rewrite this line with other operators of PyTorch.";
}
