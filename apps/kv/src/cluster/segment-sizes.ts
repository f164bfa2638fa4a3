import { KvError } from '../errors.js';
import { ComparedOption, type Peers } from './compared-option.js';
import { memberName } from './messages.js';

const MIB = 1024 * 1024;

/**
 * The sizes of the segments of the servers that are here: with smaller segments a server could not get all entries of the others, and
 * with larger ones their buffers are too small to back it up.
 */
export function segmentSizes(mesh: Peers): ComparedOption {
  return new ComparedOption(mesh, {
    // 0: the server has no log, or its release does not tell the size.
    valueOf: ({ segmentBytes }) => segmentBytes || undefined,
    refusal: otherSize,
  });
}

function otherSize(server: number, own: number, others: number): KvError {
  const [size, needed] = [own / MIB, others / MIB];
  return new KvError(
    'ERR_RDMC_KV_SEGMENT_SIZE',
    `${memberName(server)} has segments of ${size} MiB, and the cluster has ${needed} MiB: start it with --segment-mib ${needed}. ` +
      'To change the size, stop all servers, and start them with the same --segment-mib',
  );
}
