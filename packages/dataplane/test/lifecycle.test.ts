import { once } from 'node:events';
import { DataPlane, DataPlaneError } from '@rdmc/dataplane';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkOptions } from '../src/options.js';
import { ECHO, startEcho } from './planes.js';

const EMPTY = new Uint8Array(0);
const DIED = refusal('ERR_RDMC_DATAPLANE_DIED');
const CLOSED = refusal('ERR_RDMC_DATAPLANE_CLOSED');

describe('start', () => {
  const protocols = [{ name: 'echo', module: ECHO }];
  it.each([
    ['an unknown option', { protocols, window: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['an unknown option of a protocol', { protocols: [{ name: 'a', modul: '' }] }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['protocols that are not a list', { protocols: 'echo' }, 'ERR_RDMC_INVALID_OPTION'],
    [
      'two protocols with the same name',
      { protocols: [...protocols, ...protocols] },
      'ERR_RDMC_INVALID_OPTION',
    ],
    ['a relative module', { protocols: [{ name: 'a', module: './a.js' }] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a negative window', { protocols, windowMs: -1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a window that is not a number', { protocols, windowMs: Number.NaN }, 'ERR_RDMC_INVALID_OPTION'],
    ['a ring that is not a power of two', { protocols, eventRingBytes: 5000 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a ring that is too small', { protocols, commandRingBytes: 2048 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a depth of 0', { protocols, completionQueueDepth: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    [
      'data that cannot be cloned',
      { protocols: [{ name: 'a', module: ECHO, data: () => 1 }] },
      'ERR_RDMC_INVALID_OPTION',
    ],
  ])('refuses %s', async (_, options, code) => {
    await expect(DataPlane.open(options as never)).rejects.toEqual(refusal(code));
  });

  it('has the default window of the environment, and refuses one that is not a number of milliseconds', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('RDMC_WINDOW_MS', 'long');
    const message = expect.stringContaining('RDMC_WINDOW_MS must be a number of milliseconds');
    const opening = DataPlane.open({ protocols });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION', message });
    expect(checkOptions({ protocols, windowMs: 7 }).windowMs).toBe(7);
    for (const [text, windowMs] of [
      ['0', 0],
      ['Infinity', Number.POSITIVE_INFINITY],
      ['', 50],
    ] as const) {
      vi.stubEnv('RDMC_WINDOW_MS', text);
      expect(checkOptions({ protocols }).windowMs).toBe(windowMs);
    }
  });

  it('works in a process that has an option of V8', async () => {
    process.execArgv.push('--max-old-space-size=1000');
    onTestFinished(() => void process.execArgv.pop());
    const { echo } = await startEcho();
    expect(echo).toBeDefined();
  });

  it.each([
    ['a missing module', { module: new URL('./fixtures/none.mjs', import.meta.url) }, 'ERR_MODULE_NOT_FOUND'],
    [
      'a module without a default export',
      { module: 'data:text/javascript,export%20const%20a=1' },
      'ERR_RDMC_INVALID_PROTOCOL',
    ],
    [
      'a default export without a record table',
      { module: 'data:text/javascript,export%20default{start(){}}' },
      'ERR_RDMC_INVALID_PROTOCOL',
    ],
    ['a start without a result', { module: ECHO, data: { noProtocol: true } }, 'ERR_RDMC_INVALID_PROTOCOL'],
    [
      'a command without a function',
      { module: ECHO, data: { noCommands: true } },
      'ERR_RDMC_INVALID_PROTOCOL',
    ],
    ['a start that throws', { module: ECHO, data: { startError: true } }, 'ERR_TEST_START'],
  ])('fails with the cause: %s', async (_, protocol, code) => {
    const error = await DataPlane.open({ protocols: [{ name: 'a', ...protocol }] }).then(
      () => undefined,
      (reason: DataPlaneError) => reason,
    );
    expect(error).toBeInstanceOf(DataPlaneError);
    expect(error).toMatchObject({ code: 'ERR_RDMC_DATAPLANE_START_FAILED', cause: { code } });
  });

  it('fails with the device’s error as the cause', async () => {
    await expect(DataPlane.open({ device: { device: 'abacus' }, protocols })).rejects.toMatchObject({
      code: 'ERR_RDMC_DATAPLANE_START_FAILED',
      // The second one where the addon was built without libibverbs.
      cause: { code: expect.stringMatching(/^ERR_RDMC_(UNKNOWN_DEVICE|IBVERBS_NOT_BUILT)$/) },
    });
  });

  it('loads the protocols before the device is known', async () => {
    const name = 'a protocol was loaded';
    const loaded = new BroadcastChannel(name);
    onTestFinished(() => loaded.close());
    const heard = once(loaded, 'message');
    const module = `data:text/javascript,const c=new BroadcastChannel('${name}');c.postMessage(1);c.close();export default{records:{commands:{},events:{}},start:()=>({commands:{}})}`;
    const device = heard.then(() => ({ device: 'soft' }));
    const plane = await DataPlane.open({ device, protocols: [{ name: 'a', module }] });
    expect(plane.device.kind).toBe('soft');
    await plane.close();
  });

  it('ends with the rejection of the promise of a device, or with options that cannot be cloned', async () => {
    const device = Promise.reject(new Error('no agreement'));
    await expect(DataPlane.open({ device, protocols })).rejects.toThrow('no agreement');
    const strange = { device: () => 'soft' } as never;
    await expect(DataPlane.open({ device: strange, protocols })).rejects.toEqual(
      refusal('ERR_RDMC_INVALID_OPTION'),
    );
  });

  it('ends with an abort, before and during', async () => {
    await expect(DataPlane.open({ protocols, signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    const controller = new AbortController();
    const start = DataPlane.open({ protocols, signal: controller.signal });
    const cause = new Error('enough');
    controller.abort(cause);
    await expect(start).rejects.toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', cause });
  });

  it('shares the device with this thread', async () => {
    const { plane } = await startEcho();
    expect(plane.device.kind).toBe('soft');
    expect(plane.protectionDomain.device).toBe(plane.device);
  });
});

describe('close', () => {
  it('executes the commands that were sent, delivers the last events, and is idempotent', async () => {
    let stopped = 0;
    const { plane, echo, ends } = await startEcho({
      data: { emitAtStop: true },
      events: {
        stopped: () => {
          stopped += 1;
        },
      },
    });
    const answers = Array.from({ length: 100 }, () => echo.quiet());
    const first = plane.close();
    expect(plane.close()).toBe(first);
    await Promise.all([first, ...answers]);
    expect(stopped).toBe(1);
    expect(plane.signal.aborted).toBe(true);
    await plane.closed;
    await expect(echo.quiet()).rejects.toEqual(CLOSED);
    expect(echo.count(EMPTY)).toBe(false);
    await expect(plane.drained()).rejects.toEqual(CLOSED);
    await plane[Symbol.asyncDispose]();
    expect(ends).toEqual([]);
  });

  it('rejects unanswered calls', async () => {
    const { plane, echo } = await startEcho();
    const refused = expect(echo.never(EMPTY)).rejects.toEqual(CLOSED);
    await plane.close();
    await refused;
  });

  it('ends a worker that does not stop', async () => {
    const warnings: string[] = [];
    const logger = { debug: () => {}, warn: (_: object, message: string) => void warnings.push(message) };
    for (const data of [{ stopNever: true }, undefined]) {
      const { plane, echo } = await startEcho({ data, logger });
      if (!data) echo.spin();
      await plane.close({ timeoutMs: 50 });
      expect(plane.signal.aborted).toBe(true);
      await plane.closed;
    }
    expect(warnings).toHaveLength(2);
  });

  it('fails when a protocol fails to stop, and the worker still exits', async () => {
    const { plane } = await startEcho({ data: { stopError: true } });
    await expect(plane.close()).rejects.toMatchObject({
      code: 'ERR_RDMC_DATAPLANE_DIED',
      cause: { code: 'ERR_TEST_STOP' },
    });
    expect(plane.signal.aborted).toBe(true);
    await plane.closed;
  });

  it('by terminate does not wait for the worker', async () => {
    const { plane, echo } = await startEcho();
    echo.spin();
    const waiting = expect(echo.never(EMPTY)).rejects.toEqual(CLOSED);
    await until(() => plane.counters().commands === 1);
    await plane.terminate();
    await waiting;
    await plane.close();
  });
});

describe('death', () => {
  it.each([
    ['an uncaught rejection', 'reject', { message: 'rejected by the protocol' }],
    ['process.exit in a handler', 'exit', undefined],
  ] as const)('by %s rejects all pending calls, with the cause', async (_, how, cause) => {
    const { plane, echo, ends } = await startEcho({ commandRingBytes: 4096 });
    const deaths: DataPlaneError[] = [];
    plane.signal.addEventListener('abort', () => deaths.push(plane.signal.reason));
    const before = echo.never(EMPTY);
    echo[how]();
    const waiting = [
      before,
      ...Array.from({ length: 50 }, () => echo.never(new Uint8Array(500))),
      // A rejection ends the worker only after its turn, in which it may take all of the ring.
      ...(how === 'exit' ? [plane.drained()] : []),
    ];
    const reasons = (await Promise.allSettled(waiting)).map((result) => 'reason' in result && result.reason);
    for (const reason of reasons) expect(reason).toEqual(DIED);
    if (cause) expect(reasons[0]).toMatchObject({ cause });
    else expect(reasons[0].message).toContain('exited with code 7');
    expect(deaths).toHaveLength(1);
    expect(ends).toEqual([DIED]);
    expect(plane.signal.aborted).toBe(true);
    await plane.closed;
    await expect(echo.quiet()).rejects.toEqual(DIED);
    expect(echo.count(EMPTY)).toBe(false);
    await plane.close();
    expect(plane.counters().commands).toBeGreaterThan(0);
  });

  it('is reported to a late listener, and not after a close', async () => {
    const { plane, echo } = await startEcho();
    echo.exit();
    await expect(echo.never(EMPTY)).rejects.toEqual(DIED);
    expect(plane.signal.reason).toEqual(DIED);
    const other = await startEcho();
    await other.plane.close();
    expect(other.plane.signal.reason).toMatchObject({ code: 'ERR_RDMC_DATAPLANE_CLOSED' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(other.ends).toEqual([]);
  });

  it('still delivers the earlier answers', async () => {
    const { echo } = await startEcho();
    const answered = Array.from({ length: 20 }, (_, i) => echo.echo(Uint8Array.of(i)));
    echo.exit();
    expect(await Promise.all(answered)).toHaveLength(20);
  });
});
