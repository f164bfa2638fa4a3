// WRITE and SEND from one device to another, beside ib_write_bw and ib_send_bw with the same depth and sizes.
import { Opcode } from '@rdmc/verbs';
import { openPair } from './end.mjs';
import { sendAll } from './loops.mjs';
import { perftestBandwidth } from './perftest.mjs';
import { alternating, MIB, report } from './tools.mjs';

const BYTES = 48 * MIB;
/** Of the messages as many more go first: V8 has compiled the loops by then. */
const WARM = 1 / 3;
const SIZES = [64 << 10, MIB];

async function write(byteLength, count) {
  const pair = await openPair('rxe1', 'rxe0');
  const all = { opcode: Opcode.WRITE, byteLength, remote: pair.remote };
  sendAll(pair.end, { ...all, count: count * WARM });
  const seconds = sendAll(pair.end, { ...all, count });
  await pair.close();
  return (byteLength * count) / MIB / seconds;
}

async function send(byteLength, count) {
  const pair = await openPair('rxe1', 'rxe0');
  const sent = async (messages) => {
    const { done } = await pair.tell('receiveAll', { byteLength, count: messages });
    const seconds = sendAll(pair.end, { opcode: Opcode.SEND, byteLength, count: messages });
    await done;
    return seconds;
  };
  await sent(count * WARM);
  const seconds = await sent(count);
  await pair.close();
  return (byteLength * count) / MIB / seconds;
}

export async function bandwidth() {
  for (const byteLength of SIZES) {
    const count = BYTES / byteLength;
    for (const [title, ours, program] of [
      ['WRITE', write, 'ib_write_bw'],
      ['SEND', send, 'ib_send_bw'],
    ]) {
      const results = await alternating({
        ours: () => ours(byteLength, count),
        theirs: () => perftestBandwidth(program, byteLength, count),
      });
      report(`${title} ${byteLength >> 10} KiB beside ${program}`, 'MiB/s', results);
    }
  }
}
