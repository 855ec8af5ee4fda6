// Declarations that the inspector's files share. Private to src/devtools/inspect.
// Prefix: sc_inspect_ is one step from a dump to its blocks and nodes.
#ifndef SC_INSPECT_INTERNAL_H
#define SC_INSPECT_INTERNAL_H

#include "devtools/inspect/inspect.h"

// Makes the blocks of a dump (merge.c).
sc_status sc_inspect_merge(sc_inspection *in);

// State of matching and correlating: results so far, and the work done.
typedef struct sc_inspect_correlating {
    sc_inspection *in;
    uint64_t work;   // events, ids and nodes looked at so far
    uint64_t nodes;  // nodes in lists so far
    sc_map found;    // ids by instruction, and lists of nodes by method and handles
} sc_inspect_correlating;

// Finds the method of every block (match.c). If `asked` is not empty, only blocks that fit that
// method get one.
sc_status sc_inspect_match(sc_inspect_correlating *c, sc_str asked);
// Finds the nodes of every event (correlate.c). SC_ERR_LIMIT if either function would take too
// long.
sc_status sc_inspect_correlate(sc_inspect_correlating *c);

// Counts work. False if it is too much; then the search must end.
bool sc_inspect_may_work(sc_inspect_correlating *c, uint64_t work);
// The instruction with this number, or NULL.
const sc_inspect_instruction *sc_inspect_instruction_at(const sc_inspect_method *method,
                                                        int64_t index);
// "add" for the event "native_call_add.out"; empty if the event names no kernel.
sc_str sc_inspect_kernel_of(const sc_inspect_event *e);
// "add" for "aten.add.Tensor".
sc_str sc_inspect_base_of(sc_str op);
// Finds the entry for a delegate's event: the one with its id, or else the longest id that the
// event's id extends.
const sc_inspect_delegate_id *sc_inspect_find_id(sc_inspect_correlating *c,
                                                 const sc_inspect_instruction *at, sc_str id);

#endif
