// A multicast to four members on four devices beside three pairs of ib_write_bw at once.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../multicast/cluster.mjs';
import { perftestStream } from './perftest.mjs';
import { alternating, busySeconds, MIB, median, report } from './tools.mjs';

const DEVICES = ['rxe0', 'rxe1', 'rxe2', 'rxe3'];
/** Members that wait for a processor are not dead: nobody watches for silence, and all have time to come. */
export const ON_RXE = { devices: DEVICES, silenceTimeoutMs: 0, timeoutMs: 180_000 };
const SIZE = 16 * MIB;
const PAIRS = [
  [0, 1],
  [2, 3],
  [1, 2],
];
const PAIR_SIZE = 64 << 10;
/** As the group chooses, unless RDMC_BENCH_BLOCK says otherwise. */
const BLOCK = Number(process.env.RDMC_BENCH_BLOCK) || undefined;

/** Bytes of one packet of theirs: payload, and headers of Ethernet, IPv4, UDP and InfiniBand with its checksum. */
const PAYLOAD = 4096;
const PACKET = PAYLOAD + 14 + 20 + 8 + 12 + 4;
const WINDOW_MS = 3000;

/** Bytes that came to a device's network interface since it was made. */
const received = (device) => Number(readFileSync(`/sys/class/net/e${device}/statistics/rx_bytes`, 'utf8'));
const allReceived = () => PAIRS.map(([, to]) => received(to));

/** All pairs send for longer than they are looked at, so that what is added up was there at the same time. */
async function pairs() {
  const before = allReceived();
  const stops = await Promise.all(
    PAIRS.map(([from, to]) => perftestStream('ib_write_bw', PAIR_SIZE, from, to)),
  );
  while (allReceived().some((bytes, i) => bytes - before[i] < MIB)) await delay(20);
  const [bytes, start] = [allReceived(), process.hrtime.bigint()];
  await delay(WINDOW_MS);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const moved = allReceived().reduce((sum, each, i) => sum + each - bytes[i], 0);
  for (const stop of stops) await stop();
  return ((moved / PACKET) * PAYLOAD) / MIB / seconds;
}

export async function multicast() {
  const cluster = await Cluster.start(ON_RXE.devices.length, { ...ON_RXE, allocateBytes: SIZE });
  await cluster.open({ id: 1, algorithm: 'binomial-pipeline', blockBytes: BLOCK, warm: true });
  await cluster.multicast(SIZE);
  await cluster.multicast(SIZE);
  const busy = [];
  const results = await alternating({
    async ours() {
      const before = busySeconds();
      const ms = await cluster.multicast(SIZE);
      busy.push(busySeconds() - before);
      await cluster.verify();
      return ((DEVICES.length - 1) * SIZE) / MIB / (ms / 1000);
    },
    theirs: pairs,
  });
  await cluster.close();
  await cluster.stop();
  report('16 MiB to four members beside three pairs of ib_write_bw, delivered in all', 'MiB/s', results);
  console.log(`processor seconds of the machine per multicast: ${median(busy).toFixed(2)}`);
}
