// A member of the table DelegateCall that only this project writes: the number of leading arguments
// that are inputs, plus one. No other member states it, and the bytes of a host's backend may be
// anything. Readers of FlatBuffers skip unknown members.
// Prefix: SC_DELEGATE_CALL_ names the slot of a member in that table.
#ifndef SC_DELEGATE_CALL_H
#define SC_DELEGATE_CALL_H

enum { SC_DELEGATE_CALL_INPUTS = 16 };

#endif
