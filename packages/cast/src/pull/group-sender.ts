import { onAbort } from '@rdmc/common';
import type { Group, RdmcNode } from '@rdmc/group';
import { meshTimeoutMs } from '../mesh-timeout.js';
import type { Pump } from '../sender/pump.js';
import { connectedTo } from './connected.js';

/** The schedule of all groups of a pull. */
export const PULL_ALGORITHM = 'binomial-pipeline';

/** A group whose root is this node. */
export interface SentGroup {
  readonly node: RdmcNode;
  /** Number of the run. */
  readonly id: number;
  /** This node first. */
  readonly members: readonly number[];
  readonly blockBytes: number;
  readonly connectTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when it is formed. */
  readonly onGroup?: ((group: Group) => void) | undefined;
}

/** Forms a group, and sends to it what the pump fills. Rejects with the error of the group, which is closed in any case. */
export async function sendInGroup(pump: Pump, sent: SentGroup): Promise<void> {
  const forming = form(sent);
  // The pump may fail before it waits for the group.
  forming.then((group) => sent.onGroup?.(group)).catch(() => {});
  const forget = onAbort(sent.signal, () => {
    forming.then((group) => group.close({ signal: AbortSignal.abort() })).catch(() => {});
  });
  try {
    const order = { seal: undefined, isLastStream: false, outlined: false };
    await pump.run(forming, { first: 0, order, onOutline: () => {} });
  } catch (error) {
    const group = await forming;
    if (!group.signal.aborted) await group.close({ signal: AbortSignal.abort() }).catch(() => {});
    throw error;
  } finally {
    forget();
  }
  await (await forming).close();
}

async function form(sent: SentGroup): Promise<Group> {
  const { node, id, members, blockBytes, signal, stallTimeoutMs } = sent;
  const timeoutMs = meshTimeoutMs(sent.connectTimeoutMs, members.length);
  await connectedTo(node, members, { timeoutMs, signal });
  return node.createGroup({
    ...{ id, members, blockBytes, timeoutMs, signal },
    algorithm: PULL_ALGORITHM,
    // A pull sends regions only.
    smallMessageBytes: 0,
    // The stall watch decides which member has stalled: it has more information than the devices.
    retryTimeoutMs: stallTimeoutMs,
  });
}
