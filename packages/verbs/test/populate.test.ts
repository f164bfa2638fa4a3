import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { openDevice } from '../src/index.js';
import { completions, connectedSides } from './support/pair.js';

/** Enough for a mapping of its own. */
const BYTES = 32 * 1_048_576;
const PAGES_KIB = BYTES / 1024;

/** Kibibytes of the mapping at an address that are there. */
function presentKiB(address: number): number {
  const start = address.toString(16);
  const text = readFileSync('/proc/self/smaps', 'utf8');
  const [, rss] = new RegExp(`^0*${start}-[0-9a-f]+ [\\s\\S]*?^Rss: +(\\d+) kB`, 'm').exec(text) ?? [];
  return Number(rss);
}

it('memory is there when it is allocated, or when it is populated', async () => {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const domain = device.allocateProtectionDomain();
  const late = await domain.allocate(BYTES, { populated: false });
  expect(presentKiB(late.address)).toBe(0);
  await late.populate();
  expect(presentKiB(late.address)).toBe(PAGES_KIB);
  const now = await domain.allocate(BYTES);
  expect(presentKiB(now.address)).toBe(PAGES_KIB);
  // Used again, it is still there.
  const { address } = late;
  await late.close();
  const again = await domain.allocate(BYTES, { populated: false });
  expect(again.address).toBe(address);
  expect(presentKiB(again.address)).toBe(PAGES_KIB);
});

it('small memory that comes with its use is not faulted in beside other memory', async () => {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const domain = device.allocateProtectionDomain();
  const late = await domain.allocate(65_536, { populated: false });
  const now = await domain.allocate(65_536);
  await domain.allocate(65_536, { populated: false });
  expect(presentKiB(now.address)).toBe(2048);
  expect(presentKiB(late.address)).toBe(0);
  late.view()[0] = 1;
  expect(presentKiB(late.address)).toBeGreaterThan(0);
});

it('a region that is closed is not populated', async () => {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const region = await device.allocateProtectionDomain().allocate(BYTES, { populated: false });
  const populating = region.populate();
  await region.close();
  await populating.catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_RDMC_REGION_CLOSED' }));
  await expect(region.populate()).rejects.toMatchObject({ code: 'ERR_RDMC_REGION_CLOSED' });
});

it.each(['shm', 'tcp'] as const)('peers write memory over %s that is not there yet', async (transport) => {
  const [a, b] = await connectedSides({ device: 'soft', transport });
  onTestFinished(async () => {
    await Promise.all([a.device.close(), b.device.close()]);
  });
  const [from, to] = await Promise.all([
    a.domain.allocate(BYTES),
    b.domain.allocate(BYTES, { remoteWrite: true, populated: false }),
  ]);
  from.view().fill(7);
  const populating = to.populate();
  a.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [from.sge()], remote: to.remote() });
  expect(await completions(a.queue, 1)).toMatchObject([{ status: 'SUCCESS' }]);
  await populating;
  expect(Buffer.compare(from.view(), to.view())).toBe(0);
});
