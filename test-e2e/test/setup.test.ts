import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const setup = new URL('../../tools/tasks/setup.mjs', import.meta.url).href;

/** A folder to be the whole PATH: with `sh` and these commands. */
function pathWith(...commands: string[]): string {
  const folder = temporaryDirectory('rdmc-path');
  for (const command of ['sh', ...commands]) symlinkSync('/bin/sh', join(folder, command));
  return folder;
}

function needCommands(path: string): { status: number | null; stdout: string; stderr: string } {
  const commands = [
    ['g++', 'g++'],
    ['make', 'make'],
    ['python3', 'python3'],
  ];
  const code = `const { needCommands } = await import(${JSON.stringify(setup)});
    needCommands('Building the native addon', ${JSON.stringify(commands)}); console.log('nothing is missing');`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    env: { PATH: path },
    encoding: 'utf8',
  });
}

describe('set-up on a machine without a compiler', () => {
  it('says in one line what to install', () => {
    const { status, stdout, stderr } = needCommands(pathWith('make'));
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      'Building the native addon needs: apt-get install -y --no-install-recommends g++ python3\n',
    );
  });

  it('says nothing where everything is there', () => {
    const { status, stdout, stderr } = needCommands(pathWith('g++', 'make', 'python3'));
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'nothing is missing\n', stderr: '' });
  });
});
