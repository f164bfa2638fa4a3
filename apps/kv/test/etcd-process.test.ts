/** The etcd of a demonstration, in place of which this file starts other programs. */
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { temporaryDirectory, until } from '@rdmc/testing';
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

async function accepts(endpoint: string): Promise<boolean> {
  const { hostname: host, port } = new URL(endpoint);
  const socket = connect({ host, port: Number(port) });
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

it('an etcd that does not listen is not waited for without end', async () => {
  const etcd = await beginning('#!/bin/sh\nexec sleep 600\n');
  expect(await etcd.isServing(100)).toBe(false);
});

it('an etcd that does not answer is not waited for without end', async () => {
  const etcd = await beginning(SILENT);
  await until(() => accepts(etcd.endpoint));
  expect(await etcd.isServing(100)).toBe(false);
});

it('an etcd that ends does not serve', async () => {
  const etcd = await beginning('#!/bin/sh\nexit 1\n');
  expect(await etcd.isServing()).toBe(false);
});
