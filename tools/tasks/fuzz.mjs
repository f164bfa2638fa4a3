// The C++ fuzz targets under libFuzzer and the address sanitizer: each of them for some seconds, from its part of the
// corpus in packages/verbs/test/native/corpus. A failed input is kept in a temporary folder, which the message names.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../../packages/verbs/test/native/variant.mjs';
import { root, stop } from './setup.mjs';

/** In the order of packages/verbs/test/native/soft-fuzz/targets.h: the first byte of an input chooses one. */
const TARGETS = [
  'TCP listener',
  'TCP peer',
  'Unix socket',
  'control segment',
  'TCP listener with a key',
  'TCP dialler with a key',
  'Unix socket with a key',
  'Unix dialler',
];
const CORPUS = join(root, 'packages', 'verbs', 'test', 'native', 'corpus');
const FLAGS = ['-O1', '-fsanitize=fuzzer,address', '-DRDMC_LIBFUZZER=1'];
/** Time limit; an input takes milliseconds. */
const INPUT_LIMIT_SECONDS = 120;
const MAX_BYTES = 4096;

/** Debian packages by the command or file that they provide. */
export function fuzzNeeds() {
  const name = `libclang_rt.fuzzer-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.a`;
  const found =
    spawnSync('clang++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout?.trim() ?? name;
  return [
    ['clang++', 'clang'],
    // Clang prints only the name of a missing file.
    [found.startsWith('/') ? found : `/${name}`, 'libclang-rt-dev'],
  ];
}

/** The inputs of a target, copied into a folder. */
function seedsOf(target, folder) {
  const own = readdirSync(CORPUS).filter(
    (name) => readFileSync(join(CORPUS, name))[0] % TARGETS.length === target,
  );
  for (const name of own) cpSync(join(CORPUS, name), join(folder, name));
  return own.length;
}

function runTarget(program, target, seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'rdmc-fuzz-'));
  const seeds = seedsOf(target, folder);
  const limits = [`-max_total_time=${seconds}`, `-max_len=${MAX_BYTES}`, `-timeout=${INPUT_LIMIT_SECONDS}`];
  // A static device lives until the end, and its threads allocate at any time, so the driver looks for leaks instead.
  const others = ['-detect_leaks=0', '-print_final_stats=1', `-artifact_prefix=${folder}/`];
  const run = spawnSync(program, [...limits, ...others, folder], {
    encoding: 'utf8',
    env: { ...process.env, RDMC_FUZZ_TARGET: String(target) },
    maxBuffer: 64 << 20,
  });
  if (run.status !== 0) {
    const repeat = `RDMC_FUZZ_TARGET=${target} ${program} FILE`;
    stop(`libFuzzer, ${TARGETS[target]} (${folder}; to repeat: ${repeat}):\n${run.stdout}${run.stderr}`);
  }
  const inputs = /number_of_executed_units:\s*(\d+)/.exec(run.stderr)?.[1] ?? '?';
  rmSync(folder, { recursive: true });
  return `${seeds} of the corpus, ${inputs} inputs`;
}

/** Runs each target for that many seconds; prints the results. */
export async function fuzz(seconds, say) {
  const program = await buildProgram('soft-libfuzzer', 'soft-fuzz', FLAGS, { compiler: 'clang++' });
  for (const target of TARGETS.keys())
    say(`libFuzzer, ${TARGETS[target]}: ${runTarget(program, target, seconds)}`);
}
