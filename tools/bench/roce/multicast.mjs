// A multicast to four members on four devices beside three pairs of ib_write_bw at once.
import { Cluster } from '../multicast/cluster.mjs';
import { perftestBandwidth } from './perftest.mjs';
import { alternating, MIB, report } from './tools.mjs';

const DEVICES = ['rxe0', 'rxe1', 'rxe2', 'rxe3'];
/** Members that wait for a processor are not dead: nobody watches for silence. */
export const ON_RXE = { devices: DEVICES, silenceTimeoutMs: 0 };
const SIZE = 16 * MIB;
const PAIRS = [
  [0, 1],
  [2, 3],
  [1, 2],
];
const PAIR_SIZE = 64 << 10;

async function pairs() {
  const each = PAIRS.map(([from, to]) =>
    perftestBandwidth('ib_write_bw', PAIR_SIZE, SIZE / PAIR_SIZE, from, to),
  );
  return (await Promise.all(each)).reduce((sum, value) => sum + value, 0);
}

export async function multicast() {
  const cluster = await Cluster.start(ON_RXE.devices.length, { ...ON_RXE, allocateBytes: SIZE });
  await cluster.open({ id: 1, algorithm: 'binomial-pipeline', warm: true });
  await cluster.multicast(SIZE);
  await cluster.multicast(SIZE);
  const results = await alternating({
    async ours() {
      const ms = await cluster.multicast(SIZE);
      await cluster.verify();
      return ((DEVICES.length - 1) * SIZE) / MIB / (ms / 1000);
    },
    theirs: pairs,
  });
  await cluster.close();
  await cluster.stop();
  report('16 MiB to four members beside three pairs of ib_write_bw, delivered in all', 'MiB/s', results);
}
