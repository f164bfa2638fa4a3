import type { End } from '../../rig/end.js';
import { connected, type EndOptions, type Peer } from '../../rig/peer.js';

/** One peer relays what another one sends back to it: `from` → `incoming`, `outgoing` → `to`. */
export interface Relay {
  readonly from: End;
  readonly incoming: End;
  readonly outgoing: End;
  readonly to: End;
}

export async function relayOf(outer: Peer, relay: Peer, options: EndOptions = {}): Promise<Relay> {
  const [[from, incoming], [outgoing, to]] = await Promise.all([
    connected(outer, relay, options),
    connected(relay, outer, options),
  ]);
  return { from, incoming, outgoing, to };
}
