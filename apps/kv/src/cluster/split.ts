import type { Buffer } from 'node:buffer';
import type { Command } from '../commands/command.js';
import type { Arguments } from '../resp/arguments.js';
import { encodeCommand } from '../resp/encode.js';
import { slotOfKey } from '../store/slot.js';

/** The part of a command for one server. `positions` are the places of its keys in the whole command. */
export interface Part {
  readonly bytes: Buffer;
  /** Of its first key, and of each key. */
  readonly slot: number;
  readonly slots: readonly number[];
  readonly positions: readonly number[];
}

/**
 * Splits a command with many keys into one per server; keys of slots without a server are grouped by slot. Each server does
 * its part in one step; the whole is not one step.
 */
export function splitByOwner(command: Command, args: Arguments, owner: (slot: number) => number): Part[] {
  const groups = new Map<number, { slots: number[]; positions: number[] }>();
  for (let i = 1, position = 0; i < args.count; i += command.step, position += 1) {
    const slot = slotOfKey(args, i);
    const member = owner(slot);
    const group = member >= 0 ? member : -1 - slot;
    const found = groups.get(group);
    if (found) {
      found.slots.push(slot);
      found.positions.push(position);
    } else groups.set(group, { slots: [slot], positions: [position] });
  }
  return [...groups.values()].map(({ slots, positions }) => {
    const words = [args.string(0)];
    for (const position of positions) {
      const first = 1 + position * command.step;
      for (let i = first; i < Math.min(args.count, first + command.step); i += 1) words.push(args.string(i));
    }
    return { slot: slots[0]!, slots, positions, bytes: encodeCommand(words) };
  });
}
