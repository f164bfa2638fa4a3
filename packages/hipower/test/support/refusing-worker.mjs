// The protocol's worker, with one WRITE in the middle of a batch that the device refuses: its lkey is invalid.

import { protocolWorker } from '@rdmc/dataplane';
import { Opcode } from '@rdmc/verbs';
import hiPower from '../../dist/worker.js';

/** The first request with memory from this number on, counting WRITEs, is refused. */
const REFUSED = 40;

export default protocolWorker(hiPower.records, (context) => {
  let writes = 0;
  let isWrite = false;
  let hasRefused = false;
  const wrong = {
    begin(target, opcode, ...rest) {
      isWrite = opcode === Opcode.WRITE || opcode === Opcode.WRITE_WITH_IMM;
      if (isWrite) writes += 1;
      return target.begin(opcode, ...rest);
    },
    sge(target, address, length, lkey) {
      const isRefused = isWrite && writes >= REFUSED && !hasRefused;
      hasRefused ||= isRefused;
      return target.sge(address, length, isRefused ? (lkey ^ 0x1357_9bd0) >>> 0 : lkey);
    },
  };
  const submission = new Proxy(context.submission, {
    get(target, name) {
      const own = target[name];
      if (Object.hasOwn(wrong, name)) return (...rest) => wrong[name](target, ...rest);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
  return hiPower.start({ ...context, submission });
});
