// `npm run test:sanitize`: the C++ of @rdmc/verbs under sanitizers. Arguments name parts:
//
//   threads   thread sanitizer: a driver of the soft device without Node, both ends in one process
//   planted   the same with a race planted in the shared-memory path, which must be reported
//   memory    address, undefined-behaviour and leak sanitizers, and the order of locks: the same driver
//   addon     the same without leaks: the addon under Node runs the compliance suite and the tests
//   fuzz      libFuzzer with the address sanitizer: the fuzz targets, each for --seconds N (default 30)
//   tidy      clang-tidy, each finding of which is a failure
//   --smoke   threads, planted, memory and fuzz, briefly
//
// Without names: everything.
import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildAddon, buildProgram, USE_ADDON } from '../../packages/verbs/test/native/variant.mjs';
import { fuzz, fuzzNeeds } from './fuzz.mjs';
import { missingPackages, needCommands, root, setUp, stop } from './setup.mjs';
import { tidy } from './tidy.mjs';

const ROUNDS = 100;
const SMOKE_ROUNDS = 10;
const THREAD = ['-O1', '-fsanitize=thread', '-Wno-tsan', '-DRDMC_SHARE_MAPPINGS=1'];
const MEMORY = ['-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
/** Checks the order in which locks are taken. */
const LOCKS = '-DRDMC_CHECK_LOCKS=1';
/** The planted race is in this unit alone, so that no other unit is compiled again. */
const PLANTED = { 'unit_shm.cc': ['-DRDMC_PLANT_RACE=1'] };
const FUZZ_SECONDS = 30;
const SMOKE_FUZZ_SECONDS = 1;
const COMPILER = [['g++', 'g++']];
const TIDY = [['clang-tidy', 'clang-tidy']];

const began = Date.now();
const seconds = () => ((Date.now() - began) / 1000).toFixed(0);

function runProgram(label, program, args, env) {
  const result = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 64 << 20,
  });
  if (result.status !== 0)
    stop(`${label} failed (${result.status ?? result.signal}):\n${result.stdout}${result.stderr}`);
  console.log(`── ${label} … ok (${seconds()} s)`);
}

async function threads(rounds) {
  const driver = await buildProgram('soft-driver', 'soft-driver', THREAD);
  for (const transport of ['shm', 'tcp', 'link']) {
    runProgram(`thread sanitizer, ${transport}`, driver, [transport, String(rounds)], {
      TSAN_OPTIONS: 'halt_on_error=1',
    });
  }
}

async function planted() {
  const driver = await buildProgram('soft-driver-planted', 'soft-driver', THREAD, { special: PLANTED });
  const result = spawnSync(driver, ['shm', String(SMOKE_ROUNDS)], { encoding: 'utf8', maxBuffer: 64 << 20 });
  const found = /WARNING: ThreadSanitizer: data race[\s\S]*ShmWire::publish/.test(result.stderr);
  if (result.status === 0 || !found)
    stop(`The thread sanitizer does not report the planted race:\n${result.stderr}`);
  console.log(`── the planted race is reported … ok (${seconds()} s)`);
}

async function memory(rounds) {
  const driver = await buildProgram('soft-driver', 'soft-driver', [...MEMORY, LOCKS]);
  const env = { UBSAN_OPTIONS: 'print_stacktrace=1' };
  for (const transport of ['shm', 'tcp', 'link']) {
    runProgram(
      `address, undefined and leak sanitizers, ${transport}`,
      driver,
      [transport, String(rounds)],
      env,
    );
  }
}

/** Its process has no descriptor left, and the sanitizer opens a pipe where it looks at the type of an object. */
const WITHOUT_DESCRIPTORS = 'test/soft-exhausted.test.ts';

/** Node keeps allocations until it ends, so only `memory` looks for leaks. */
async function addon() {
  const path = await buildAddon([...MEMORY, LOCKS]);
  const file = spawnSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout.trim();
  const env = {
    ...process.env,
    LD_PRELOAD: realpathSync(file),
    ASAN_OPTIONS: 'detect_leaks=0',
    UBSAN_OPTIONS: 'print_stacktrace=1',
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${USE_ADDON}`,
    RDMC_TEST_ADDON: path,
  };
  const loads = `await (await (await import('@rdmc/verbs')).openDevice({ device: 'soft' })).close();
    process.exit((await import('node:fs')).readFileSync('/proc/self/maps', 'utf8').includes('${path}') ? 0 : 1)`;
  const compliance = join(root, 'packages', 'verbs-compliance');
  const inNode = spawnSync(process.execPath, ['--input-type=module', '-e', loads], { cwd: compliance, env });
  if (inNode.status !== 0) stop(`Node does not load ${path}:\n${inNode.stderr}`);
  for (const [folder, files] of [
    [compliance, ['soft-', 'faults', 'other-device', 'ibverbs-fake']],
    [join(root, 'packages', 'verbs'), ['--exclude', WITHOUT_DESCRIPTORS]],
  ]) {
    console.log(`── address and undefined-behaviour sanitizers under Node: ${folder}`);
    if (files.includes(WITHOUT_DESCRIPTORS))
      console.log(`left out: ${WITHOUT_DESCRIPTORS} [skipped: the sanitizer needs a descriptor]`);
    const run = spawnSync('npx', ['vitest', 'run', ...files], { cwd: folder, env, stdio: 'inherit' });
    if (run.status !== 0) stop(`The tests in ${folder} failed with the sanitized addon.`);
  }
}

const say = (what) => console.log(`── ${what} … ok (${seconds()} s)`);

async function libFuzzer(secondsEach) {
  needCommands('test:sanitize fuzz', fuzzNeeds());
  await fuzz(secondsEach, say);
}

async function clangTidy() {
  needCommands('test:sanitize tidy', TIDY);
  const findings = await tidy();
  if (findings !== '') stop(`clang-tidy:\n${findings}`);
  say('clang-tidy');
}

const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: 'boolean' }, seconds: { type: 'string' } },
});
const fuzzSeconds = Number(values.seconds ?? FUZZ_SECONDS);
if (!Number.isSafeInteger(fuzzSeconds) || fuzzSeconds < 1)
  stop('--seconds must be a whole number of at least 1');

const PARTS = {
  threads: () => threads(ROUNDS),
  planted,
  memory: () => memory(ROUNDS),
  addon,
  fuzz: () => libFuzzer(fuzzSeconds),
  tidy: clangTidy,
};
/** For every push, which does not install another compiler. */
async function smokeFuzz() {
  const missing = missingPackages(fuzzNeeds());
  if (missing.length > 0)
    return console.log(`left out: libFuzzer [to run it: apt-get install ${missing.join(' ')}]`);
  return fuzz(SMOKE_FUZZ_SECONDS, say);
}
const SMOKE = {
  threads: () => threads(SMOKE_ROUNDS),
  planted,
  memory: () => memory(SMOKE_ROUNDS),
  fuzz: smokeFuzz,
};

const unknown = asked.find((name) => !(name in PARTS));
if (unknown) stop(`test:sanitize has no part '${unknown}'; it has ${Object.keys(PARTS).join(', ')}`);
needCommands('test:sanitize', COMPILER);
setUp();
const parts = asked.length > 0 || values.smoke ? {} : { ...PARTS };
if (values.smoke) Object.assign(parts, SMOKE);
for (const name of asked) parts[name] = PARTS[name];
for (const part of Object.values(parts)) await part();
console.log(`── test:sanitize: ${Object.keys(parts).join(', ')} passed (${seconds()} s)`);
