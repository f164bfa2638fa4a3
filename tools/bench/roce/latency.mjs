// Small WRITEs between polling sides beside ib_write_lat; SENDs between sleeping sides beside ib_send_lat -e. Ours sleep in a
// blocking call, as perftest does, or in Node's event loop.
import { openPair } from './end.mjs';
import { pingByEvents, pingByWaits, pingByWrites } from './loops.mjs';
import { perftestLatency } from './perftest.mjs';
import { alternating, median, report } from './tools.mjs';

const COUNT = 1000;
/** Rounds before those that count: V8 has compiled the loops by then. */
const WARM = 500;

async function ours(ping, answer) {
  const pair = await openPair('rxe1', 'rxe0');
  const rounds = WARM + COUNT;
  const own = { address: pair.end.region.address, rkey: pair.end.region.rkey };
  const { done } = await pair.tell(answer, { rounds, remote: own });
  const times = await ping(pair.end, { rounds, remote: pair.remote });
  await done;
  await pair.close();
  return median(times.slice(WARM));
}

export async function latency() {
  const writes = await alternating({
    ours: () => ours(pingByWrites, 'answerWrites'),
    theirs: () => perftestLatency('ib_write_lat', COUNT),
  });
  report('8-byte WRITE beside ib_write_lat', 'µs', writes);
  for (const [title, ping, answer] of [
    ['in a blocking call', pingByWaits, 'answerByWaits'],
    ['in the event loop', pingByEvents, 'answerByEvents'],
  ]) {
    const sleeps = await alternating({
      ours: () => ours(ping, answer),
      theirs: () => perftestLatency('ib_send_lat', COUNT, '-e'),
    });
    report(`8-byte SEND, asleep ${title}, beside ib_send_lat -e`, 'µs', sleeps);
  }
}
