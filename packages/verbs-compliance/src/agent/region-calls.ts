import { crc32 } from 'node:zlib';
import type { AccessOptions, LocalKey, MemoryRegion, RemoteKey } from '@rdmc/verbs';
import { fillPattern, findMismatch, type Mismatch } from '../pattern.js';
import type { AgentState } from './state.js';

export interface RegionInfo {
  readonly region: number;
  readonly nativeHandle: number;
  readonly address: number;
  readonly length: number;
  readonly lkey: LocalKey;
  /** null if the device does not have one for this memory. */
  readonly rkey: RemoteKey | null;
}

export interface Range {
  readonly region: number;
  readonly offset: number;
  readonly length: number;
}

function info(state: AgentState, region: MemoryRegion): RegionInfo {
  return {
    region: state.add('region', region),
    nativeHandle: region.handle,
    address: region.address,
    length: region.byteLength,
    lkey: region.lkey,
    rkey: region.shareable ? region.rkey : null,
  };
}

/** Calls about memory regions and their contents. */
export function regionCalls(state: AgentState) {
  const view = (range: Range): Uint8Array => {
    return state.get('region', range.region).view(range.offset, range.length);
  };
  return {
    async allocate(args: { pd: number; byteLength: number; access: AccessOptions }): Promise<RegionInfo> {
      return info(state, await state.get('pd', args.pd).allocate(args.byteLength, args.access));
    },
    register(args: { pd: number; byteLength: number; access: AccessOptions }): RegionInfo {
      const memory = new Uint8Array(args.byteLength);
      return info(state, state.get('pd', args.pd).register(memory, args.access));
    },
    rkey: (args: { region: number }): number => state.get('region', args.region).rkey,
    outstanding: (args: { region: number }): number => state.get('region', args.region).outstanding,
    isClosed: (args: { region: number }): boolean => state.get('region', args.region).closed,
    closeNow: (args: { region: number }): void => state.get('region', args.region).closeNow(),
    /** Closes with a signal that is aborted already. */
    closeAborted(args: { region: number }): Promise<void> {
      return state.get('region', args.region).close({ signal: AbortSignal.abort() });
    },

    fill(args: Range & { seed: number; from: number }): void {
      fillPattern(view(args), args.seed, args.from);
    },
    check(args: Range & { seed: number; from: number }): Mismatch | null {
      return findMismatch(view(args), args.seed, args.from);
    },
    read: (args: Range): Uint8Array => view(args).slice(),
    write(args: { region: number; offset: number; bytes: Uint8Array }): void {
      view({ ...args, length: args.bytes.byteLength }).set(args.bytes);
    },
    checksum: (args: Range): number => crc32(view(args)),
    /** Revokes remote access and, in the same turn, takes the checksum that must never change again. */
    revoke(args: { region: number }): number {
      const region = state.get('region', args.region);
      region.revoke();
      return crc32(region.view());
    },
  };
}
