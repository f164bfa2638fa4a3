import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Coordinator, CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { EtcdStore, type EtcdStoreOptions } from '@rdmc/tailwind/etcd';
import { refusal } from '@rdmc/testing';
import { Etcd, noEtcd } from '@rdmc/testing/etcd';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { EtcdClient } from '../src/coordinator/etcd-store-client.js';
import { checkEtcdOptions } from '../src/coordinator/etcd-store-options.js';
import { deletionOf } from '../src/coordinator/etcd-watch.js';
import { startCluster } from './support/cluster.js';
import { LossyProxy, TLS_FILES } from './support/lossy-proxy.js';
import { stateStoreContract } from './support/state-store-contract.js';

let etcd: Etcd;
let places = 0;

/** Options for an unused prefix. Time-outs that a test does not check are long. */
function fresh(options: Partial<EtcdStoreOptions> = {}): EtcdStoreOptions {
  places += 1;
  return { endpoints: [etcd.endpoint], prefix: `/test/${places}/`, timeoutMs: 60_000, ...options };
}

async function open(options: EtcdStoreOptions): Promise<EtcdStore> {
  const store = await EtcdStore.open(options);
  onTestFinished(() => store.close());
  return store;
}

/** Has the effect of a leader that was silent for too long. */
async function depose({ prefix }: EtcdStoreOptions): Promise<void> {
  await etcd.ask('/v3/kv/deleterange', { key: Buffer.from(`${prefix}lead`).toString('base64') });
}

/**
 * From now on until the end of the test, 10 s pass between two looks at the clock. So a time-out of 60 s ends after a few
 * attempts, and each of them has longer than a busy machine keeps this process from its processor.
 */
function hurry(): void {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 10_000;
    return now;
  });
  onTestFinished(() => clock.mockRestore());
}

async function leases(): Promise<string[]> {
  const { leases: all } = (await etcd.ask('/v3/lease/leases', {})) as { leases?: { ID: string }[] };
  return (all ?? []).map(({ ID }) => ID);
}

async function secondsLeft(ID: string): Promise<number> {
  const { TTL } = (await etcd.ask('/v3/lease/timetolive', { ID })) as { TTL?: string };
  return Number(TTL ?? -1);
}

describe.skipIf(noEtcd)(`etcd${noEtcd ? ` (${noEtcd})` : ''}`, () => {
  beforeAll(async () => {
    etcd = await Etcd.start(await reserveLoopbackPorts(2));
  });
  afterAll(() => etcd.stop());

  describe('as a state store', () => {
    stateStoreContract(() => {
      const options = fresh();
      return { open: () => EtcdStore.open(options) };
    });
  });

  describe('two coordinators at once', () => {
    it('a leader that was replaced can neither read nor write, and is notified', async () => {
      const options = fresh();
      const first = await open(options);
      const revision = await first.put('a', 'one', 0);
      await depose(options);
      const second = await open(options);
      const lost = refusal('ERR_RDMC_STATE_LOST');
      await expect(first.put('a', 'two', revision)).rejects.toEqual(lost);
      expect(first.signal.aborted).toBe(true);
      await expect(first.get('a')).rejects.toEqual(lost);
      await expect(first.list('')).rejects.toEqual(lost);
      expect(await second.get('a')).toEqual({ value: 'one', revision });
      await second.put('a', 'three', revision);
    });

    it('a leader that was replaced also detects it by a read', async () => {
      const options = fresh();
      const first = await open(options);
      await depose(options);
      await expect(first.get('a')).rejects.toEqual(refusal('ERR_RDMC_STATE_LOST'));
      expect(first.signal.aborted).toBe(true);
    });

    it('a standby waits until the leader closes', async () => {
      const options = fresh();
      const first = await EtcdStore.open(options);
      await first.put('a', 'one', 0);
      let isOpen = false;
      const standby = open({ ...options, waitMs: Number.POSITIVE_INFINITY }).then((store) => {
        isOpen = true;
        return store;
      });
      await expect(EtcdStore.open({ ...options, waitMs: 300 })).rejects.toEqual(
        refusal('ERR_RDMC_STATE_LOCKED'),
      );
      expect(isOpen).toBe(false);
      await first.close();
      expect((await (await standby).get('a'))?.value).toBe('one');
    });

    it('a standby is told by etcd when the leader is gone', async () => {
      const options = fresh({ leadMs: 3_600_000 });
      const first = await EtcdStore.open(options);
      onTestFinished(() => first.close());
      const client = new EtcdClient(checkEtcdOptions(options));
      onTestFinished(async () => client.close());
      const { header } = (await etcd.ask('/v3/kv/range', { key: 'AA==' })) as {
        header: { revision: string };
      };
      const next = Number(header.revision) + 1;
      const gone = deletionOf(client, `${options.prefix}lead`, next, new AbortController().signal);
      await first.put('a', 'one', 0);
      await depose(options);
      expect(await gone).toBe(true);
      // A key that was deleted before the watch began counts, too.
      expect(await deletionOf(client, `${options.prefix}lead`, next, new AbortController().signal)).toBe(
        true,
      );
      expect(await deletionOf(client, 'other', next, AbortSignal.abort())).toBe(false);
    });

    it('a standby stops to wait where it is told to, and does not lead later', async () => {
      const options = fresh();
      const first = await EtcdStore.open(options);
      const end = new AbortController();
      const standby = EtcdStore.open({ ...options, waitMs: Number.POSITIVE_INFINITY, signal: end.signal });
      end.abort(new Error('enough'));
      await expect(standby).rejects.toThrow('enough');
      await first.close();
      expect((await open(options)).signal.aborted).toBe(false);
    });

    it('a state of a newer version is refused, and not changed', async () => {
      const options = fresh();
      await (await EtcdStore.open(options)).close();
      const key = Buffer.from(`${options.prefix}format`).toString('base64');
      await etcd.ask('/v3/kv/put', { key, value: Buffer.from('2').toString('base64') });
      const refused = refusal('ERR_RDMC_STATE_FOREIGN_VERSION');
      await expect(EtcdStore.open(options)).rejects.toEqual(refused);
      // It does not keep the lead from the newer version.
      await expect(EtcdStore.open(options)).rejects.toEqual(refused);
    });

    it('the level is kept, and a process of a lower one does not lead', async () => {
      const options = fresh();
      const first = await EtcdStore.open(options, { least: 1, most: 1 });
      expect(first.level).toBe(1);
      await first.close();
      const second = await EtcdStore.open(options, { least: 1, most: 2 });
      expect(second.level).toBe(1);
      await second.raiseLevel(2);
      expect(second.level).toBe(2);
      await second.close();
      const refused = refusal('ERR_RDMC_STATE_FOREIGN_VERSION');
      await expect(EtcdStore.open(options, { least: 1, most: 1 })).rejects.toEqual(refused);
      await expect(EtcdStore.open(options, { least: 3, most: 4 })).rejects.toEqual(refused);
      const third = await EtcdStore.open(options, { least: 2, most: 3 });
      expect(third.level).toBe(2);
      await third.close();
    });

    it('a standby whose lease ran out takes another one', async () => {
      const options = fresh();
      const first = await EtcdStore.open(options);
      const before = await leases();
      const standby = open({ ...options, waitMs: Number.POSITIVE_INFINITY });
      let own: string[] = [];
      while (own.length === 0) own = (await leases()).filter((id) => !before.includes(id));
      for (const ID of own) await etcd.ask('/v3/lease/revoke', { ID });
      await first.close();
      expect((await standby).signal.aborted).toBe(false);
    });

    it('a lease that runs out just before the key is made is replaced', async () => {
      const proxy = await LossyProxy.start(etcd.endpoint);
      onTestFinished(() => proxy.stop());
      const before = await leases();
      const revoked: string[] = [];
      proxy.before = async (path) => {
        if (path !== '/v3/kv/txn' || revoked.length > 0) return;
        revoked.push(...(await leases()).filter((id) => !before.includes(id)));
        for (const ID of revoked) await etcd.ask('/v3/lease/revoke', { ID });
      };
      const store = await open(fresh({ endpoints: [proxy.endpoint] }));
      expect(revoked).toHaveLength(1);
      await store.put('a', 'one', 0);
    });

    it('keeps the lead as long as it lives: it renews its lease in time', async () => {
      // Longer than a busy machine keeps this process from a renewal that is due.
      const leadSeconds = 60;
      const options = fresh({ leadMs: 1000 * leadSeconds });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const before = await leases();
      const first = await open(options);
      const [lease] = (await leases()).filter((id) => !before.includes(id));
      for (let renewal = 0; renewal < 2; renewal += 1) {
        // Real time passes at etcd, whole seconds of it, and a third of the lease by this process's timers.
        let left: number;
        do left = await secondsLeft(lease!);
        while (left >= leadSeconds - 1);
        vi.advanceTimersByTime((1000 * leadSeconds) / 3);
        while ((await secondsLeft(lease!)) <= left);
      }
      await expect(EtcdStore.open(options)).rejects.toEqual(refusal('ERR_RDMC_STATE_LOCKED'));
      await first.put('a', 'one', 0);
    });

    it('a coordinator that was replaced does not grant leases or raise minima', async () => {
      const [member] = await startCluster(2);
      const options = fresh();
      const coordinator = await Coordinator.open({
        mesh: member!.mesh,
        store: await EtcdStore.open(options),
      });
      onTestFinished(() => coordinator.close());
      const client = new CoordinatorClient(member!.mesh, 0);
      const { logId } = await client.createLog();
      const lease = await client.lease(logId);
      lease.close();
      await depose(options);
      const successor = await open(options);
      expect((await successor.list('log/')).size).toBe(1);
      const lost = refusal('ERR_RDMC_STATE_LOST');
      await expect(client.lease(logId)).rejects.toEqual(lost);
      const ref = { logId, segmentId: 1n };
      await expect(client.raiseMinimum(ref, { segmentId: 1n, epoch: 2 })).rejects.toEqual(lost);
      await expect(client.beginRecovery(logId)).rejects.toEqual(lost);
    });
  });

  describe('endpoints that fail', () => {
    it('are skipped: one that refuses connections, one that is silent', async () => {
      const silent = createServer(() => {});
      silent.listen(0, '127.0.0.1');
      await once(silent, 'listening');
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as { port: number };
      const endpoints = ['http://127.0.0.1:1', `http://127.0.0.1:${port}`, etcd.endpoint];
      const store = await open(fresh({ endpoints, timeoutMs: 24_000 }));
      await store.put('a', 'one', 0);
      expect((await store.get('a'))?.value).toBe('one');
    });

    it('all of them: the error has a code, and the failure of each', async () => {
      hurry();
      const opening = EtcdStore.open(fresh({ endpoints: ['http://127.0.0.1:1'] }));
      await expect(opening).rejects.toEqual(refusal('ERR_RDMC_STATE_UNREACHABLE'));
      await expect(opening).rejects.toThrow('ECONNREFUSED');
    });

    it('after a lost answer the change was made once, and its revision is known', async () => {
      const proxy = await LossyProxy.start(etcd.endpoint);
      onTestFinished(() => proxy.stop());
      const store = await open(fresh({ endpoints: [proxy.endpoint], timeoutMs: 120_000 }));
      proxy.answersToLose = 1;
      const revision = await store.put('a', 'one', 0);
      expect(proxy.lost).toBe(1);
      expect(await store.get('a')).toEqual({ value: 'one', revision });
      await expect(store.put('a', 'one', 0)).rejects.toEqual(refusal('ERR_RDMC_STATE_CONFLICT'));
    });

    it('after a lost refusal the change was not made, and is not reported as made', async () => {
      const proxy = await LossyProxy.start(etcd.endpoint);
      onTestFinished(() => proxy.stop());
      const store = await open(fresh({ endpoints: [proxy.endpoint], timeoutMs: 120_000 }));
      await store.put('a', 'one', 0);
      proxy.answersToLose = 1;
      await expect(store.put('a', 'two', 0)).rejects.toEqual(refusal('ERR_RDMC_STATE_CONFLICT'));
      expect(proxy.lost).toBe(1);
      expect((await store.get('a'))?.value).toBe('one');
    });

    it('the error names an endpoint that is not an etcd', async () => {
      const proxy = await LossyProxy.start('http://127.0.0.1:1');
      await proxy.stop();
      const { createServer: createHttpServer } = await import('node:http');
      const web = createHttpServer((_, answer) => answer.end('<html>'));
      web.listen(0, '127.0.0.1');
      await once(web, 'listening');
      onTestFinished(() => void web.close());
      const { port } = web.address() as { port: number };
      hurry();
      const opening = EtcdStore.open(fresh({ endpoints: [`http://127.0.0.1:${port}`] }));
      await expect(opening).rejects.toThrow('is this an etcd');
    });
  });

  it('with user and password: admitted with the right ones, also after a token became invalid', async () => {
    const own = await Etcd.start(await reserveLoopbackPorts(2));
    onTestFinished(() => own.stop());
    await own.ask('/v3/auth/user/add', { name: 'root', password: 'secret' });
    await own.ask('/v3/auth/role/add', { name: 'root' });
    await own.ask('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await own.ask('/v3/auth/enable', {});
    const options = { endpoints: [own.endpoint], timeoutMs: 60_000 };
    await expect(EtcdStore.open(options)).rejects.toEqual(refusal('ERR_RDMC_STATE_REFUSED'));
    const wrong = EtcdStore.open({ ...options, user: 'root', password: 'wrong' });
    await expect(wrong).rejects.toEqual(refusal('ERR_RDMC_STATE_REFUSED'));
    const store = await open({ ...options, user: 'root', password: 'secret' });
    const revision = await store.put('a', 'one', 0);
    const admin = await own.ask('/v3/auth/authenticate', { name: 'root', password: 'secret' });
    const { token } = admin as { token: string };
    // Any change of users makes all tokens invalid.
    await fetch(`${own.endpoint}/v3/auth/user/add`, {
      method: 'POST',
      headers: { authorization: token },
      body: JSON.stringify({ name: 'other', password: 'x' }),
    });
    await store.put('a', 'two', revision);
    expect((await store.get('a'))?.value).toBe('two');
  });

  it('over TLS with certificates on both sides, and not without', async () => {
    const own = await Etcd.start(await reserveLoopbackPorts(2), TLS_FILES);
    onTestFinished(() => own.stop());
    const ca = readFileSync(TLS_FILES.certificate);
    const key = readFileSync(TLS_FILES.key);
    const options = { endpoints: [own.endpoint], timeoutMs: 1000 };
    await expect(EtcdStore.open(options)).rejects.toEqual(refusal('ERR_RDMC_STATE_UNREACHABLE'));
    await expect(EtcdStore.open({ ...options, tls: { ca } })).rejects.toEqual(
      refusal('ERR_RDMC_STATE_UNREACHABLE'),
    );
    const store = await open({ ...options, tls: { ca, cert: ca, key }, timeoutMs: 60_000 });
    await store.put('a', 'one', 0);
    expect((await store.get('a'))?.value).toBe('one');
  });
});

describe('options of the etcd store', () => {
  it.each([
    ['no endpoints', { endpoints: [] }, 'ERR_RDMC_INVALID_OPTION'],
    ['no address', { endpoints: ['127.0.0.1:2379'] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a user without a password', { user: 'root' }, 'ERR_RDMC_INVALID_OPTION'],
    ['a lead of half a second', { leadMs: 500 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a misspelt option', { endpoint: 'http://127.0.0.1:1' }, 'ERR_RDMC_UNKNOWN_OPTION'],
  ])('refuses %s', async (_, changes, code) => {
    const options = { endpoints: ['http://127.0.0.1:1'], ...changes };
    await expect(EtcdStore.open(options)).rejects.toEqual(refusal(code));
  });
});
