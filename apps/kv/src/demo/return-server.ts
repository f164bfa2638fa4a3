import { type LocalCluster, MemberProcess } from './processes.js';

/** What happened when a server that had died was started again. */
export interface ServerReturn {
  /** Slots that the others handed over to it. */
  readonly slots: number;
  /** From its start to the moment at which each server has its share of the slots. */
  readonly milliseconds: number;
}

/**
 * Starts a server again that has died, while keys are written. Resolves when the others have handed its share of the slots over to it;
 * its process is ended with the cluster.
 * @param write writes some keys
 */
export async function returnServer(
  cluster: LocalCluster,
  name: string,
  write: () => Promise<void>,
  say: (line: string) => void,
): Promise<ServerReturn> {
  const { coordinator } = cluster;
  const seen = coordinator.eventCount;
  say(`starting ${name} again, during writes …`);
  const begun = performance.now();
  cluster.adopt(new MemberProcess(name, cluster.argumentsOf(name)));
  let isBalanced = false;
  const balanced = coordinator
    .until((event) => event.balanced, seen)
    .then(() => {
      isBalanced = true;
    });
  while (!isBalanced) await Promise.race([write(), balanced]);
  await balanced;
  const milliseconds = Math.round(performance.now() - begun);
  const slots = coordinator.eventsFrom(seen).reduce((sum, { moved }) => sum + (moved?.slots ?? 0), 0);
  say(`the others handed ${slots} slots over to it in ${milliseconds} ms, while they were served`);
  return { slots, milliseconds };
}
