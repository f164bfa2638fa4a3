import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { machineHash } from '../src/machine.js';

const ID = '0123456789abcdef'.repeat(2);
let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('the hash of the machine id', () => {
  it('is that of the first file that has one', () => {
    const hash = machineHash([file('of-systemd', `${ID}\n`)]);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(hash).not.toContain(ID);
    expect(machineHash([join(directory, 'none'), file('of-dbus', `${ID}\n`)])).toBe(hash);
    expect(machineHash([file('other', `${'1'.repeat(32)}\n`)])).not.toBe(hash);
  });

  it.each(['', 'uninitialized\n', `${ID}0\n`])('is empty where the file has none: %j', (text) => {
    expect(machineHash([file('machine-id', text)])).toBe('');
  });
});
