// Named data of all parts of a program: one name stands for one content in one file. Private to
// src/backend.
// Prefix: sc_named_data_ checks all parts for conflicts.
#ifndef SC_NAMED_DATA_H
#define SC_NAMED_DATA_H

#include "backend/backend.h"

// SC_ERR_DELEGATE where two parts give a name different bytes, layouts or files. The message names
// both parts, with their backends, methods and sizes.
sc_status sc_named_data_check(sc_ctx *ctx, const sc_program *program);

#endif
