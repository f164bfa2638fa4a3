// Bytes as hexadecimal digits and back.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rdmc {

template <size_t N>
std::string toHex(const std::array<uint8_t, N>& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

// False where `text` is not exactly N bytes in lower-case digits.
template <size_t N>
bool fromHex(const std::string& text, std::array<uint8_t, N>& out) {
  if (text.size() != 2 * N || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  for (size_t i = 0; i < N; ++i) out[i] = uint8_t(std::stoul(text.substr(i * 2, 2), nullptr, 16));
  return true;
}

}  // namespace rdmc
