#include "core/copy.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rdmc {
namespace {

// Between two units: on x86 stores become visible in program order, so that a compiler barrier is enough; elsewhere the
// processor needs a fence.
inline void unitBarrier() {
#if defined(__x86_64__)
  asm volatile("" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb ishst" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

// Less than one unit, byte runs in increasing order.
inline void copySmall(uint8_t* to, const uint8_t* from, size_t length) {
  while (length >= 8 && (reinterpret_cast<uintptr_t>(to) & 7) == 0) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    *reinterpret_cast<volatile uint64_t*>(to) = word;
    to += 8;
    from += 8;
    length -= 8;
  }
  for (; length > 0; --length) *const_cast<volatile uint8_t*>(to++) = *from++;
}

void copyUnitsPlain(uint8_t* to, const uint8_t* from, size_t units) {
  for (; units > 0; --units, to += 64, from += 64) {
    std::memcpy(to, from, 64);
    unitBarrier();
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void copyUnitsAvx2(uint8_t* to, const uint8_t* from, size_t units) {
  for (; units > 0; --units, to += 64, from += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), high);
    unitBarrier();
  }
}
using CopyUnits = void (*)(uint8_t*, const uint8_t*, size_t);
const CopyUnits copyUnits = __builtin_cpu_supports("avx2") ? copyUnitsAvx2 : copyUnitsPlain;
#else
constexpr auto copyUnits = copyUnitsPlain;
#endif

}  // namespace

void copyOrdered(uint8_t* to, const uint8_t* from, size_t length) {
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) & 63;
  if (misaligned != 0) {
    const size_t head = std::min(length, 64 - misaligned);
    // Inside one unit any order is allowed; the copy ends where the next unit begins.
    if (head >= 16) {
      std::memcpy(to, from, head);
    } else {
      copySmall(to, from, head);
    }
    unitBarrier();
    to += head;
    from += head;
    length -= head;
  }
  const size_t units = length / 64;
  if (units > 0) copyUnits(to, from, units);
  copySmall(to + units * 64, from + units * 64, length % 64);
}

void copyAnyOrder(uint8_t* to, const uint8_t* from, size_t length) { std::memcpy(to, from, length); }

}  // namespace rdmc
