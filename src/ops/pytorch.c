// PyTorch's own list of operators (pytorch.def), of which the table has most.
#include <stdlib.h>

#include "ops/op.h"

// Not a table of pointers, which does not compress.
static const char text[] =
#define VERSION(text)
#define PYTORCH(names) names
#include "ops/pytorch.def"
#undef PYTORCH
#undef VERSION
    ;

static const char version[] =
#define PYTORCH(names)
#define VERSION(text) text
#include "ops/pytorch.def"
#undef VERSION
#undef PYTORCH
    ;

static SC_VEC(const char *) names;  // made by the first question

static void split_text(void) {
    // The last name is followed by its own zero byte and by that of the literal.
    for (const char *at = text; *at; at += strlen(at) + 1) sc_vec_push(sc_ops_arena(), &names, at);
}

uint32_t sc_pytorch_count(void) {
    if (!names.count) split_text();
    return names.count;
}

const char *sc_pytorch_name(uint32_t index) {
    SC_ASSERT(index < sc_pytorch_count());
    return names.data[index];
}

const char *sc_pytorch_version(void) { return version; }

static int compare(const void *name, const void *row) {
    return strcmp(name, *(const char *const *)row);
}

bool sc_op_is_pytorch(const sc_op *op) {
    const uint32_t count = sc_pytorch_count();
    return bsearch(op->name, names.data, count, sizeof *names.data, compare) != NULL;
}
