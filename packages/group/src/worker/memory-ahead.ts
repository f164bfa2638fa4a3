import { attachRegion, type Device, type LocalKey, type MemoryRegion } from '@rdmc/verbs';
import type { SlotSetup } from '../records.js';
import { SlotPool } from './slot-pool.js';

/** The functions of the group that its memory ahead calls. */
export interface AheadPort {
  place(message: number, address: number, lkey: LocalKey): void;
  /** The application is asked for memory. */
  ask(message: number, byteLength: number): void;
}

/** A receiver's memory ahead in the worker: its slots, and where they are. */
export class MemoryAhead extends SlotPool {
  constructor(device: Device, { region: handle, slots, slotBytes, stride }: SlotSetup, port: AheadPort) {
    const region: MemoryRegion = attachRegion(device, handle);
    const { address, lkey } = region;
    super(slots, slotBytes, {
      placeInSlot: (message, slot) => port.place(message, address + slot * stride, lkey),
      ask: (message, byteLength) => port.ask(message, byteLength),
    });
  }
}
