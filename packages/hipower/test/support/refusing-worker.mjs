// The protocol's worker on a device that refuses one WRITE in the middle of a batch, as a real one may.

import { Opcode, PostError } from '@rdmc/verbs';
import createHiPower from '../../dist/worker.js';

/** Refuses the request of this number, counting WRITEs. */
const REFUSED = 40;

export default function createRefusing(context) {
  let writes = 0;
  const submission = new Proxy(context.submission, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      if (name !== 'begin') return value.bind(target);
      return (opcode, ...rest) => {
        const isWrite = opcode === Opcode.WRITE || opcode === Opcode.WRITE_WITH_IMM;
        if (isWrite) writes += 1;
        if (isWrite && writes === REFUSED) {
          throw new PostError('ERR_RDMC_QUEUE_FULL', 'the queue is full, says the test', 0);
        }
        return value.call(target, opcode, ...rest);
      };
    },
  });
  return createHiPower({ ...context, submission });
}
