import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fakeLibrary } from './support/fake-library.js';

const FIXTURE = fileURLToPath(new URL('fixtures/registering-worker-ends.mjs', import.meta.url));

/** Runs a scenario of the fixture; a process that is ended by a signal fails. */
async function result(
  scenario: string,
  device: readonly string[],
  env: Record<string, string> = {},
): Promise<unknown> {
  const options = { env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, scenario, ...device], options);
  return JSON.parse(stdout);
}

const TCP = ['soft', 'tcp'];
const FLUSHED = ['WORK_REQUEST_FLUSHED', 'ERROR'];

describe('memory that a worker has registered', () => {
  it.each(['return', 'exit', 'terminate', 'error'])(
    'is not written any more after its end: %s',
    async (ending) => {
      expect(await result('a peer writes', [...TCP, ending])).toEqual(['SUCCESS', 'REMOTE_ACCESS_ERROR']);
    },
  );

  it('is not read any more by peers', async () => {
    expect(await result('a peer reads', TCP)).toBe('REMOTE_ACCESS_ERROR');
  });

  it.each(['tcp', 'shm'])('is not sent any more by other threads, %s', async (transport) => {
    expect(await result('this thread sends from it', ['soft', transport])).toBe('ERR_RDMC_INVALID_LKEY');
  });

  it('fails the queue pairs whose receives name it', async () => {
    expect(await result('a receive waits for it', TCP)).toEqual(FLUSHED);
  });

  it('fails no other queue pairs', async () => {
    expect(await result('only the queue pair that uses it fails', TCP)).toEqual([...FLUSHED, 'RTS']);
  });

  it.each(['tcp', 'shm'])('fails the queue pairs whose sends name it, %s', async (transport) => {
    expect(await result('a send waits', ['soft', transport])).toEqual(FLUSHED);
  });

  it('is gone although threads hold it, and they let go without an error', async () => {
    expect(await result('it is held', TCP)).toBe('ERR_RDMC_REGION_CLOSED');
  });

  it('does not keep its protection domain open', async () => {
    expect(await result('its domain is closed afterwards', TCP)).toBe('closed');
  });

  it('may be closed by the worker before', async () => {
    expect(await result('the worker closes it before', TCP)).toBe('ERR_RDMC_REGION_CLOSED');
  });

  it('may be closed by another thread before, whose next region stays', async () => {
    expect(await result('this thread closes it before', TCP)).toBe('SUCCESS');
  });

  it.each(['return', 'terminate'])('may belong to a device that is closed before: %s', async (ending) => {
    expect(await result('the device is closed before', [...TCP, ending])).toBe('ended');
  });

  it('is given up in the middle of a WRITE', async () => {
    expect(await result('many workers end while a peer writes', TCP)).toEqual([]);
  });
});

describe.skipIf(fakeLibrary.missing)(`the same on an RDMA device ${fakeLibrary.missing}`, () => {
  const FAKE = ['fake0', 'roce'];
  const onFake = (scenario: string, limits = 'dereg=0') =>
    result(scenario, FAKE, { RDMC_IBVERBS_LIBRARY: fakeLibrary.path, FAKE_IBVERBS_LIMITS: limits });

  const NOT_REACHED = expect.stringMatching(/^(RETRY_EXCEEDED|REMOTE_ACCESS_ERROR)$/);

  it('is not written any more', async () => {
    expect(await onFake('a peer writes')).toEqual(['SUCCESS', 'REMOTE_ACCESS_ERROR']);
  });

  it('fails the queue pairs whose requests name it, and no other', async () => {
    expect(await onFake('only the queue pair that uses it fails')).toEqual([...FLUSHED, 'RTS']);
  });

  it('does not keep its protection domain open', async () => {
    expect(await onFake('its domain is closed afterwards')).toBe('closed');
  });

  it('is out of reach if the device keeps the registration as long as its queue pairs work, or for ever', async () => {
    const statuses = ['SUCCESS', NOT_REACHED];
    expect(await onFake('a peer writes', 'dereg=1')).toEqual(statuses);
    expect(await onFake('a peer writes', 'dereg=2')).toEqual(statuses);
  });

  it('is out of reach for a shared receive queue whose queue pair has another domain', async () => {
    expect(await onFake('a shared receive queue has it')).toBe('REMOTE_OPERATION_ERROR');
    expect(await onFake('a shared receive queue has it', 'dereg=2')).toEqual(NOT_REACHED);
  });
});
