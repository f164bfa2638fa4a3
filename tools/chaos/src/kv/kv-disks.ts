// Slots move while a disk is full.
import { fillDisk } from '../cluster/small-disk.js';
import { Ballast } from './ballast.js';
import type { Deeds, HarmedKv } from './harmed-kv.js';
import { among, begin, type Way } from './kv-moves.js';
import type { KvProcess } from './kv-server.js';
import { factsOf } from './kv-status.js';

/** A log has so many open segments at a time. */
const OPEN_SEGMENTS = 2;

export const DISKS: Deeds = { 'kv-full-disk': fullDisk };

/**
 * The disk of a server is full, so that it keeps closed segments of the others in memory. It hands slots over, or gets some. Then nobody
 * dies, or that server, or others as soon as there is space.
 */
async function fullDisk(run: HarmedKv): Promise<void> {
  const [full, ...others] = run.random.shuffled(run.living()) as [KvProcess, ...KvProcess[]];
  const ballast = new Ballast(() => run.random.pick(run.living()));
  const free = await fill(run, full, ballast);
  const way = run.random.pick(['return', 'join', 'drain'] as const);
  const death = run.random.pick(['none', 'itself', 'others'] as const);
  const before = run.cluster.coordinator.balances;
  run.killed = [];
  await begin(run, way, moved(run, way, [full, ...others]));
  await among(run);
  if (death === 'none') await run.calmly(() => run.cluster.coordinator.balanced(before));
  if (death === 'itself') await kill(run, [full]);
  if (death === 'others' || run.random.pick([true, false])) {
    await free();
    run.note(`the disk of ${full.name} has space again`);
  }
  if (death === 'others') await killOthers(run, full, way);
  await run.clients.more(run.plan.after);
  await run.calmly(() => ballast.require());
}

/** Resolves when the server has closed segments that it cannot write to its disk, with the function that frees space. */
async function fill(run: HarmedKv, full: KvProcess, ballast: Ballast): Promise<() => Promise<void>> {
  await run.calmly(() => ballast.write());
  const free = await fillDisk(run.cluster.directoryOf(full));
  run.note(`the disk of ${full.name} is full`);
  await run.calmly(async () => {
    while (!(await keepsClosed(full))) await ballast.write();
  });
  run.note('it has closed segments in memory only');
  return free;
}

async function keepsClosed(full: KvProcess): Promise<boolean> {
  if (full.gone) throw new Error(`it has ended because of its disk: ${full.report()}`);
  const { logs, buffersUsed } = (await factsOf(full))?.facts?.backup ?? { logs: [], buffersUsed: 0 };
  return buffersUsed > OPEN_SEGMENTS * logs.length;
}

/** The servers for `begin`: slots move from or to the one with the full disk. It cannot be started again. */
function moved(run: HarmedKv, way: Way, [full, first, second]: readonly KvProcess[]): readonly KvProcess[] {
  const isItself = way === 'drain' && run.random.pick([true, false]);
  return isItself ? [full!, first!] : [first!, second!];
}

/** r servers, or one where another one is away or is to go. */
async function killOthers(run: HarmedKv, full: KvProcess, way: Way): Promise<void> {
  const deaths = way === 'join' ? run.plan.shape.replicas : 1;
  const others = run.random.shuffled(run.living().filter((each) => each !== full));
  await kill(run, others.slice(0, deaths));
}

function kill(run: HarmedKv, victims: KvProcess[]): Promise<void> {
  run.killed = victims;
  return run.killAll(victims);
}
