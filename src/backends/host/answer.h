// Reading what a host answered: JSON whose ranges [offset, size] mean the bytes beside it.
#ifndef SC_HOST_ANSWER_H
#define SC_HOST_ANSWER_H

#include "backends/host/host.h"
#include "format/json.h"

sc_status sc_ask_parse(sc_ask *ask, const sc_json **json);
// The bytes that a range means; false when there are none.
bool sc_ask_range(const sc_ask *ask, const sc_json *range, const uint8_t **bytes, uint64_t *size);
// Of an answer that is not what was asked for.
sc_status sc_ask_malformed(const sc_ask *ask, const sc_host_backend *host, const char *what);
void sc_ask_put_bytes(sc_json_writer *w, const char *key, const void *bytes, uint64_t size);

#endif
