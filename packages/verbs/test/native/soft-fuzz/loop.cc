// Where there is no libFuzzer: runs every input of a corpus, and then changed ones for some seconds.
//   soft-fuzz CORPUS SECONDS SEED      or one input again: soft-fuzz FILE
// Prints the seed first. The input that is running is in RDMC_FUZZ_INPUT (a file), so that what crashes can be kept.
#if !RDMC_LIBFUZZER
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

namespace {

using Input = std::vector<unsigned char>;
constexpr size_t kMaxBytes = 4096;

Input readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

void run(const Input& input) {
  if (const char* path = std::getenv("RDMC_FUZZ_INPUT")) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()), std::streamsize(input.size()));
  }
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

// A few changes of the kinds that find most: bits, bytes, edges of ranges, pieces left out, repeated or taken from
// another.
Input changed(Input input, const std::vector<Input>& all, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  constexpr unsigned char kEdges[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 16, 64};
  for (size_t changes = 1 + below(6); changes > 0; --changes) {
    if (input.size() < 2) input.resize(2 + below(64));
    const size_t at = 1 + below(input.size() - 1);
    const size_t length = below(std::min<size_t>(input.size() - at, 64) + 1);
    const auto from = input.begin() + std::ptrdiff_t(at);
    switch (random() % 6) {
      case 0:
        input[at] ^= static_cast<unsigned char>(1u << below(8));
        break;
      case 1:
        input[at] = kEdges[below(sizeof kEdges)];
        break;
      case 2:
        for (size_t i = at; i < std::min(at + 4, input.size()); ++i) input[i] = static_cast<unsigned char>(random());
        break;
      case 3:
        input.erase(from, from + std::ptrdiff_t(length));
        break;
      case 4: {
        const Input piece(from, from + std::ptrdiff_t(length));
        input.insert(from, piece.begin(), piece.end());
        break;
      }
      default: {
        const Input& other = all[below(all.size())];
        const size_t start = below(other.size());
        input.insert(from, other.begin() + std::ptrdiff_t(start), other.end());
      }
    }
    if (input.size() > kMaxBytes) input.resize(kMaxBytes);
  }
  return input;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2) {
    run(readFile(arguments[1]));
    return 0;
  }
  if (count != 4) {
    std::fprintf(stderr, "usage: soft-fuzz CORPUS SECONDS SEED | FILE\n");
    return 2;
  }
  const double seconds = std::atof(arguments[2]);
  std::mt19937 random(static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10)));
  std::printf("soft-fuzz: seed %s\n", arguments[3]);
  std::fflush(stdout);
  std::vector<Input> all;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    all.push_back(readFile(file));
    run(all.back());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t runs = all.size();
  for (; std::chrono::steady_clock::now() < end; ++runs) run(changed(all[random() % all.size()], all, random));
  std::printf("soft-fuzz: %zu inputs\n", runs);
  return 0;
}
#endif
