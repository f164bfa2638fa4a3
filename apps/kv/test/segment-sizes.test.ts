/** Servers whose segments have another size than those of the cluster. */
import { refusal } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { SegmentSizes } from '../src/cluster/segment-sizes.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const MIB = 1024 * 1024;
const KEYS = ['a', 'b', 'c', 'd'];
const REFUSED = refusal('ERR_RDMC_KV_SEGMENT_SIZE');

type State = 'connected' | 'left';

function sizesOf(...states: State[]) {
  const peers = new Map(states.map((state, at) => [at + 1, { state, incarnation: 1 }]));
  const sizes = new SegmentSizes({ peers });
  const admit = (server: number, mib: number, isRunning = false) =>
    sizes.admit(server, { segmentBytes: mib * MIB, isRunning });
  return { peers, admit };
}

describe('the coordinator', () => {
  it('refuses other sizes, smaller and larger, and says what to do', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 8);
    admit(2, 8);
    expect(() => admit(3, 4)).toThrow(REFUSED);
    expect(() => admit(3, 16)).toThrow(REFUSED);
    expect(() => admit(3, 4)).toThrow(
      'server 3 has segments of 4 MiB, and the cluster has 8 MiB: start it with --segment-mib 8.',
    );
    admit(3, 8);
  });

  it('does not refuse where a size is not known: servers of the release before do not tell theirs', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 0);
    admit(2, 4);
    admit(3, 0);
  });

  it('does not refuse a server that runs; the largest size is that of the cluster then', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 4, true);
    admit(2, 8, true);
    expect(() => admit(3, 4)).toThrow(REFUSED);
    admit(3, 8);
    admit(1, 8);
  });

  it('forgets servers that have ended, also where their next process is here', () => {
    const { peers, admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 8);
    admit(2, 8);
    peers.set(1, { state: 'left', incarnation: 1 });
    peers.set(2, { state: 'connected', incarnation: 2 });
    admit(3, 4);
    admit(2, 4);
    expect(() => admit(1, 8)).toThrow(REFUSED);
  });
});

describe('a cluster', () => {
  it.each([4, 16])('of 8 MiB refuses a server of %i MiB, and admits one of 8', async (mib) => {
    const cluster = await TestCluster.start(3, { segmentBytes: 8 * MIB, replicas: 1 });
    try {
      const recovered = cluster.recovered(1);
      await cluster.servers.pop()!.close();
      await recovered;
      const wrong = cluster.startServer(3, { segmentBytes: mib * MIB });
      await expect(wrong).rejects.toMatchObject({
        code: 'ERR_RDMC_KV_SEGMENT_SIZE',
        message: expect.stringContaining('start it with --segment-mib 8'),
      });
      cluster.servers.push(await cluster.startServer(3));
    } finally {
      await cluster.close();
    }
  });

  it.each([4, 16])('of 8 MiB that was stopped starts with %i MiB, with its keys', async (mib) => {
    const first = await TestCluster.start(3, { segmentBytes: 8 * MIB, replicas: 1 });
    const client = await RawClient.connect(first.servers[0]!.port);
    const value = 'x'.repeat(MIB / 2);
    for (const key of KEYS) expect(await client.command('SET', key, value)).toBe('+OK\r\n');
    await client.close();
    await first.dump();
    const options = { segmentBytes: mib * MIB, replicas: 1 };
    const second = await TestCluster.start(3, options, { directory: first.directory });
    try {
      const again = await RawClient.connect(second.servers[1]!.port);
      for (const key of KEYS)
        expect(await again.command('GET', key)).toBe(`$${value.length}\r\n${value}\r\n`);
      await again.close();
    } finally {
      await second.close();
    }
  });
});
