// Only in portable addons (binding.gyp).
#include "portable/old_glibc.cc"
