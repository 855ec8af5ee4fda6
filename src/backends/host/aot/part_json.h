// Parts as the host sees them: JSON with the nodes, the constants, the signature, and the ranges of
// the sizes. Private to src/backends/host/aot.
// Prefix: sc_host_ (host of the library) is a backend of the host; here it writes JSON for a
// question.
#ifndef SC_HOST_PART_JSON_H
#define SC_HOST_PART_JSON_H

#include "backend/backend.h"
#include "format/json.h"

// Members of an object that is open.
void sc_host_put_nodes(sc_json_writer *w, sc_arena *scratch, const sc_graph *graph);
void sc_host_put_specs(sc_json_writer *w, const sc_compile_spec *specs, uint32_t count);
// [{"method", "parts": [...]}]
void sc_host_add_methods(sc_json_writer *w, sc_arena *scratch, const sc_method_parts *methods,
                         uint32_t count);

#endif
