import { within } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';

/**
 * Resolves when this node is connected to all of these members: the news of a newcomer may be on its way.
 * @throws Error after the time, or the reason of the signal
 */
export async function connectedTo(
  node: RdmcNode,
  members: readonly number[],
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const isMissing = (): boolean =>
    members.some((id) => id !== node.id && node.mesh.peers.get(id)?.state !== 'connected');
  if (!isMissing()) return;
  let forget = (): void => {};
  const all = new Promise<void>((resolve) => {
    const events = node.onMember(() => {
      if (!isMissing()) resolve();
    });
    forget = () => events.close();
  });
  const late = (): Error => new Error('a member of the group is not connected');
  try {
    await within(all, { ...limits, late });
  } finally {
    forget();
  }
}
