import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownIdentity, parseIdentity, processState } from '../src/index.js';
import { INITIAL_PIDS } from '../src/machine.js';

const self = ownIdentity();
/** This process, as outside of containers on a host with a machine id, wherever the test runs. */
const onHost = { ...self, pids: INITIAL_PIDS, machine: 'a machine' };

describe('the identity of a process', () => {
  it('comes back from JSON as it was, and nothing else does', () => {
    expect(parseIdentity(JSON.stringify(self))).toEqual(self);
    const { host: _, ...noHost } = self;
    const wrong = [
      noHost,
      { ...self, pid: '1' },
      { ...self, pid: 0 },
      { ...self, boot: 5 },
      { ...self, machine: 5 },
      null,
      7,
      [],
    ];
    for (const value of wrong) expect(parseIdentity(JSON.stringify(value))).toBeUndefined();
    expect(parseIdentity('{')).toBeUndefined();
  });

  it('is alive as long as the process is; its number may come again', () => {
    expect(processState(self)).toBe('alive');
    expect(processState({ ...self, startedAt: '1' })).toBe('gone');
  });

  it('is gone when the process has ended, or was of an earlier boot of this host', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    const { pid } = child;
    await once(child, 'exit');
    expect(processState({ ...self, pid: pid! })).toBe('gone');
    expect(processState({ ...onHost, boot: 'an earlier one' }, onHost)).toBe('gone');
  });

  it('is gone when nothing is left of the process but its number, which its parent has not asked for', async () => {
    // The shell becomes a program that never asks for its children; the child ends only then.
    const parent = spawn('sh', ['-c', 'read end <&3 & echo $!; exec sleep 1000'], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const pid = Number(String(await once(parent.stdout!, 'data')));
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'latin1') === 'sleep\n');
    (parent.stdio[3] as Writable).end();
    const stat = () => readFileSync(`/proc/${pid}/stat`, 'latin1');
    await until(() => stat().includes(') Z '));
    expect(processState({ ...self, pid, startedAt: stat().split(' ')[21]! })).toBe('gone');
  });

  it('is elsewhere on a host of the same name with another machine id, or none', () => {
    const other = { ...onHost, boot: 'another' };
    expect(processState({ ...other, machine: 'another' }, onHost)).toBe('elsewhere');
    expect(processState({ ...other, machine: '' }, onHost)).toBe('elsewhere');
    expect(processState({ ...other, machine: '' }, { ...onHost, machine: '' })).toBe('elsewhere');
  });

  it('is elsewhere after another boot in a container: its image may have the machine id', () => {
    const contained = { ...onHost, pids: 'pid:[4026532567]' };
    expect(processState({ ...contained, boot: 'another' }, contained)).toBe('elsewhere');
  });

  it('of an earlier version has no machine: judged during its boot, and elsewhere after another one', () => {
    const { machine: _, ...before } = onHost;
    const other = parseIdentity(JSON.stringify(before))!;
    expect(processState(other, onHost)).toBe('alive');
    expect(processState({ ...other, startedAt: '1' }, onHost)).toBe('gone');
    expect(processState({ ...other, boot: 'another' }, onHost)).toBe('elsewhere');
  });

  it('is elsewhere on another host, whatever its boot, and in another container', () => {
    expect(processState({ ...self, host: 'another' })).toBe('elsewhere');
    expect(processState({ ...self, host: 'another', boot: 'another' })).toBe('elsewhere');
    expect(processState({ ...self, pids: 'pid:[1]' })).toBe('elsewhere');
    expect(processState({ ...self, pids: 'pid:[1]', boot: 'another' })).toBe('elsewhere');
  });
});
