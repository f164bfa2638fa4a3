// What an installation takes: its packages, and the bytes of their files.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

function bytesBelow(path) {
  const facts = lstatSync(path);
  if (!facts.isDirectory()) return facts.size;
  return readdirSync(path).reduce((total, name) => total + bytesBelow(join(path, name)), 0);
}

/** Of a node_modules that npm has filled. */
export function installSize(modules) {
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
  const packages = Object.keys(lock.packages).length;
  return { packages, megabytes: bytesBelow(modules) / 1e6 };
}
