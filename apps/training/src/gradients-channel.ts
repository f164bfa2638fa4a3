import type { ChannelOptions } from '@rdmc/hipower';
import { numberedBytes } from './numbered-floats.js';

const MAX_SLOT_BYTES = 65_536;
/** Outstanding gradients of a worker: the trainer holds one while it waits for those of the others. */
const GRADIENTS_UNDER_WAY = 2;

/** The gather channel of a crew: every worker sends, the trainer receives. A gradient uses as many slots as it needs. */
export function gradientsChannel(crew: number, parameters: number): ChannelOptions {
  const bytes = numberedBytes(parameters);
  const slotBytes = Math.min(MAX_SLOT_BYTES, Math.ceil(bytes / 8) * 8);
  const slots = GRADIENTS_UNDER_WAY * Math.ceil(bytes / slotBytes);
  return { channel: `gradients-${crew}`, slots, slotBytes };
}
