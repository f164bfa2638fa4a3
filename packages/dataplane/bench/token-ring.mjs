/**
 * A protocol for contention.mjs: processes in a ring forward tokens of some bytes, each with a SEND from the memory
 * into which the token was received. Each process only forwards, so all time is that of the data plane.
 */
import { call, json, nothing, numbers, protocolWorker, recordTable } from '@rdmc/dataplane';
import { CompletionOpcode, CompletionWord, Opcode, Status, WorkRequestFlag } from '@rdmc/verbs';

export const tokenRecords = recordTable({
  commands: {
    /** The addresses of this process for its neighbours: [previous, next]. */
    addresses: call(nothing, json()),
    connect: call(json()),
    /** Answers when the tokens have made that number of hops from here, and are back. */
    start: call(numbers(1)),
  },
  events: {},
});

export default protocolWorker(tokenRecords, async (context) => {
  const { protectionDomain, completionQueue, submission, data } = context;
  const { tokens, tokenBytes, first } = data;
  const slots = tokens + 1;
  const options = {
    sendQueue: completionQueue,
    receiveQueue: completionQueue,
    sendDepth: slots,
    receiveDepth: slots,
  };
  const previous = protectionDomain.createQueuePair(options);
  const next = protectionDomain.createQueuePair(options);
  const region = await protectionDomain.allocate(slots * tokenBytes);
  let hopsLeft = 0;
  let inFlight = 0;
  let home;

  const receive = (slot) => {
    submission.begin(Opcode.RECEIVE, previous.number, slot, WorkRequestFlag.SIGNALED);
    submission.sge(region.address + slot * tokenBytes, tokenBytes, region.lkey);
  };
  const send = (slot) => {
    submission.begin(Opcode.SEND, next.number, slot, WorkRequestFlag.SIGNALED);
    submission.sge(region.address + slot * tokenBytes, tokenBytes, region.lkey);
  };
  /** Once the tokens are back the neighbours leave, and requests that are still posted are flushed. */
  const ended = (words, base) => {
    const status = words[base + CompletionWord.STATUS];
    if (status !== Status.SUCCESS && inFlight > 0) throw new Error(`a token was lost: status ${status}`);
    return status !== Status.SUCCESS;
  };

  context.attach(next, {
    onCompletion(words, base) {
      if (ended(words, base)) return;
      const slot = words[base + CompletionWord.ID_LOW];
      // The first tokens were not received, so no receive is posted again for them.
      if (slot < slots) receive(slot);
    },
  });
  context.attach(previous, {
    onCompletion(words, base) {
      if (ended(words, base)) return;
      if (words[base + CompletionWord.OPCODE] !== CompletionOpcode.RECEIVE) return;
      const slot = words[base + CompletionWord.ID_LOW];
      if (!first || hopsLeft > 0) {
        hopsLeft -= 1;
        send(slot);
        return;
      }
      receive(slot);
      inFlight -= 1;
      if (inFlight === 0) home();
    },
  });
  return {
    commands: {
      addresses: () => [previous.address, next.address],
      async connect([ofPrevious, ofNext]) {
        await Promise.all([previous.connect(ofPrevious), next.connect(ofNext)]);
        for (let slot = 0; slot < slots; slot += 1) receive(slot);
        context.wake();
      },
      start: (hops) =>
        new Promise((resolve) => {
          home = resolve;
          hopsLeft = hops;
          inFlight = tokens;
          for (let token = 0; token < tokens; token += 1) {
            // The content does not matter.
            submission.begin(Opcode.SEND, next.number, slots, WorkRequestFlag.SIGNALED);
            submission.sge(region.address, tokenBytes, region.lkey);
          }
        }),
    },
  };
});
