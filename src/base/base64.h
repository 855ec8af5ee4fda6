// Bytes as the text that JSON can hold: RFC 4648, with padding, without line breaks.
// Prefix: sc_base64_ decodes text; sc_source_base64 encodes bytes when they are read.
#ifndef SC_BASE64_H
#define SC_BASE64_H

#include "base/source.h"

// `base` as text, made of it when it is read.
sc_source *sc_source_base64(sc_arena *arena, sc_extent base);
// The bytes of a text; SC_ERR_FORMAT when it is none. `what` names it in messages.
sc_status sc_base64_decode(sc_ctx *ctx, sc_arena *arena, sc_str text, const char *what,
                           sc_str *out);

#endif
