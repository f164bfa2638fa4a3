// Lets the addon load where glibc is as old as 2.28, although a newer one was there when it was linked. A symbol of glibc
// has a version, and the linker takes the newest: an addon linked with glibc 2.36 would need 2.36. Of each function below
// there is an older version with the same behaviour. The linker's --wrap leads every use to it, also uses in the static
// libraries of the compiler. binding.gyp has the same names; glibc.mjs of the release checks the linked file.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#ifndef __GLIBC__
#error "A portable addon is linked with glibc. Build it without --portable."
#endif

// The first glibc of each architecture, and how a function continues in another with the same arguments.
#if defined(__x86_64__)
#define RDMC_FIRST_VERSION "GLIBC_2.2.5"
#define RDMC_NAMES_THREADS "GLIBC_2.12"
#define RDMC_CONTINUE_IN(name) "jmp " name "@PLT"
#elif defined(__aarch64__)
#define RDMC_FIRST_VERSION "GLIBC_2.17"
#define RDMC_NAMES_THREADS "GLIBC_2.17"
#define RDMC_CONTINUE_IN(name) "b " name
#else
#error "A portable addon is for x86-64 or arm64. Build it without --portable."
#endif

// NOLINTBEGIN(bugprone-macro-parentheses): names of symbols
#define RDMC_OLD_VERSION(name, version)                                     \
  __asm__(".pushsection .text\n"                                            \
          ".symver rdmc_old_" #name "," #name "@" version "\n"              \
          ".globl __wrap_" #name "\n"                                       \
          ".hidden __wrap_" #name "\n"                                      \
          ".type __wrap_" #name ",%function\n"                              \
          "__wrap_" #name ":\n" RDMC_CONTINUE_IN("rdmc_old_" #name) "\n"    \
          ".size __wrap_" #name ", . - __wrap_" #name "\n"                  \
          ".popsection\n")
// NOLINTEND(bugprone-macro-parentheses)

// Until 2.34 these stood in libdl and libpthread, which Node has loaded.
RDMC_OLD_VERSION(dladdr, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(dlerror, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(dlopen, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(dlvsym, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_create, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_detach, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_join, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(__pthread_key_create, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_once, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_rwlock_rdlock, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_rwlock_unlock, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_rwlock_wrlock, RDMC_FIRST_VERSION);
RDMC_OLD_VERSION(pthread_setname_np, RDMC_NAMES_THREADS);
RDMC_OLD_VERSION(pthread_sigmask, RDMC_FIRST_VERSION);

namespace {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
/** The loaded object that has an address; what _dl_find_object needs to know of it. */
struct Search {
  uintptr_t address;
  dl_find_object* found;
};

/** Called for each loaded object; other than 0 ends the search. */
int lookInto(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool inside = false;
  void* frames = nullptr;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<void*>(begin);
    if (part.p_type != PT_LOAD || search.address < begin || search.address - begin >= part.p_memsz) continue;
    inside = true;
    search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
    search.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
  }
  if (!inside) return 0;
  search.found->dlfo_eh_frame = frames;
  return frames ? 1 : -1;
}
#endif
}  // namespace

// Unwinding begins with these; the names are those of glibc with the linker's prefix.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
#define RDMC_HERE_ALONE __attribute__((visibility("hidden")))

/** False is always right; with more than one thread, which Node has, true would be wrong. */
RDMC_HERE_ALONE char __wrap___libc_single_threaded = 0;

/** The kernel's structure is glibc's on both architectures. */
RDMC_HERE_ALONE int __wrap_fstat64(int fd, struct stat64* into) { return int(::syscall(SYS_fstat, fd, into)); }

RDMC_HERE_ALONE int __wrap_stat64(const char* path, struct stat64* into) {
  return int(::syscall(SYS_newfstatat, AT_FDCWD, path, into, 0));
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/** Of glibc 2.35, for the compiler's unwinder: the object of a return address. */
RDMC_HERE_ALONE int __wrap__dl_find_object(void* address, dl_find_object* found) {
  *found = {};
  Search search{reinterpret_cast<uintptr_t>(address), found};
  return ::dl_iterate_phdr(lookInto, &search) == 1 ? 0 : -1;
}
#endif
}
// NOLINTEND(bugprone-reserved-identifier)
