// Programs that the official exporter wrote, run on recorded inputs against PyTorch's own outputs:
// every tests/models/official/NAME.pte with a reference NAME.ref.json or NAME.METHOD.ref.json, with
// load-time rewriting and without; NAME_ptd.pte is the same with its weights in a data file.
#include <stdio.h>

#include "harness.h"
#include "rt/replay.h"

static bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

static void replay_one(const char *stem, const char *suffix, bool optimize) {
    const char *dot = strchr(stem, '.');
    char *name = test_format("%.*s", dot ? (int)(dot - stem) : (int)strlen(stem), stem);
    const char *pte = test_path(test_format("models/official/%s%s.pte", name, suffix));
    const char *ptd = test_path(test_format("models/official/%s%s.ptd", name, suffix));
    if (!exists(pte) || !test_case("%s%s%s", stem, suffix, optimize ? "" : " as written")) return;
    replay r = {.pte = pte,
                .ptd = exists(ptd) ? ptd : NULL,
                .method = dot ? dot + 1 : "forward",
                .reference = test_path(test_format("models/%s", stem)),
                .tolerances = test_path("models/tolerance.json"),
                .optimize = optimize};
    if (!replay_run(&r)) FAIL("%s", r.message);
}

TEST_CASES(official_programs) {
    size_t count;
    const char **files = test_list("models", ".ref.json", &count);
    for (size_t i = 0; i < count; i++) {
        const char *base = strrchr(files[i], '/') + 1;
        char *stem = test_format("%.*s", (int)(strlen(base) - strlen(".ref.json")), base);
        replay_one(stem, "", true);
        replay_one(stem, "", false);
        replay_one(stem, "_ptd", true);
    }
}
