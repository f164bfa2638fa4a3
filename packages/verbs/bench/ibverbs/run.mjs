// The addon's cost per operation on the ibverbs path, without the provider's own cost: posts and polls batches of
// 16 WRITEs on a fake libibverbs whose requests complete at once. The provider alone is measured in the same run, by
// a C++ loop that makes the same calls. Both alternate; medians of processor time are printed.
//
//   node bench/ibverbs/run.mjs [rounds]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BATCH = 16;
const BATCHES = 100_000;
const rounds = Number(process.argv[2] ?? 7);

const library = execFileSync(process.execPath, [here('../../test/native/fake-ibverbs/build.mjs')], {
  encoding: 'utf8',
}).trim();
process.env.RDMC_IBVERBS_LIBRARY = library;
process.env.FAKE_IBVERBS_SINK = '1';
const { openDevice, Opcode, WorkRequestFlag, Layout, Word } = await import('@rdmc/verbs');
const { threadCpuSeconds } = await import('@rdmc/verbs/loop');
const addon = createRequire(import.meta.url)(here('../../native/build/Release/rdmc_verbs.node'));

const folder = mkdtempSync(join(tmpdir(), 'rdmc-bench-ibverbs-'));
const loop = join(folder, 'provider-loop');
execFileSync('g++', ['-std=gnu++20', '-O3', here('provider-loop.cc'), '-o', loop]);

const device = await openDevice({ device: 'fake0' });
const domain = device.allocateProtectionDomain();
const cq = device.createCompletionQueue({ depth: 1024 });
const queuePair = domain.createQueuePair({ sendQueue: cq, receiveQueue: cq, sendDepth: 128 });
await queuePair.connect(queuePair.address);
const region = await domain.allocate(4096);

// Processor time, so that other load does not count.
const now = () => threadCpuSeconds() * 1e9;
const perOperation = (start) => (now() - start) / (BATCH * BATCHES);

function drain(poll) {
  for (let left = BATCH; left > 0; ) left -= poll();
}

// The requests are in the batch already: only the addon's own work is measured.
const slots = new Uint8Array(Layout.WORK_REQUEST_BYTES * Layout.BATCH_SLOTS);
const words = new Uint32Array(slots.buffer);
const control = new Uint32Array(4);
const ring = addon.submissionDoorbell(device.handle, slots, control);
for (let i = 0; i < BATCH; i += 1) {
  const at = i * Layout.WORK_REQUEST_WORDS;
  words[at + Word.OPCODE] = Opcode.WRITE;
  words[at + Word.QUEUE_PAIR] = queuePair.number;
  words[at + Word.FLAGS] = WorkRequestFlag.SIGNALED;
  words[at + Word.SGE_COUNT] = 1;
  words[at + Word.SGE] = region.address % 2 ** 32;
  words[at + Word.SGE + 1] = region.address / 2 ** 32;
  words[at + Word.SGE + 2] = 64;
  words[at + Word.SGE + 3] = region.lkey;
}
function addonOnly() {
  const start = now();
  for (let round = 0; round < BATCHES; round += 1) {
    control[0] = BATCH;
    if (ring() !== 0) throw new Error('a request was refused');
    drain(cq.pollBatch);
  }
  return perOperation(start);
}

// With TypeScript's fast path, which writes each request.
const submission = device.createSubmissionQueue();
function withTypeScript() {
  const start = now();
  for (let round = 0; round < BATCHES; round += 1) {
    for (let i = 0; i < BATCH; i += 1) {
      submission.begin(Opcode.WRITE, queuePair.number, i, WorkRequestFlag.SIGNALED);
      submission.sge(region.address, 64, region.lkey);
      submission.remote(0x1000, 9);
    }
    submission.flush();
    drain(cq.pollBatch);
  }
  return perOperation(start);
}

const provider = () =>
  Number(execFileSync(loop, [library, String(BATCH), String(BATCHES)], { encoding: 'utf8' }));

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const seen = { provider: [], addon: [], typescript: [] };
addonOnly();
withTypeScript();
for (let i = 0; i < rounds; i += 1) {
  seen.provider.push(provider());
  seen.addon.push(addonOnly());
  seen.typescript.push(withTypeScript());
}
const own = median(seen.provider);
const result = {
  batch: BATCH,
  providerNs: own,
  addonNs: median(seen.addon),
  typescriptNs: median(seen.typescript),
  addonAboveProviderNs: median(seen.addon) - own,
  typescriptAboveProviderNs: median(seen.typescript) - own,
};
console.log(
  JSON.stringify(result, (_, value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value), 2),
);
rmSync(folder, { recursive: true });
await device.close();
