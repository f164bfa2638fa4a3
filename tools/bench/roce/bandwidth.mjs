// WRITE and SEND from one device to another, beside ib_write_bw and ib_send_bw with the same depth and sizes.
import { Opcode } from '@rdmc/verbs';
import { openPair } from './end.mjs';
import { sendAll } from './loops.mjs';
import { perftestBandwidth } from './perftest.mjs';
import { alternating, MIB, report } from './tools.mjs';

const BYTES = 48 * MIB;
const SIZES = [64 << 10, MIB];

async function write(sizeBytes, count) {
  const pair = await openPair('rxe1', 'rxe0');
  const seconds = sendAll(pair.end, { opcode: Opcode.WRITE, sizeBytes, count, remote: pair.remote });
  await pair.close();
  return (sizeBytes * count) / MIB / seconds;
}

async function send(sizeBytes, count) {
  const pair = await openPair('rxe1', 'rxe0');
  const { done } = await pair.tell('receiveAll', { sizeBytes, count });
  const seconds = sendAll(pair.end, { opcode: Opcode.SEND, sizeBytes, count });
  await done;
  await pair.close();
  return (sizeBytes * count) / MIB / seconds;
}

export async function bandwidth() {
  for (const sizeBytes of SIZES) {
    const count = BYTES / sizeBytes;
    for (const [title, ours, program] of [
      ['WRITE', write, 'ib_write_bw'],
      ['SEND', send, 'ib_send_bw'],
    ]) {
      const results = await alternating({
        ours: () => ours(sizeBytes, count),
        theirs: () => perftestBandwidth(program, sizeBytes, count),
      });
      report(`${title} ${sizeBytes >> 10} KiB beside ${program}`, 'MiB/s', results);
    }
  }
}
