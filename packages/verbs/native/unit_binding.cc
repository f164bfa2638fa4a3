// The binding to JavaScript, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "addon.cc"
#include "binding_device.cc"
#include "binding_fd.cc"
#include "binding_queue.cc"
#include "binding_region.cc"
#include "copy_benchmark.cc"
