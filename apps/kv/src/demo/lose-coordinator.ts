import { type LocalCluster, MemberProcess } from './processes.js';

/** What happened when the coordinator was killed. */
export interface CoordinatorLoss {
  /** Whether a standby followed it; otherwise it was started again. */
  readonly hasStandby: boolean;
  /** From the kill to the moment at which another process coordinates. */
  readonly milliseconds: number;
}

/**
 * Kills the coordinator with -9 while keys are written. Resolves when a standby coordinates, or the coordinator that was started
 * again; that one is ended with the cluster.
 * @param write writes some keys
 */
export async function loseCoordinator(
  cluster: LocalCluster,
  write: () => Promise<void>,
  say: (line: string) => void,
): Promise<CoordinatorLoss> {
  const { coordinator, standbys } = cluster;
  const [standby] = standbys;
  const seen = standby?.eventCount;
  say(`killing the coordinator (process ${coordinator.pid}) with -9 during writes …`);
  const begun = performance.now();
  await coordinator.kill('SIGKILL');
  await write();
  const next =
    standby ?? cluster.adopt(new MemberProcess('the coordinator', cluster.argumentsOf('the coordinator')));
  let isLed = false;
  const leading = next
    .until(({ leading: term }) => term, seen)
    .then(() => {
      isLed = true;
    });
  while (!isLed) await Promise.race([write(), leading]);
  await leading;
  const milliseconds = Math.round(performance.now() - begun);
  say(
    standby
      ? `a standby coordinates after ${milliseconds} ms; no server was started again`
      : `the coordinator was started again after ${milliseconds} ms; with etcd on this machine a standby would follow it`,
  );
  return { hasStandby: standby !== undefined, milliseconds };
}
