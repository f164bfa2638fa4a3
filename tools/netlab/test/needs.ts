import { spawnSync } from 'node:child_process';
import { test } from 'vitest';
import { probe } from '../src/index.js';

const installed = ['ip', 'tc', 'unshare'].every((tool) => spawnSync(tool, ['-V']).error === undefined);

/** Root in a container may not be allowed to. */
function mayMakeHosts(): boolean {
  const name = `netlab-probe-${process.pid}`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false;
  return spawnSync('ip', ['netns', 'del', name]).status === 0;
}

/** Whether labs can be created here. */
export const root = process.platform === 'linux' && process.getuid?.() === 0 && installed && mayMakeHosts();
/** Whether this kernel can delay and lose packets. */
export const netem = root && ((await probe(['netem'])).get('netem') ?? false);

/** A test with a lab. */
export const labTest = (title: string, work: () => Promise<void>, timeout?: number) =>
  test.skipIf(!root)(`${title} (needs root and iproute2)`, work, timeout);

/** A test with a lab with delay or loss. */
export const netemTest = (title: string, work: () => Promise<void>) =>
  test.skipIf(!netem)(`${title} (needs root, iproute2 and the kernel module sch_netem)`, work);
