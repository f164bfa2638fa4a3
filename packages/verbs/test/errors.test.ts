import { readdirSync, readFileSync } from 'node:fs';
import { RdmcError } from '@rdmc/common';
import { describe, expect, it } from 'vitest';
import { Opcode, openDevice, PostError, VerbsError, verbsErrors } from '../src/index.js';
import { completions, connectedSides, side } from './support/pair.js';

const isSource = (name: string) => /\.(cc|h|ts)$/.test(name) && !name.startsWith('build/');

/** The codes in quotes in the sources below a folder. */
function codesIn(folder: URL, quoted: RegExp): Set<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isSource);
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(quoted)].map(([, code]) => code!)));
}

describe('the table of errors', () => {
  const native = codesIn(new URL('../native/', import.meta.url), /"(ERR_RDMC_\w+)"/g);
  const table = Object.keys(verbsErrors);

  it('has every code of the addon', () => {
    expect(native.size).toBeGreaterThan(20);
    expect([...native].filter((code) => !table.includes(code))).toEqual([]);
  });

  it('does not have unused codes', () => {
    const own = codesIn(new URL('../src/', import.meta.url), /'(ERR_RDMC_\w+)'/g);
    const byOptions = 'ERR_RDMC_UNKNOWN_OPTION';
    expect(table.filter((code) => !native.has(code) && !own.has(code) && code !== byOptions)).toEqual([]);
  });
});

describe('an error', () => {
  it('is an RdmcError with the category of its code', () => {
    const error = new PostError('ERR_RDMC_QUEUE_FULL', 'no', 3);
    expect(error).toBeInstanceOf(VerbsError);
    expect(error).toBeInstanceOf(RdmcError);
    expect(error).toMatchObject({ name: 'PostError', category: 'resource', index: 3 });
  });
});

describe('an error of the addon', () => {
  it('is a VerbsError, with errno and syscall', async () => {
    // An address for documentation: no host has it.
    const opening = openDevice({
      device: 'soft',
      transport: 'tcp',
      listen: { host: '192.0.2.1' },
      insecure: true,
    });
    const error: unknown = await opening.then(undefined, (thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VerbsError);
    expect(error).toMatchObject({ code: 'ERR_RDMC_SYSTEM', category: 'resource', syscall: 'bind' });
    expect((error as VerbsError).errno).toBeGreaterThan(0);
  });

  it('is also one if a function of the fast path throws it', async () => {
    const { device, queuePair } = await side({ device: 'soft', transport: 'shm' });
    const submission = device.createSubmissionQueue();
    submission.begin(Opcode.SEND, queuePair.number, 1, 0);
    await device.close();
    expect(() => submission.flush()).toThrow(VerbsError);
  });
});

describe('an abort', () => {
  it('ends the wait for the requests of a region, which stays open', async () => {
    const [near, far] = await connectedSides({ device: 'soft', transport: 'shm' });
    const region = await far.domain.allocate(4096);
    far.queuePair.postReceive({ id: 1, sges: [region.sge()] });
    const abort = new AbortController();
    const closing = region.close({ signal: abort.signal });
    const cause = new Error('enough');
    abort.abort(cause);
    await expect(closing).rejects.toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', cause });
    expect(() => region.closeNow()).toThrow(expect.objectContaining({ code: 'ERR_RDMC_REGION_BUSY' }));
    const closed = region.close();
    const source = await near.domain.allocate(4096);
    near.queuePair.postSend({ id: 2, opcode: 'SEND', sges: [source.sge()] });
    await completions(far.queue, 1);
    await closed;
    await Promise.all([near.device.close(), far.device.close()]);
  });
});
