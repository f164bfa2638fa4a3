import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Hello } from '../src/hello.js';
import { checkHello, type HelloContext } from '../src/hello-check.js';
import { resolveOptions } from '../src/options.js';

const members = [0, 1, 2].map((id) => ({ id, host: '127.0.0.1', port: 7000 + id }));
const options = resolveOptions({ id: 0, members, insecure: true });

function hello(more: Partial<Hello> = {}): Hello {
  return {
    version: 1,
    from: 1,
    to: 0,
    digest: options.digest,
    instance: randomBytes(16),
    maxFrameBytes: 1 << 20,
    levels: options.levels,
    attributes: {},
    ...more,
  };
}

function codeOf(from: Hello, more: Partial<HelloContext> = {}): string | undefined {
  const context: HelloContext = {
    options,
    version: 1,
    gathering: true,
    current: () => undefined,
    hasRoom: () => true,
    ...more,
  };
  return checkHello(from, '127.0.0.1:1', context)?.code;
}

describe('a caller', () => {
  it('that is a member joins while members gather', () => {
    expect(codeOf(hello())).toBeUndefined();
  });

  it('that comes when the mesh has formed and has lost it is refused', () => {
    expect(codeOf(hello(), { gathering: false })).toBe('ERR_RDMC_MESH_ALREADY_FORMED');
  });

  it.each([
    [{ least: 1, most: 2 }, { least: 2, most: 3 }, undefined],
    [{ least: 2, most: 3 }, { least: 1, most: 2 }, undefined],
    [{ least: 1, most: 1 }, { least: 2, most: 3 }, 'ERR_RDMC_MESH_VERSION'],
    [{ least: 3, most: 4 }, { least: 1, most: 2 }, 'ERR_RDMC_MESH_VERSION'],
  ])('that speaks levels %j is judged by a member that speaks %j', (levels, own, code) => {
    expect(codeOf(hello({ levels }), { options: { ...options, levels: own } })).toBe(code);
  });

  it('that was given another list of members is refused', () => {
    expect(codeOf(hello({ digest: randomBytes(32) }))).toBe('ERR_RDMC_MESH_MEMBERS_DIFFER');
  });

  it('that meant another member is refused', () => {
    expect(codeOf(hello({ to: 2 }))).toBe('ERR_RDMC_MESH_WRONG_MEMBER');
  });

  it('that should have been dialled, or is not a member, is refused', () => {
    const second = resolveOptions({ id: 1, members, insecure: true });
    expect(codeOf(hello({ from: 0, to: 1 }), { options: second })).toBe('ERR_RDMC_MESH_PROTOCOL');
    expect(codeOf(hello({ from: 9 }))).toBe('ERR_RDMC_MESH_PROTOCOL');
  });

  it('that comes again as the same process takes the place of its dead connection while members gather', () => {
    const first = hello();
    const again = hello({ instance: first.instance });
    expect(codeOf(again, { current: () => first })).toBeUndefined();
    expect(codeOf(again, { current: () => first, gathering: false })).toBe('ERR_RDMC_MESH_DUPLICATE_MEMBER');
  });

  it('that opens a further connection must be the process that the mesh has, and have room', () => {
    const present = hello();
    const connection = { purpose: 'test', id: 'ab'.repeat(16) };
    const further = { ...present, connection };
    const formed = { gathering: false, current: () => present };
    expect(codeOf(further, formed)).toBeUndefined();
    expect(codeOf({ ...further, instance: randomBytes(16) }, formed)).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    expect(codeOf(further, { gathering: true })).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    expect(codeOf(further, { ...formed, hasRoom: () => false })).toBe('ERR_RDMC_MESH_TOO_MANY_CONNECTIONS');
  });

  it('that has the id of another process is refused', () => {
    expect(codeOf(hello(), { current: () => hello() })).toBe('ERR_RDMC_MESH_DUPLICATE_MEMBER');
  });
});
