// Programs that the official exporter wrote, run on recorded inputs against PyTorch's own outputs:
// every tests/models/official/NAME.pte with a reference NAME.ref.json or NAME.METHOD.ref.json, with
// load-time rewriting and without, and with the channels of images last nowhere or wherever they
// may be, and packed; NAME_ptd.pte is the same with its weights in a data file.
#include <stdio.h>

#include "harness.h"
#include "rt/replay.h"

static bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

typedef struct way {
    const char *name;
    bool optimize;
    sc_rt_when channels_last;
    bool is_read;  // not in memory before it is loaded
    bool is_packed;
} way;

static const way ways[] = {{"", true, SC_RT_FASTER, false, false},
                           {" packed", true, SC_RT_FASTER, true, true},
                           {" as written", false, SC_RT_FASTER, false, false},
                           {" channels never last", true, SC_RT_NEVER, true, false},
                           {" channels always last", true, SC_RT_ALWAYS, true, false},
                           {" channels always last, packed", true, SC_RT_ALWAYS, false, true}};

static void replay_one(const char *stem, const char *suffix, const way *how) {
    const char *dot = strchr(stem, '.');
    char *name = test_format("%.*s", dot ? (int)(dot - stem) : (int)strlen(stem), stem);
    const char *pte = test_path(test_format("models/official/%s%s.pte", name, suffix));
    const char *ptd = test_path(test_format("models/official/%s%s.ptd", name, suffix));
    if (!exists(pte) || !test_case("%s%s%s", stem, suffix, how->name)) return;
    replay r = {.pte = pte,
                .ptd = exists(ptd) ? ptd : NULL,
                .method = dot ? dot + 1 : "forward",
                .reference = test_path(test_format("models/%s", stem)),
                .tolerances = test_path("models/tolerance.json"),
                .optimize = how->optimize,
                .channels_last = how->channels_last,
                .is_read = how->is_read,
                .is_packed = how->is_packed};
    if (!replay_run(&r)) FAIL("%s", r.message);
}

TEST_CASES(official_programs) {
    size_t count;
    const char **files = test_list("models", ".ref.json", &count);
    for (size_t i = 0; i < count; i++) {
        const char *base = strrchr(files[i], '/') + 1;
        char *stem = test_format("%.*s", (int)(strlen(base) - strlen(".ref.json")), base);
        for (size_t k = 0; k < SC_COUNT_OF(ways); k++) replay_one(stem, "", &ways[k]);
        for (size_t k = 0; k < 2; k++) replay_one(stem, "_ptd", &ways[k]);
    }
}
