// Runs a .pte on recorded inputs and compares with recorded outputs: NAME.ref.json names dtype,
// shape and place of every tensor in NAME.ref.bin; cases run in order with the program's state
// carried on.
#ifndef REPLAY_H
#define REPLAY_H

#include "rt/rt.h"

typedef struct replay {
    const char *pte;                 // full paths
    sc_source *program;              // instead of `pte`, when it is in memory
    sc_source *data;                 // instead of `ptd`
    const sc_rt_backends *backends;  // or NULL
    const char *ptd;                 // or NULL
    const char *method;
    const char *reference;   // without .ref.json
    const char *tolerances;  // tests/models/tolerance.json
    bool optimize;
    sc_rt_when channels_last;
    bool is_read;       // as a file is, so that constants are in memory of their own
    bool is_packed;     // saved as a packed file, which is then opened
    char message[512];  // what went wrong
} replay;

// False and a message when anything fails or differs.
bool replay_run(replay *r);

#endif
