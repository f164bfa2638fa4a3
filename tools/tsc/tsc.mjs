#!/usr/bin/env node
// `tsc` of TypeScript 7, the native compiler: it checks types and writes declarations in a tenth of the time.
// The root keeps TypeScript 5 because dependency-cruiser loads it as a library, which version 7 does not offer;
// here npm installs version 7 beside it.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
await import(pathToFileURL(join(dirname(manifest), 'bin', 'tsc')).href);
