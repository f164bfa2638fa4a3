import { attachRegion, type Device } from '@rdmc/verbs';
import { CONTROL_BYTES } from '../small/layout.js';

/** The control words of a member in the worker, drawn in `small/layout.ts`. */
export function controlWords(device: Device, region: number): Int32Array {
  const view = attachRegion(device, region).view(0, CONTROL_BYTES);
  return new Int32Array(view.buffer, view.byteOffset, CONTROL_BYTES / 4);
}
