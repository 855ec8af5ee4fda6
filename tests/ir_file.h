// Test files of which what stands above a line "----" goes in, and what stands below must come out;
// --update rewrites what stands below.
#ifndef IR_FILE_H
#define IR_FILE_H

#include "setup.h"

typedef struct ir_file {
    const char *path;  // relative to tests/
    char *text;        // the whole
    sc_str input;
    const char *expected;
} ir_file;

static inline ir_file ir_file_open(const char *path) {
    size_t bytes;
    char *text = test_read(path, &bytes);
    const char *divider = strstr(text, "\n----\n");
    const sc_str input = {text, divider ? (size_t)(divider + 1 - text) : bytes};
    return (ir_file){path, text, input, divider ? divider + 6 : ""};
}

static inline void ir_file_check(const ir_file *file, const char *result) {
    if (test_updating()) {
        char *all = test_format(SC_STR_FMT "----\n%s", SC_STR_ARG(file->input), result);
        test_write(file->path, all, strlen(all));
    } else {
        CHECK_EQ_STR(result, file->expected);
    }
}

// Everything that was said: code, where, message, hint.
static inline void setup_print_diags(sc_sb *sb, const setup *s) {
    for (uint32_t i = 0; i < s->ctx.diags.count; i++) {
        const sc_diag *diag = &s->ctx.diags.data[i];
        sc_sb_addf(sb, "%s in " SC_STR_FMT "/" SC_STR_FMT ": " SC_STR_FMT "\n  " SC_STR_FMT "\n",
                   sc_status_slug(diag->code), SC_STR_ARG(diag->where.method),
                   SC_STR_ARG(diag->where.node), SC_STR_ARG(diag->message), SC_STR_ARG(diag->hint));
    }
}

#endif
