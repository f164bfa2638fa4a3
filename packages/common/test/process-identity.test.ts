import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ownIdentity, parseIdentity, processState } from '../src/index.js';

const self = ownIdentity();

describe('the identity of a process', () => {
  it('comes back from JSON as it was, and nothing else does', () => {
    expect(parseIdentity(JSON.stringify(self))).toEqual(self);
    const { host: _, ...noHost } = self;
    const wrong = [noHost, { ...self, pid: '1' }, { ...self, pid: 0 }, { ...self, boot: 5 }, null, 7, []];
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
    expect(processState({ ...self, boot: 'an earlier one' })).toBe('gone');
  });

  it('is elsewhere on another host, whatever its boot, and in another container', () => {
    expect(processState({ ...self, host: 'another' })).toBe('elsewhere');
    expect(processState({ ...self, host: 'another', boot: 'another' })).toBe('elsewhere');
    expect(processState({ ...self, pids: 'pid:[1]' })).toBe('elsewhere');
    expect(processState({ ...self, pids: 'pid:[1]', boot: 'another' })).toBe('elsewhere');
  });
});
