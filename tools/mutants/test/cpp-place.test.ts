import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeEach, expect, test } from 'vitest';
import { cppFunctions } from '../src/cpp-functions.js';
import { cppTokens } from '../src/cpp-tokens.js';
import type { Mutant } from '../src/mutant.js';
import { Sources } from '../src/place.js';
import { StaleMutant } from '../src/stale.js';

const SOURCE = String.raw`#pragma once
#define TWO(a) \
  a a
namespace rdmc {
namespace {
constexpr int kTable[] = {1, 2};
bool free(int count) { return count >= 1; }  // count > 3
}  // namespace
enum class Kind : int { kOne };
struct Facts {
  uint64_t length = 0;
  bool permits(uint64_t from) const { return from /* from <= 0 */ <= length; }
};
template <typename T>
class Wire final : public Base {
 public:
  explicit Wire(int depth) : depth_{depth}, size_(0) { start('}'); }
  ~Wire() { stop("\"}"); }
  Wire& operator=(Wire&&) = delete;
  bool enter();
  std::function<void(int)> done_;
 private:
  int depth_{};
};
template <typename T>
bool Wire<T>::leave() noexcept { return false; }
bool ShmWire::enter(uint32_t index, int mode = 3) {
  if (!connected()) return false;
  const auto twice = [&](int x) { return x << 1; };
  busy.exchange(++busyCount_);
  if (connected()) return true;
  return false;
}
}  // namespace rdmc
`;

let root: string;

beforeEach(() => {
  root = temporaryDirectory('rdmc-place');
  for (const folder of ['soft/shm', 'build/copy']) {
    mkdirSync(join(root, 'packages/x/native', folder), { recursive: true });
    writeFileSync(join(root, 'packages/x/native', folder, 'wire.cc'), SOURCE);
  }
});

const place = (name: string, find: string, replace: string) => {
  const mutant: Mutant = {
    ...{ id: 'x/y', package: 'packages/x', language: 'C++', function: name },
    ...{ find, replace, fault: '', tests: [] },
  };
  return new Sources(root).place(mutant);
};

test('functions are found with their classes, and without namespaces', () => {
  expect(cppFunctions(cppTokens(SOURCE)).map(({ name }) => name)).toEqual([
    'free',
    'Facts::permits',
    'Wire::Wire',
    'Wire::~Wire',
    'leave',
    'ShmWire::enter',
  ]);
});

test.each([
  ['free', 'count>=1', 'true', '{ return true; }  // count > 3'],
  ['Facts::permits', 'from <= length', 'true', 'return true;'],
  ['Wire::Wire', "start('}');", '', 'size_(0) {  }'],
  ['ShmWire::enter', 'if (connected()) return true;', 'return true;', ';\n  return true;\n  return false;'],
  ['ShmWire::enter', 'x<<1', 'x', 'return x;'],
])('%s: «%s» becomes «%s»', (name, find, replace, expected) => {
  const { file, mutated } = place(name, find, replace);
  expect(file).toBe('packages/x/native/soft/shm/wire.cc');
  expect(mutated).toContain(expected);
});

test.each([
  ['a function that is not there', 'ShmWire::leave', 'true'],
  ['a declaration', 'Wire::enter', 'true'],
  ['a condition that is not there', 'ShmWire::enter', 'connected(1)'],
  ['a condition in a comment', 'free', 'count > 3'],
  ['a condition that stands twice', 'ShmWire::enter', 'connected()'],
  ['nothing', 'ShmWire::enter', ' // nothing'],
])('%s is stale', (_what, name, find) => {
  expect(() => place(name, find, 'x')).toThrow(StaleMutant);
});
