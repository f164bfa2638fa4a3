import type { Command } from '../commands/command.js';
import { slotOfCursor } from '../commands/scan.js';
import type { Arguments } from '../resp/arguments.js';
import { slotOfKey } from '../store/slot.js';

/** The first slot that a command concerns; −1: none. */
export function slotOfCommand(command: Command, args: Arguments): number {
  if (command.route === 'scan') {
    return slotOfCursor(args.integer(1)) ?? -1;
  }
  if (command.step === 0) return -1;
  return slotOfKey(args, 1);
}

/** Whether all slots that a command concerns are this server's. */
export function ownsAll(command: Command, args: Arguments, isOwn: (slot: number) => boolean): boolean {
  if (command.route !== 'keys') {
    const slot = slotOfCommand(command, args);
    return slot < 0 || isOwn(slot);
  }
  for (let i = 1; i < args.count; i += command.step) {
    if (!isOwn(slotOfKey(args, i))) return false;
  }
  return true;
}
