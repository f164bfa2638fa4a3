/** The soft device with one fault, named by the option `fault`: for testing that the suite finds it. */
import { openDevice as openSound } from '@rdmc/verbs';

/** Replaces `object[name]` by `change(original, ...arguments)`. */
function patch(object, name, change) {
  const original = object[name].bind(object);
  object[name] = (...args) => change(original, ...args);
}

const everyRequest = (change) => (qp) => {
  patch(qp, 'postSend', (post, ...requests) => post(...requests.map(change)));
};
const everyPoll = (change) => (cq) => patch(cq, 'poll', (poll) => change(poll()));

/** fault → its change of queue pairs, completion queues, regions or channels when they are created. */
const FAULTS = {
  'sends the byte before': {
    qp: everyRequest((request) => {
      const sges = request.sges?.map((sge) =>
        sge.byteLength === 65 ? { ...sge, address: sge.address - 1 } : sge,
      );
      return sges ? { ...request, sges } : request;
    }),
  },
  'loses bit 31 of immediates': {
    qp: everyRequest((request) => {
      return request.immediate === undefined
        ? request
        : { ...request, immediate: request.immediate & 0x7fff_ffff };
    }),
  },
  'cuts ids to 32 bits': { qp: everyRequest((request) => ({ ...request, id: request.id >>> 0 })) },
  'signals everything': { qp: everyRequest((request) => ({ ...request, signaled: true })) },
  'completes in reverse': { cq: everyPoll((completions) => completions.reverse()) },
  'hides flushes': {
    cq: everyPoll((completions) => completions.filter(({ status }) => status !== 'WORK_REQUEST_FLUSHED')),
  },
  'counts one byte too many': {
    cq: everyPoll((completions) => completions.map((each) => ({ ...each, byteLength: each.byteLength + 1 }))),
  },
  'does not revoke': { region: (region) => patch(region, 'revoke', () => undefined) },
  'misses some events': {
    channel: (channel) => {
      let events = 0;
      patch(channel, 'onEvent', (onEvent, listener) => {
        onEvent(() => {
          events += 1;
          if (events % 50 !== 0) listener();
        });
      });
    },
  },
  'wakes for everything': { cq: (cq) => patch(cq, 'arm', (arm) => arm()) },
  'fetches and adds twice': {
    qp: (qp) => {
      let adds = 0;
      patch(qp, 'postSend', (post, ...requests) => {
        post(...requests);
        const last = requests.at(-1);
        if (last.opcode !== 'FETCH_AND_ADD') return;
        adds += 1;
        if (adds % 10 === 0) post({ ...last, signaled: false });
      });
    },
  },
  'writes the second half first': {
    qp: (qp) => {
      patch(qp, 'postSend', (post, ...requests) => {
        const [{ sges, remote, ...request }] = requests;
        if (request.opcode !== 'WRITE' || sges[0].byteLength < 1_000_000) return post(...requests);
        const half = sges[0].byteLength / 2;
        const part = (offset) => ({
          ...request,
          sges: [{ ...sges[0], address: sges[0].address + offset, byteLength: half }],
          remote: { ...remote, address: remote.address + offset },
        });
        post({ ...part(half), signaled: false });
        // Long enough for a reader on a busy machine to look in between.
        const until = performance.now() + 2;
        while (performance.now() < until);
        return post(part(0));
      });
    },
  },
  none: {},
};

export async function openDevice({ fault, ...options }) {
  const { qp, cq, region, channel } = FAULTS[fault];
  const device = await openSound(options);
  const changed = (object, change) => {
    change?.(object);
    return object;
  };
  patch(device, 'createCompletionQueue', (create, ...args) => changed(create(...args), cq));
  patch(device, 'createCompletionChannel', (create) => changed(create(), channel));
  patch(device, 'allocateProtectionDomain', (allocate) => {
    const pd = allocate();
    patch(pd, 'createQueuePair', (create, ...args) => changed(create(...args), qp));
    patch(pd, 'allocate', async (create, ...args) => changed(await create(...args), region));
    return pd;
  });
  return device;
}
