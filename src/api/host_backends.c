// Backends that the host has registered. They belong to the process, like the module to an engine,
// because files name backends and know no jobs.
//
// Compile specs always exist while a part is compiled. They belong to the partitioner or tag that
// the part comes from; the list may be empty.
#include "api/backends.h"
#include "api/job.h"
#include "backends/host/aot/host_aot.h"
#include "backends/host/run/host_run.h"

enum { HOSTED_MAX = 64, ID_BYTES_MAX = 255 };

typedef struct hosted {
    sc_hosted both;
    sc_host_backend host;
    char id[ID_BYTES_MAX + 1];
} hosted;

static hosted *rows[HOSTED_MAX];
static uint32_t count;

const sc_hosted *sc_hosted_at(uint32_t index) { return index < count ? &rows[index]->both : NULL; }

sc_status sc_hosted_add(sc_ctx *ctx, const sc_host_backend *backend) {
    const sc_str id = backend->id;
    if (id.size == 0 || id.size > ID_BYTES_MAX || memchr(id.data, 0, id.size))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it a short id that no other backend has.",
                       "the id of a backend must be text of 1 to %d bytes", ID_BYTES_MAX);
    if (count == HOSTED_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "the host has registered %d backends already, which is the most",
                       HOSTED_MAX);
    hosted *made = sc_try_alloc(sizeof *made);
    if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a backend");
    *made = (hosted){.host = *backend};
    memcpy(made->id, id.data, id.size);
    made->host.id = (sc_str){made->id, id.size};
    made->both = (sc_hosted){sc_host_aot(&made->host), sc_host_run(&made->host)};
    rows[count++] = made;
    return SC_OK;
}
