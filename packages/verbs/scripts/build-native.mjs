#!/usr/bin/env node
// Builds the native addon in native/. Also published as `rdmc-verbs-build`, for platforms without a prebuilt package.
// This file has to run under every Node, so that one that is too old gets an answer: what it imports is old, too.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const manifest = JSON.parse(readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'));
const least = manifest.engines.node.replace('>=', '');
const [major, minor] = process.versions.node.split('.').map(Number);
const [leastMajor, leastMinor] = least.split('.').map(Number);

if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
  console.error(
    `rdmc-verbs-build: Node.js ${least} or newer is needed, and this is ${process.versions.node}: install a newer one`,
  );
  process.exitCode = 1;
} else {
  import('./native/main.mjs');
}
