// Official programs with parts for XNNPACK, run on recorded inputs against PyTorch's own outputs:
// tests/models/xnnpack/NAME.pte by every reference of that name.
#include "harness.h"
#include "rt/backend.h"
#include "rt/replay.h"

extern const sc_rt_backend sc_rt_backend_xnnpack;

static const sc_rt_backend *find_xnnpack(void *user, sc_str id) {
    (void)user;
    return sc_str_is(id, "XnnpackBackend") ? &sc_rt_backend_xnnpack : NULL;
}

static void replay_all(const char *folder, const char *name, const char *pte, bool is_packed) {
    static const sc_rt_backends backends = {.find = find_xnnpack};
    size_t count;
    const char **files = test_list(folder, ".ref.json", &count);
    for (size_t i = 0; i < count; i++) {
        const char *base = strrchr(files[i], '/') + 1, *stem_end = strstr(base, ".ref.json");
        size_t length = strlen(name);
        if (strncmp(base, name, length) != 0 || base[length] != '.') continue;
        char *stem = test_format("%.*s", (int)(stem_end - base), base);
        const char *way = is_packed ? " packed" : "";
        if (!test_case("%s%s", stem, way)) continue;
        replay r = {.pte = test_path(pte),
                    .backends = &backends,
                    .method = stem[length] ? stem + length + 1 : "forward",
                    .reference = test_path(test_format("%s/%s", folder, stem)),
                    .tolerances = test_path("models/tolerance.json"),
                    .optimize = true,
                    .is_packed = is_packed};
        if (!replay_run(&r)) FAIL("%s", r.message);
    }
}

TEST_CASES(xnnpack_programs_of_the_official_exporter) {
    size_t count;
    const char **ptes = test_list("models/xnnpack", ".pte", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        const char *base = strrchr(ptes[i], '/') + 1;
        char *name = test_format("%.*s", (int)(strlen(base) - strlen(".pte")), base);
        for (int packed = 0; packed < 2; packed++) {
            replay_all("models", name, ptes[i], packed);
            replay_all("models/xnnpack", name, ptes[i], packed);
        }
    }
}
