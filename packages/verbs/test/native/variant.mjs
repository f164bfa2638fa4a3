// Other builds of the C++ sources, for tests: the addon or a program without Node, with a sanitizer, a fuzzer or a
// planted fault. Each is compiled once for each state of the sources, below native/build/variants.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const native = join(here, '..', '..', 'native');
const variants = join(native, 'build', 'variants');
const nodeHeaders = createRequire(import.meta.url)('node-api-headers').include_dir;

/** The units of the soft device; the rest is the binding to JavaScript and RDMA devices. */
export const SOFT_UNITS = ['unit_core.cc', 'unit_shm.cc', 'unit_tcp.cc'];
const ALL_UNITS = [...SOFT_UNITS, 'unit_binding.cc', 'unit_ibverbs.cc'];

const BASE = ['-std=gnu++20', '-g1', '-fno-omit-frame-pointer', '-fPIC', '-pthread', '-fvisibility=hidden'];
const STRICT = ['-Wall', '-Wextra', '-Wunused-parameter', '-Werror'];

/** Include directories and definitions of the addon. */
export function addonFlags() {
  const addonApi = dirname(createRequire(import.meta.url).resolve('node-addon-api/napi.h'));
  const defines = ['-DNAPI_VERSION=9', '-DNODE_ADDON_API_DISABLE_DEPRECATED', '-DBUILDING_NODE_EXTENSION'];
  return [
    '-isystem',
    nodeHeaders,
    '-isystem',
    addonApi,
    ...defines,
    '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
  ];
}

function digest(folders, flags) {
  const hash = createHash('sha256').update(JSON.stringify(flags));
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true }).sort()) {
      if (/^(?!build\/).*\.(cc|h)$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

function run(compiler, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(compiler, args, { stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${compiler} ended with ${code}: ${args.join(' ')}`));
    });
  });
}

/** Compiles missing objects; several processes may do so at once, because each object is renamed when it is complete. */
async function compileAll(compiler, jobs) {
  const waiting = jobs.filter(({ object }) => !existsSync(object));
  const worker = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      const part = `${job.object}.${process.pid}`;
      await run(compiler, [...BASE, ...STRICT, ...job.flags, `-I${native}`, '-c', job.source, '-o', part]);
      renameSync(part, job.object);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** A file that includes these sources: the headers take most of the time, and are read once. */
function unitOf(sources, path) {
  const part = `${path}.${process.pid}`;
  writeFileSync(part, sources.map((source) => `#include "${source}"\n`).join(''));
  renameSync(part, path);
  return path;
}

/**
 * @param {{ name: string, compiler?: string, units: readonly string[], folder?: string, flags: readonly string[],
 *   special?: Readonly<Record<string, readonly string[]>>, objects?: readonly string[], beside?: readonly string[],
 *   together?: boolean, linking: readonly string[] }} variant
 *   `folder`: more sources, all of which are compiled; `special`: more flags of single units;
 *   `objects`: compiled objects; `beside`: folders with headers; `together`: the folder's sources are one unit
 * @returns the path of the linked file
 */
async function build({
  name,
  compiler = process.env.CXX ?? 'g++',
  units,
  folder,
  flags,
  special = {},
  objects = [],
  beside = [],
  together = false,
  linking,
}) {
  const own = folder ? [folder] : [];
  const into = join(variants, digest([native, ...own, ...beside], [compiler, flags]));
  mkdirSync(into, { recursive: true });
  const result = join(into, name);
  if (existsSync(result)) return result;
  const named = own.flatMap((each) => readdirSync(each).map((file) => join(each, file)));
  const further = named.filter((file) => file.endsWith('.cc'));
  const sources = [
    ...units.map((unit) => join(native, unit)),
    ...(together ? [unitOf(further, join(into, `${name}.cc`))] : further),
  ];
  const jobs = sources.map((source) => {
    const unit = basename(source);
    const more = special[unit] ?? [];
    const object = join(into, `${unit}${more.length > 0 ? `.${name}` : ''}.o`);
    return { source, object, flags: [...flags, ...more, ...beside.map((each) => `-I${each}`)] };
  });
  await compileAll(compiler, jobs);
  const part = `${result}.${process.pid}`;
  const all = [...jobs.map(({ object }) => object), ...objects];
  await run(compiler, [...flags, ...all, '-pthread', ...linking, '-o', part]);
  renameSync(part, result);
  return result;
}

/** The addon with these flags. */
export function buildAddon(flags) {
  const linking = ['-shared', '-Wl,-z,nodelete', '-ldl'];
  return build({ name: 'rdmc_verbs.node', units: ALL_UNITS, flags: [...addonFlags(), ...flags], linking });
}

/** The soft device uses three functions of OpenSSL; Node's OpenSSL has the same interface. */
const CRYPTO = ['-l:libcrypto.so.3'];

/** A program of the soft device and the sources of a folder beside this file. */
export function buildProgram(name, folder, flags, { special = {}, compiler } = {}) {
  const all = ['-isystem', nodeHeaders, ...flags];
  return build({
    name,
    compiler,
    units: SOFT_UNITS,
    folder: join(here, folder),
    flags: all,
    special,
    linking: CRYPTO,
  });
}

/**
 * The same, quickly, out of the objects of the addon that was built beside the sources; undefined where there are none.
 * @param {{ beside?: readonly string[], ibverbs?: boolean }} more
 *   `beside`: folders beside this file, whose headers it includes; `ibverbs`: with RDMA devices
 */
export async function linkProgram(name, folder, { beside = [], ibverbs = false } = {}) {
  const built = join(native, 'build', 'Release', 'obj.target', 'rdmc_verbs');
  const units = ibverbs ? [...SOFT_UNITS, 'unit_ibverbs.cc'] : SOFT_UNITS;
  const objects = units.map((unit) => join(built, unit.replace(/\.cc$/, '.o')));
  if (!objects.every((object) => existsSync(object))) return undefined;
  return build({
    name,
    units: [],
    folder: join(here, folder),
    flags: [],
    objects,
    beside: beside.map((each) => join(here, each)),
    together: true,
    // The unit of RDMA devices contains their binding to Node, which is not called.
    linking: ibverbs ? [...CRYPTO, '-ldl', '-no-pie', '-Wl,--unresolved-symbols=ignore-all'] : CRYPTO,
  });
}

/** Loaded by NODE_OPTIONS=--require, it puts the addon named by RDMC_TEST_ADDON in place of the one beside the sources. */
export const USE_ADDON = join(here, 'use-addon.cjs');
