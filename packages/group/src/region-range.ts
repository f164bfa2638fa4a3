import type { Device, MemoryRegion } from '@rdmc/verbs';
import { GroupError } from './errors.js';
import type { RegionRange } from './group-options.js';
import { refuseOthers } from './message-bytes.js';
import type { SendRange } from './send-queue.js';

/**
 * Checks a region or a part of one: it must be of this node, open, and have at least `neededBytes`, if given.
 * @throws GroupError ERR_RDMC_INVALID_REGION; ERR_RDMC_INVALID_MESSAGE for text and other arrays in `send`
 */
export function checkRange(
  where: string,
  given: MemoryRegion | RegionRange,
  neededBytes: number | undefined,
  device: Device,
): SendRange {
  const range: RegionRange = isRange(given) ? given : { region: given };
  const { region, offset = 0 } = range;
  if (typeof region?.address !== 'number' || region.device?.handle !== device.handle) {
    if (where === 'send') refuseOthers(given);
    throw invalid(where, 'needs a region of this node: from node.allocate(), or from node.protectionDomain');
  }
  if (region.closed) throw invalid(where, 'the region is closed; allocate another one');
  const byteLength = neededBytes ?? range.byteLength ?? region.byteLength - offset;
  const fits = isSize(offset) && isSize(byteLength) && offset + byteLength <= region.byteLength;
  const room = range.byteLength ?? Number.POSITIVE_INFINITY;
  if (!fits || room < byteLength) {
    throw invalid(
      where,
      `${byteLength} bytes from offset ${offset} do not fit into the given part of a region of ${region.byteLength} bytes`,
    );
  }
  return { region, offset, byteLength };
}

/**
 * The device writes the first block into memory without host access, with the remote key.
 * @throws GroupError ERR_RDMC_INVALID_REGION
 */
export function checkWritable(region: MemoryRegion): void {
  if (region.hostAccess || region.remoteWrite) return;
  throw invalid('incoming', 'a region without host access needs the access right remoteWrite');
}

function isRange(given: MemoryRegion | RegionRange): given is RegionRange {
  return typeof given === 'object' && given !== null && 'region' in given;
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function invalid(where: string, what: string): GroupError {
  return new GroupError('ERR_RDMC_INVALID_REGION', `${where}: ${what}`);
}
