// The protocol's worker on a device with one fault, once: a peer that violates the protocol. `data.breaks` selects the fault:
//   send        an unexpected SEND, before its first request
//   stale       the second WRITE of a payload carries the first one's bytes, with its footer
//   immediate   the first immediate is `data.value`

import { protocolWorker } from '@rdmc/dataplane';
import { Opcode, WorkRequestFlag } from '@rdmc/verbs';
import hiPower from '../../dist/worker.js';

const CONFIRM = 4;

export default protocolWorker(hiPower.records, (context) => {
  const { breaks, value } = context.data;
  let writes = 0;
  let immediates = 0;
  let hasSent = false;
  let firstPayload;
  let isPayload = false;
  const wrong = {
    begin(target, opcode, queuePair, ...rest) {
      isPayload = opcode === Opcode.WRITE || opcode === Opcode.WRITE_WITH_IMM;
      if (breaks === 'send' && opcode !== Opcode.RECEIVE && !hasSent) {
        hasSent = true;
        target.begin(Opcode.SEND, queuePair, CONFIRM, WorkRequestFlag.SIGNALED);
      }
      return target.begin(opcode, queuePair, ...rest);
    },
    sge(target, address, length, lkey) {
      if (breaks !== 'stale' || !isPayload) return target.sge(address, length, lkey);
      writes += 1;
      firstPayload ??= address;
      return target.sge(writes === 2 ? firstPayload : address, length, lkey);
    },
    immediate(target, given) {
      immediates += 1;
      return target.immediate(breaks === 'immediate' && immediates === 1 ? value : given);
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
