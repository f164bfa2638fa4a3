import type { Mutant } from '../mutant.js';

/** Of the C++ core. */
const PACKAGE = { package: 'packages/verbs', language: 'C++' } as const;
const SHM = ['packages/verbs-compliance/test/soft-shm-thread.test.ts'];
const TCP = ['packages/verbs-compliance/test/soft-tcp-thread.test.ts'];
const WAIT_FOR = ['packages/verbs/test/wait-for.test.ts'];
const REFUSED = ['packages/verbs/test/refused-posts.test.ts'];

/** The soft device: how requests end. */
export const verbsRequests: readonly Mutant[] = [
  {
    id: 'verbs/rnr-without-end',
    ...PACKAGE,
    function: 'ShmWire::receiverNotReady',
    find: 'limits.rnrRetries < 7',
    replace: 'true',
    fault: 'Seven retries, which are without an end, have one.',
    tests: SHM,
  },
  {
    id: 'verbs/tcp-rnr-without-end',
    ...PACKAGE,
    function: 'TcpResponder::receiverReady',
    find: 'rnrRetries_ >= 7',
    replace: 'false',
    fault: 'Seven retries, which are without an end, have one, over TCP.',
    tests: TCP,
  },
  {
    id: 'verbs/read-rights',
    ...PACKAGE,
    function: 'ShmWire::stepRead',
    find: 'request.length - done_, kRemoteRead',
    replace: 'request.length - done_, 0',
    fault: 'A region that allows no READ is read.',
    tests: SHM,
  },
  {
    id: 'verbs/atomic-rights',
    ...PACKAGE,
    function: 'ShmWire::stepAtomic',
    find: 'resolve(request.rkey, request.remote, 8, 8, kRemoteAtomic)',
    replace: 'resolve(request.rkey, request.remote, 8, 8, 0)',
    fault: 'An atomic changes a region that allows none.',
    tests: SHM,
  },
  {
    id: 'verbs/atomic-alignment',
    ...PACKAGE,
    function: 'ShmWire::stepAtomic',
    find: 'request.remote & 7',
    replace: 'false',
    fault: 'An atomic at an address that is not a multiple of 8 is not refused as an invalid request.',
    tests: SHM,
  },
  {
    id: 'verbs/not-flushed',
    ...PACKAGE,
    function: 'QueuePair::failLocked',
    find: 'while (size_ > 0) completeHead(kFlushed, 0);',
    replace: '',
    fault: 'Requests behind the one that failed have no completion.',
    tests: SHM,
  },
  {
    id: 'verbs/flushed-as-success',
    ...PACKAGE,
    function: 'QueuePair::append',
    find: 'while (size_ > 0) completeHead(kFlushed, 0);',
    replace: 'while (size_ > 0) completeHead(kSuccess, 0);',
    fault: 'A request that is posted to a queue pair in the error state succeeds.',
    tests: SHM,
  },
  {
    id: 'verbs/failure-unsignaled',
    ...PACKAGE,
    function: 'QueuePair::completeHead',
    find: 'status != kSuccess',
    replace: 'false',
    fault: 'A failure of a request that is not signaled is not told.',
    tests: SHM,
  },
  {
    id: 'verbs/wait-released-by-end',
    ...PACKAGE,
    function: 'QueuePair::awaitedNow',
    find: 'Awaited::kNever',
    replace: 'Awaited::kCame',
    fault: 'A request that waits for a receive is released when that receive cannot come any more.',
    tests: WAIT_FOR,
  },
  {
    id: 'verbs/refused-overtaken',
    ...PACKAGE,
    function: 'SoftDevice::accept',
    find: 'broken ? uint32_t(kWrongState) : target.enqueue(slot)',
    replace: 'target.enqueue(slot)',
    fault: 'What follows a refused request in its batch is executed.',
    tests: REFUSED,
  },
  {
    id: 'verbs/receives-beyond-depth',
    ...PACKAGE,
    function: 'QueuePair::postReceive',
    find: 'receivesPosted_ - receivesConsumed_ >= receiveDepth_',
    replace: 'false',
    fault: 'A receive replaces one that is still posted.',
    tests: SHM,
  },
  {
    id: 'verbs/failure-unsolicited',
    ...PACKAGE,
    function: 'ShmWire::publish',
    find: '(request.flags & kSolicited) || status != kSuccess',
    replace: 'request.flags & kSolicited',
    fault: 'A receive that failed does not wake a thread that waits for solicited completions.',
    tests: SHM,
  },
];
