import { join } from 'node:path';
import type { Group, MemoryRegion } from '@rdmc/group';
import type { LocalCluster } from '../cluster/local-cluster.js';
import type { MemberProcess } from '../cluster/member-process.js';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import type { HashPool } from '../hash/pool.js';
import type { DemoEvent } from './events.js';
import type { ProgressView } from './progress-view.js';

export interface Delivery {
  readonly cluster: LocalCluster;
  readonly group: Group;
  readonly region: MemoryRegion;
  readonly byteLength: number;
  /** The sender's SHA-256. */
  readonly sha256: Promise<string>;
  readonly folder: string;
  readonly pool: HashPool;
  readonly view: ProgressView;
  readonly signal: AbortSignal;
  emit(event: DemoEvent): void;
}

/** Sends the file once; every receiver writes it, and every file is hashed and compared. */
export async function deliver(delivery: Delivery): Promise<void> {
  const { cluster, group, region, byteLength } = delivery;
  const start = process.hrtime.bigint();
  const checks = cluster.receivers.map((receiver) => follow(delivery, receiver, start));
  // Both wait for the same receivers; a failure of one ends both.
  const [, results] = await cluster.guard(
    Promise.all([cluster.multicast(group, region, byteLength), Promise.all(checks)]),
  );
  const wrong = cluster.receivers.filter((_, i) => !results[i]).map(({ id }) => id);
  if (wrong.length === 0) return;
  delivery.view.stop();
  throw new CliError(
    'ERR_RDMC_VERIFY_FAILED',
    `the file of member ${wrong.join(', ')} has another SHA-256 than the sender's`,
    {
      exitCode: ExitCode.VERIFICATION_FAILED,
      advice: 'run it again with --keep to compare the files, and report this',
    },
  );
}

/** Shows one receiver's progress; resolves with whether its file is equal. */
async function follow(delivery: Delivery, receiver: MemberProcess, start: bigint): Promise<boolean> {
  const { group, view, folder, pool, signal, emit } = delivery;
  const { id: member } = receiver;
  receiver.onReport((report) => {
    if (report.type === 'progress' && report.group === group.id) {
      // The comparison uses the group again, after the bars were removed.
      if (report.bytesReceived < delivery.byteLength) view.receiving(member, report.bytesReceived);
    } else if (report.type === 'storing') view.storing(member, report.bytesWritten);
  });
  const { at } = await receiver.next('received', (report) => report.group === group.id);
  const seconds = Number(BigInt(at) - start) / 1e9;
  view.received(member, seconds);
  emit({ event: 'received', member, seconds });
  const stored = receiver.next('stored');
  receiver.command({ type: 'store', path: join(folder, `member-${member}`) });
  const { path } = await stored;
  view.hashing(member);
  const sha256 = await pool.sha256(path, signal);
  const ok = sha256 === (await delivery.sha256);
  view.verified(member, sha256, ok);
  emit({ event: 'verified', member, path, sha256, ok });
  return ok;
}
