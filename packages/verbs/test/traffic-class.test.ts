import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { fakeLibrary, useFake } from './support/fake-library.js';
import { completions, connectBoth, PATIENT, type Side, side } from './support/pair.js';

/** Differentiated services code point 46, expedited forwarding (RFC 3246). */
const URGENT = 46 << 2;
const BULK = 8 << 2;
const lacking = spawnSync('ss', ['--version']).error ? '[skipped: needs ss of iproute2]' : '';

let undo: (() => void) | undefined;
afterEach(() => undo?.());

/** The TOS bytes of the connections at both ends of that listening port, as the kernel has them. */
function classesAt(port: number): number[] {
  const filter = `( sport = :${port} or dport = :${port} )`;
  const run = spawnSync('ss', ['-tniH', '--tos', 'state', 'established', filter], { encoding: 'utf8' });
  expect(run.status, run.stderr).toBe(0);
  return [...run.stdout.matchAll(/\b(?:tos|tclass):0x([0-9a-f]+)/g)].map((found) =>
    Number.parseInt(found[1]!, 16),
  );
}

async function close(...sides: readonly Side[]): Promise<void> {
  for (const { device } of sides) await device.close();
}

describe.skipIf(lacking)(`the traffic class of a connection over TCP ${lacking}`, () => {
  it('is that of the queue pair which sends, for requests and for answers', async () => {
    const options = { device: 'soft', transport: 'tcp' } as const;
    const [a, b] = [await side(options), await side(options)];
    await a.queuePair.connect(b.queuePair.address, { ...PATIENT, trafficClass: URGENT });
    await b.queuePair.connect(a.queuePair.address, { ...PATIENT, trafficClass: BULK });
    b.queuePair.postReceive({ id: 1 });
    a.queuePair.postSend({ id: 2, opcode: 'SEND' });
    a.queuePair.postReceive({ id: 3 });
    b.queuePair.postSend({ id: 4, opcode: 'SEND' });
    await Promise.all([completions(a.queue, 2), completions(b.queue, 2)]);
    // The listener's port of b: a's requests arrive there, and b answers them.
    const seen = classesAt(Number(b.queuePair.address.tcpPort));
    expect(seen.toSorted((x, y) => x - y)).toEqual([BULK, URGENT]);
    await close(a, b);
  });

  it('is the usual one without the option', async () => {
    const options = { device: 'soft', transport: 'tcp' } as const;
    const [a, b] = [await side(options), await side(options)];
    await connectBoth(a.queuePair, b.queuePair);
    expect(classesAt(Number(b.queuePair.address.tcpPort)).filter((value) => value !== 0)).toEqual([]);
    await close(a, b);
  });
});

describe.skipIf(fakeLibrary.missing)(`an RDMA device ${fakeLibrary.missing}`, () => {
  it('gets the traffic class and the service level of a queue pair', async () => {
    undo = useFake();
    const [a, b] = [await side({ device: 'fake0' }), await side({ device: 'fake0' })];
    await a.queuePair.connect(b.queuePair.address, { trafficClass: URGENT, serviceLevel: 5 });
    await b.queuePair.connect(a.queuePair.address);
    expect(a.queuePair.queryAttributes()).toMatchObject({ trafficClass: URGENT, serviceLevel: 5 });
    expect(b.queuePair.queryAttributes()).toMatchObject({ trafficClass: 0, serviceLevel: 0 });
    await close(a, b);
  });
});
