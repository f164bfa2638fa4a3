import type { ManifestEntry } from '../manifest/manifest-entry.js';

const SLASH = 0x2f;

/** First components of the paths of entries, each once. */
export function rootNames(entries: readonly ManifestEntry[]): Uint8Array[] {
  const names = new Map<string, Uint8Array>();
  for (const { path } of entries) {
    const slash = path.indexOf(SLASH);
    const name = slash === -1 ? path : path.subarray(0, slash);
    names.set(name.toString('latin1'), new Uint8Array(name));
  }
  return [...names.values()];
}
