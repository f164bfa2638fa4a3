/**
 * A protocol for contention.mjs: processes in a ring pass tokens of some bytes on, each with a SEND from the memory
 * the token was received into. A process of its own forwards and nothing else, so all time is the data plane's.
 */
import { CompletionOpcode, CompletionWord, Opcode, Status, WorkRequestFlag } from '@rdmc/verbs';

export const Command = { ADDRESS: 1, CONNECT: 2, START: 3 };

export default async function tokenRing(context) {
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
  let requestId = 0;

  const receive = (slot) => {
    submission.begin(Opcode.RECEIVE, previous.number, slot, WorkRequestFlag.SIGNALED);
    submission.sge(region.address + slot * tokenBytes, tokenBytes, region.lkey);
  };
  const send = (slot) => {
    submission.begin(Opcode.SEND, next.number, slot, WorkRequestFlag.SIGNALED);
    submission.sge(region.address + slot * tokenBytes, tokenBytes, region.lkey);
  };
  /** Once the tokens are home the neighbours leave, and what is still posted comes back flushed. */
  const ended = (words, base) => {
    const status = words[base + CompletionWord.STATUS];
    if (status !== Status.SUCCESS && inFlight > 0) throw new Error(`a token was lost: status ${status}`);
    return status !== Status.SUCCESS;
  };

  context.attach(next.number, {
    onCompletion(words, base) {
      if (ended(words, base)) return;
      const slot = words[base + CompletionWord.ID_LOW];
      // The tokens of the start were sent from nowhere: no receive is owed for them.
      if (slot < slots) receive(slot);
    },
  });
  context.attach(previous.number, {
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
      if (inFlight === 0) context.reply(requestId);
    },
  });
  const addresses = () => new TextEncoder().encode(JSON.stringify([previous.address, next.address]));
  return {
    onCommand(kind, id, payload) {
      if (kind === Command.ADDRESS) return context.reply(id, addresses());
      if (kind === Command.CONNECT) {
        const [ofPrevious, ofNext] = JSON.parse(new TextDecoder().decode(payload));
        Promise.all([previous.connect(ofPrevious), next.connect(ofNext)]).then(
          () => {
            for (let slot = 0; slot < slots; slot += 1) receive(slot);
            context.wake();
            context.reply(id);
          },
          (error) => context.fail(id, error.code, error.message),
        );
        return undefined;
      }
      requestId = id;
      hopsLeft = new Float64Array(payload.buffer)[0];
      inFlight = tokens;
      for (let token = 0; token < tokens; token += 1) {
        // Any bytes will do.
        submission.begin(Opcode.SEND, next.number, slots, WorkRequestFlag.SIGNALED);
        submission.sge(region.address, tokenBytes, region.lkey);
      }
      return undefined;
    },
  };
}
