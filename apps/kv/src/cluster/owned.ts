import type { Command } from '../commands/command.js';
import { slotOfCursor } from '../commands/scan.js';
import type { Arguments } from '../resp/arguments.js';
import { slotOfKey } from '../store/slot.js';

/** The slot of a command's first key; −1: it does not have keys. */
export function slotOfCommand(command: Command, args: Arguments): number {
  if (command.route === 'scan') {
    return slotOfCursor(args.integer(1)) ?? -1;
  }
  if (command.step === 0 || args.count <= command.first) return -1;
  return slotOfKey(args, command.first);
}

/** Whether this server owns the slots of all keys of a command. */
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

/** Adds the slots of all keys of a command to a set. */
export function addSlots(command: Command, args: Arguments, slots: Set<number>): void {
  ownsAll(command, args, (slot) => {
    slots.add(slot);
    return true;
  });
}
