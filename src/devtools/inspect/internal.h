// What the files of the inspector share. Private to src/devtools/inspect.
#ifndef SC_INSPECT_INTERNAL_H
#define SC_INSPECT_INTERNAL_H

#include "devtools/inspect/inspect.h"

// Makes the blocks of a dump (merge.c).
sc_status sc_inspect_merge(sc_inspection *in);
// Says of every block which method it is of, and of every event what it stands for
// (correlate.c).
sc_status sc_inspect_correlate(sc_inspection *in, sc_str asked);

#endif
