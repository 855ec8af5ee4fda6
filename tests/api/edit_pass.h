// Shared by the tests of src/api/edit: a program, a pass over it, and changes by their JSON.
// Prefix: pass_ opens, runs or checks.
#ifndef EDIT_PASS_H
#define EDIT_PASS_H

#include "api/edit/edit.h"

typedef void pass_body(sc_job *job);

// A job whose program 0 has the text; it counts as an edge program.
sc_job *pass_open(const char *text);
// The status of transform by a pass of the host, which makes program `made`.
sc_status pass_transform(sc_job *job, pass_body *pass, uint32_t *made);
// The same for the first method as it was opened, in place: a pass before decomposition.
sc_status pass_run_early(sc_job *job, pass_body *pass);

// The answer to a change that must succeed.
sc_str pass_change(sc_job *job, const char *json);
// Checks that a change fails with the code, and with a message that has those words.
void pass_refuse(sc_job *job, const char *json, sc_status code, const char *message);
// Checks that the text of a program has the line.
void pass_check_text(sc_job *job, uint32_t program, const char *line);

#endif
