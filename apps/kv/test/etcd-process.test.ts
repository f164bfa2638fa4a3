/** The etcd of a demonstration, in place of which this file starts other programs. */
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EtcdProcess } from '../src/demo/etcd-process.js';

const NEVER = new AbortController().signal;

/** Begins a program that is found as `etcd`. */
async function beginning(program: string): Promise<EtcdProcess> {
  const directory = temporaryDirectory();
  const path = join(directory, 'etcd');
  writeFileSync(path, program);
  chmodSync(path, 0o755);
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const etcd = await EtcdProcess.begin(directory, NEVER);
  onTestFinished(() => etcd.stop());
  return etcd;
}

const SILENT = `#!/usr/bin/env node
const at = process.argv.indexOf('--listen-client-urls');
require('node:net').createServer(() => {}).listen(Number(new URL(process.argv[at + 1]).port), '127.0.0.1');
`;

it.each([
  ['listen', '#!/bin/sh\nexec sleep 600\n'],
  ['answer', SILENT],
])('an etcd that does not %s is not waited for without end', async (_, program) => {
  const etcd = await beginning(program);
  expect(await etcd.isServing(300)).toBe(false);
});

it('an etcd that ends does not serve', async () => {
  const etcd = await beginning('#!/bin/sh\nexit 1\n');
  expect(await etcd.isServing()).toBe(false);
});
