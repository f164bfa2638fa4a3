import { describe, expect, it } from 'vitest';
import { MAX_KEPT_MESSAGES } from '../src/constants.js';
import { MeshRemoteError } from '../src/index.js';
import {
  assertWhole,
  failureOf,
  form,
  hide,
  KEY,
  messages,
  place,
  rejection,
  thrown,
  until,
} from './helpers.js';

describe('messages', () => {
  it.each([undefined, KEY])('arrive in order between each pair, and once, key %s', async (key) => {
    const { meshes } = await form(3, { key });
    const count = 500;
    const heard = [0, 1].map((id) => messages(meshes[id]!, 'n', 2 * count));
    for (let i = 0; i < count; i++) for (const mesh of meshes) mesh.broadcast('n', i);
    for (const [id, list] of (await Promise.all(heard)).entries()) {
      for (const from of [0, 1, 2].filter((other) => other !== id)) {
        expect(list.filter(([who]) => who === from).map(([, body]) => body)).toEqual(
          Array.from({ length: count }, (_, i) => i),
        );
      }
    }
  });

  it('carry any JSON value', async () => {
    const { meshes } = await form(2);
    const values = [
      null,
      true,
      0,
      -1.5,
      '',
      'ünï✂',
      [],
      [1, [2]],
      {},
      { a: { b: null } },
      { toJSON: () => 'self' },
    ];
    const heard = messages(meshes[1]!, 'any', values.length);
    for (const value of values) meshes[0]!.send(1, 'any', value);
    expect((await heard).map(([, body]) => body)).toEqual(JSON.parse(JSON.stringify(values)));
  });

  it.each([undefined, KEY])('carry bytes of any length up to the limit, key %s', async (key) => {
    const { meshes } = await form(2, { key });
    const lengths = [0, 1, 100, 65_536, 1024 * 1024 - 300];
    const all = lengths.map((length) => Uint8Array.from({ length }, (_, i) => (i * 31 + length) & 0xff));
    for (const to of [0, 1]) {
      const heard = messages(meshes[to]!, 'bytes', all.length);
      for (const bytes of all) meshes[0]!.send(to, 'bytes', bytes);
      const bodies = (await heard).map(([, body]) => body as Uint8Array);
      expect(bodies.map((body) => Buffer.compare(body, all[bodies.indexOf(body)]!))).toEqual(
        all.map(() => 0),
      );
      for (const body of bodies) expect(Object.getPrototypeOf(body)).toBe(Uint8Array.prototype);
    }
    const tooLarge = new Uint8Array(1024 * 1024);
    expect(thrown(() => meshes[0]!.send(1, 'bytes', tooLarge)).code).toBe('ERR_RDMC_MESH_FRAME_TOO_LARGE');
  });

  it('to oneself arrive later, in order, as copies', async () => {
    const { meshes } = await form(1);
    const body = { n: 1 };
    const heard = messages(meshes[0]!, 'me', 2);
    meshes[0]!.send(0, 'me', body);
    expect(meshes[0]!.bufferedBytes(0)).toBeGreaterThan(0);
    body.n = 2;
    meshes[0]!.send(0, 'me', body);
    expect(await heard).toEqual([
      [0, { n: 1 }],
      [0, { n: 2 }],
    ]);
  });

  it('wait for the first subscriber, and later ones wait behind them', async () => {
    const { meshes } = await form(2);
    for (let i = 0; i < 5; i++) meshes[0]!.send(1, 'early', i);
    meshes[0]!.send(1, 'mark', null);
    await messages(meshes[1]!, 'mark', 1);
    const heard = messages(meshes[1]!, 'early', 6);
    meshes[0]!.send(1, 'early', 5);
    expect((await heard).map(([, body]) => body)).toEqual([0, 1, 2, 3, 4, 5]);
    meshes[0]!.send(1, 'early', 6);
    expect(await messages(meshes[1]!, 'early', 1)).toEqual([[0, 6]]);
  });

  it('reach every subscriber of their topic, and no other topic', async () => {
    const { meshes } = await form(2);
    const other: unknown[] = [];
    meshes[1]!.onMessage('other', (_from, body) => other.push(body));
    const twice = [messages(meshes[1]!, 't', 1), messages(meshes[1]!, 't', 1)];
    meshes[0]!.send(1, 't', 'x');
    expect(await Promise.all(twice)).toEqual([[[0, 'x']], [[0, 'x']]]);
    expect(other).toEqual([]);
  });

  it('that nobody reads are kept up to a bound; beyond it their sender is cut off', async () => {
    const { meshes, cores } = await form(3);
    for (let i = 0; i < MAX_KEPT_MESSAGES; i++) meshes[2]!.send(0, 'unread', i);
    meshes[2]!.send(0, 'mark', null);
    await messages(meshes[0]!, 'mark', 1);
    expect(meshes[0]!.failed.size).toBe(0);
    meshes[2]!.send(0, 'unread', 'one more');
    hide(cores[2]!);
    expect((await failureOf(meshes[1]!, 2)).code).toBe('ERR_RDMC_MESH_UNREAD_OVERFLOW');
    const kept = await messages(meshes[0]!, 'unread', MAX_KEPT_MESSAGES);
    expect(kept.at(-1)).toEqual([2, MAX_KEPT_MESSAGES - 1]);
    await assertWhole(meshes.slice(0, 2));
  });

  it('beyond the bound of buffered bytes are refused until it has fallen', async () => {
    const { meshes } = await form(2, { maxBufferedBytes: 256 * 1024 });
    const block = 'x'.repeat(60_000);
    let sent = 0;
    const error = thrown(() => {
      // Nothing leaves this process before the loop turns; a hundred of them pass the bound for certain.
      for (let i = 0; i < 100; i++) {
        meshes[0]!.send(1, 'big', block);
        sent += 1;
      }
    });
    expect(error.code).toBe('ERR_RDMC_MESH_BACKPRESSURE');
    expect(meshes[0]!.bufferedBytes(1)).toBeGreaterThan(0);
    expect(thrown(() => meshes[0]!.broadcast('big', block)).code).toBe('ERR_RDMC_MESH_BACKPRESSURE');
    expect((await messages(meshes[1]!, 'big', sent)).length).toBe(sent);
    await until(() => meshes[0]!.bufferedBytes(1) === 0);
    await assertWhole(meshes);
  });

  it('that are too large, or no JSON, or without a topic are refused, and nothing is sent', async () => {
    const where = await place(2);
    const sides = [where.join(0), where.join(1, { maxFrameBytes: 64 * 1024 })];
    const [a, b] = await Promise.all(sides.map(({ mesh }) => mesh));
    const large = 'x'.repeat(64 * 1024);
    expect(thrown(() => a!.send(1, 't', large)).code).toBe('ERR_RDMC_MESH_FRAME_TOO_LARGE');
    const circular: { self?: unknown } = {};
    circular.self = circular;
    for (const body of [undefined, () => 1, 1n, circular, new ArrayBuffer(4), new Uint16Array(2)]) {
      expect(thrown(() => a!.send(1, 't', body)).code).toBe('ERR_RDMC_MESH_INVALID_BODY');
    }
    for (const topic of ['', 'x'.repeat(257)]) {
      expect(thrown(() => a!.send(1, topic, 1)).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
    }
    for (const to of [2, -1, Number.NaN]) {
      expect(thrown(() => a!.send(to, 't', 1)).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
    }
    const heard = messages(a!, 't', 1);
    b!.send(0, 't', large);
    expect((await heard)[0]![1]).toBe(large);
  });
});

describe('requests', () => {
  it('are answered, by others and by oneself', async () => {
    const { meshes } = await form(2);
    for (const mesh of meshes)
      mesh.onRequest('add', async (from, body) => [from, (body as number) + mesh.id]);
    expect(await meshes[0]!.request(1, 'add', 10)).toEqual([0, 11]);
    expect(await meshes[1]!.request(0, 'add', 10)).toEqual([1, 10]);
    expect(await meshes[1]!.request(1, 'add', 10)).toEqual([1, 11]);
  });

  it('and their answers carry bytes', async () => {
    const { meshes } = await form(2);
    for (const mesh of meshes) mesh.onRequest('reverse', (_from, body) => (body as Uint8Array).toReversed());
    const large = Uint8Array.from({ length: 300_000 }, (_, i) => i & 0xff);
    for (const mesh of meshes) {
      expect(await mesh.request(1, 'reverse', Uint8Array.of(1, 2, 3))).toEqual(Uint8Array.of(3, 2, 1));
      // Vitest compares arrays byte by byte, which takes most of a second for so many.
      const answer = await mesh.request(0, 'reverse', large);
      expect(Buffer.compare(answer as Uint8Array, large.toReversed())).toBe(0);
    }
  });

  it('wait for their handler, and nothing is answered with null', async () => {
    const { meshes } = await form(2);
    const asked = meshes[0]!.request(1, 'later', null);
    meshes[0]!.send(1, 'mark', null);
    await messages(meshes[1]!, 'mark', 1);
    meshes[1]!.onRequest('later', () => undefined);
    expect(await asked).toBeNull();
  });

  it('carry over the code and message of what the handler threw', async () => {
    const { meshes } = await form(2);
    meshes[1]!.onRequest('coded', () => {
      throw Object.assign(new Error('no such group'), { code: 'ERR_RDMC_GROUP_X' });
    });
    meshes[1]!.onRequest('plain', () => Promise.reject(new Error('plain')));
    meshes[1]!.onRequest('large', () => 'x'.repeat(2 << 20));
    meshes[1]!.onRequest('odd', () => 1n);
    const outcome = (topic: string) => meshes[0]!.request(1, topic, null).catch((error: unknown) => error);
    expect(await outcome('coded')).toBeInstanceOf(MeshRemoteError);
    expect(await outcome('coded')).toMatchObject({
      code: 'ERR_RDMC_GROUP_X',
      message: 'no such group',
      memberId: 1,
    });
    expect(await outcome('plain')).toMatchObject({ code: 'ERR_RDMC_MESH_REMOTE', message: 'plain' });
    expect(await outcome('large')).toMatchObject({ code: 'ERR_RDMC_MESH_FRAME_TOO_LARGE' });
    expect(await outcome('odd')).toMatchObject({ code: 'ERR_RDMC_MESH_INVALID_BODY' });
  });

  it('time out, can be aborted, and a late answer does no harm', async () => {
    const { meshes } = await form(2);
    let release: (value: string) => void = () => {};
    meshes[1]!.onRequest('slow', () => new Promise((resolve) => (release = resolve)));
    const error = await rejection(meshes[0]!.request(1, 'slow', null, { timeoutMs: 20 }));
    expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_REQUEST_TIMEOUT', memberId: 1 });
    const controller = new AbortController();
    const aborted = rejection(meshes[0]!.request(1, 'slow', null, { signal: controller.signal }));
    const cause = new Error('enough');
    controller.abort(cause);
    expect(await aborted).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', cause });
    const signal = controller.signal;
    expect((await rejection(meshes[0]!.request(1, 'slow', null, { signal }))).code).toBe('ERR_RDMC_ABORTED');
    release('late');
    await assertWhole(meshes);
  });

  it('have one handler per topic, and misspelt options are refused', async () => {
    const { meshes } = await form(1);
    const first = meshes[0]!.onRequest('one', () => 1);
    expect(thrown(() => meshes[0]!.onRequest('one', () => 2)).code).toBe('ERR_RDMC_MESH_HANDLER_TAKEN');
    first.close();
    meshes[0]!.onRequest('one', () => 2);
    expect(await meshes[0]!.request(0, 'one', null)).toBe(2);
    const misspelt = { timeout: 5 } as object;
    expect((await rejection(meshes[0]!.request(0, 'one', null, misspelt))).code).toBe(
      'ERR_RDMC_MESH_INVALID_OPTION',
    );
  });

  it('beyond the bound of what waits for a handler are refused', async () => {
    const { meshes } = await form(2);
    const waiting = Array.from({ length: MAX_KEPT_MESSAGES }, (_, i) => meshes[0]!.request(1, 'none', i));
    await expect(meshes[0]!.request(1, 'none', 'one more')).rejects.toMatchObject({
      code: 'ERR_RDMC_MESH_NO_HANDLER',
    });
    meshes[1]!.onRequest('none', (_from, body) => body);
    expect(await Promise.all(waiting)).toEqual(waiting.map((_, i) => i));
    await assertWhole(meshes);
  });
});
