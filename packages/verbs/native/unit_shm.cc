// The soft device's shared-memory transport, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "link_message.cc"
#include "link_outbox.cc"
#include "peer_link.cc"
#include "shm_greeting.cc"
#include "shm_socket.cc"
#include "shm_steps.cc"
#include "shm_transport.cc"
#include "shm_transport_outgoing.cc"
#include "shm_window.cc"
#include "shm_wire.cc"
