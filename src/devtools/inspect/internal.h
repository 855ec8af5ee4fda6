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
    uint64_t work;   // events, ids and nodes that were looked at
    uint64_t nodes;  // in lists
    sc_map found;    // ids by instruction, and lists of nodes by method and handles
} sc_inspect_correlating;

// Says of every block which method it is of (match.c). `asked`: the one that those are of which fit
// it; empty: all that there are.
sc_status sc_inspect_match(sc_inspect_correlating *c, sc_str asked);
// Says of every event what it stands for (correlate.c). SC_ERR_LIMIT where either would cost too
// much.
sc_status sc_inspect_correlate(sc_inspect_correlating *c);

// Counts the work; false once it is too much, and then nothing more may be looked at.
bool sc_inspect_may_work(sc_inspect_correlating *c, uint64_t work);
// NULL: the method has none of this number.
const sc_inspect_instruction *sc_inspect_instruction_at(const sc_inspect_method *method,
                                                        int64_t index);
// "add" of the event "native_call_add.out"; empty where an event names no kernel.
sc_str sc_inspect_kernel_of(const sc_inspect_event *e);
// "add" of "aten.add.Tensor".
sc_str sc_inspect_base_of(sc_str op);
// The entry for a delegate's event by its id: the one of that id; else the longest one that the
// backend has added something to.
const sc_inspect_delegate_id *sc_inspect_find_id(sc_inspect_correlating *c,
                                                 const sc_inspect_instruction *at, sc_str id);

#endif
