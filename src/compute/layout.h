// A name for the order of packed weights in this build. Weights that one build has packed can be
// used by any other that gives the same name.
#ifndef SC_COMPUTE_LAYOUT_H
#define SC_COMPUTE_LAYOUT_H

// Raise the number when a row of variants.def packs in another order, or other rows are chosen.
#define SC_COMPUTE_LAYOUT 1

const char *sc_compute_layout(void);

#endif
