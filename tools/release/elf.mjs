// What a shared library asks of the machine that loads it, as readelf (Debian: binutils) prints it.
import { execFileSync } from 'node:child_process';

const PROCESSORS = { 'Advanced Micro Devices X86-64': 'x64', AArch64: 'arm64' };

function readelf(file) {
  const args = ['--wide', '--file-header', '--dynamic', '--version-info', file];
  return execFileSync('readelf', args, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function all(text, pattern) {
  return [...new Set([...text.matchAll(pattern)].map(([, found]) => found))];
}

/** The part of readelf's output that this release checks: the processor, needed libraries, needed symbol versions. */
export function parseElf(text) {
  const machine = /^\s*Machine:\s+(.+?)\s*$/m.exec(text)?.[1];
  const needs = text.slice(Math.max(text.indexOf('Version needs section'), 0));
  return {
    cpu: PROCESSORS[machine] ?? machine,
    libraries: all(text, /\(NEEDED\)\s+Shared library: \[(.+?)\]/g),
    versions: all(needs, /Name: (\S+)\s+Flags:/g),
  };
}

/** @returns {{ cpu: string, libraries: string[], versions: string[] }} */
export function readElf(file) {
  return parseElf(readelf(file));
}
