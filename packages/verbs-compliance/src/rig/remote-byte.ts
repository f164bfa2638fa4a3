import { waitFor } from '../wait.js';
import type { End } from './end.js';
import type { PeerRegion } from './region.js';

/** READs one byte of a peer's region repeatedly until it has a value: the peer's thread does not need to run. */
export async function remoteByte(
  end: End,
  target: PeerRegion,
  offset: number,
  wanted: number,
): Promise<void> {
  const local = await end.peer.region(8);
  await waitFor(
    () => `byte ${offset} of peer ${target.peer.label} to become ${wanted}`,
    async () => {
      await end.run({ opcode: 'READ', sges: [local.sge(0, 1)], remote: target.remote(offset) });
      return (await local.read(0, 1))[0] === wanted ? true : undefined;
    },
  );
}
