import { type BigIntStats, readFileSync, writeFileSync } from 'node:fs';
import { within } from '../writer/descriptor-paths.js';
import { BYTES_FILE } from './names.js';
import { walk } from './walk.js';

const SECTOR_BYTES = 512;
/** The end of the line shows that nothing of the number is missing. */
const RECORDED = /^(\d{1,15})\n$/;

/** Bytes of an entry on disk. */
export function diskBytesOf({ blocks }: BigIntStats): number {
  return Number(blocks) * SECTOR_BYTES;
}

/**
 * Bytes on disk of what an interrupted cast has left: as they were recorded, because a cast asks for them before it answers
 * its sender, and a large tree takes longer to look at than the sender waits.
 */
export function keptBytes(directory: number): number {
  return recordedBytes(directory) ?? countBytes(directory);
}

/** Counts them once, when the cast ends. @param active called for each entry */
export function recordKeptBytes(directory: number, active: () => void): void {
  record(directory, countBytes(directory, active));
}

/** So many of them were taken. */
export function deductKeptBytes(directory: number, taken: number): void {
  // Read again: another cast may have taken some, too.
  const recorded = recordedBytes(directory);
  if (recorded !== undefined) record(directory, Math.max(0, recorded - taken));
}

/** What cannot be read counts as nothing. */
function countBytes(directory: number, active = () => {}): number {
  let bytes = 0;
  walk(directory, (stats) => {
    bytes += diskBytesOf(stats);
    active();
    return true;
  });
  return bytes;
}

/** Undefined where nothing is recorded, or only a part of the number reached the disk. */
function recordedBytes(directory: number): number | undefined {
  try {
    const text = readFileSync(within(directory, BYTES_FILE), 'latin1');
    const [, digits] = RECORDED.exec(text) ?? [];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  }
}

function record(directory: number, bytes: number): void {
  try {
    writeFileSync(within(directory, BYTES_FILE), `${bytes}\n`, { mode: 0o600 });
  } catch {
    // The disk is full: they are counted when they are needed.
  }
}
