import type { SuiteContext } from '../suite-context.js';
import { atomics } from './atomics.js';
import { barriers } from './barriers.js';
import { channels } from './channels.js';
import { connecting } from './connecting.js';
import { lifecycle } from './lifecycle.js';
import { manyQueuePairs } from './many.js';
import type { ChapterName } from './names.js';
import { oneSided } from './one-sided.js';
import { opcodes } from './opcodes.js';
import { ordering } from './ordering.js';
import { peerDeath } from './peer-death.js';
import { postingErrors } from './posting-errors.js';
import { regions } from './regions.js';
import { remoteErrors } from './remote-errors.js';
import { requests } from './requests.js';
import { receiverNotReady } from './rnr.js';
import { scatterGather } from './scatter-gather.js';
import { signalling } from './signalling.js';
import { sizes } from './sizes.js';
import { waiting } from './waiting/index.js';

export const CHAPTERS: Readonly<Record<ChapterName, (context: SuiteContext) => void>> = {
  opcodes,
  sizes,
  'scatter-gather': scatterGather,
  requests,
  signalling,
  ordering,
  'receiver not ready': receiverNotReady,
  'remote errors': remoteErrors,
  'posting errors': postingErrors,
  atomics,
  'one-sided': oneSided,
  channels,
  'many queue pairs': manyQueuePairs,
  waiting,
  regions,
  barriers,
  'peer death': peerDeath,
  connecting,
  lifecycle,
};
