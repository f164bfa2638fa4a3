// The soft device's TCP transport, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "tcp_dialler.cc"
#include "tcp_greeting.cc"
#include "tcp_inbox.cc"
#include "tcp_listener.cc"
#include "tcp_nic.cc"
#include "tcp_requester.cc"
#include "tcp_responder.cc"
#include "tcp_responder_output.cc"
#include "tcp_send_window.cc"
#include "tcp_socket.cc"
#include "tcp_transport.cc"
#include "tcp_wire.cc"
