import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** What this process may do at an address, as in /proc/self/maps: 'rw-s', or '---s' for shared memory that is PROT_NONE. */
export function protectionAt(address: number): string | undefined {
  for (const line of readFileSync('/proc/self/maps', 'utf8').split('\n')) {
    const [, begin = '', end = '', rights] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
    if (Number.parseInt(begin, 16) <= address && address < Number.parseInt(end, 16)) return rights;
  }
  return undefined;
}

/** Bytes at an address of this process, also where they are PROT_NONE: as a debugger reads them. */
export function peek(address: number, byteLength: number): Buffer {
  const memory = openSync('/proc/self/mem', 'r');
  try {
    const bytes = Buffer.alloc(byteLength);
    for (let at = 0; at < byteLength; ) {
      const count = readSync(memory, bytes, at, byteLength - at, address + at);
      if (count === 0) throw new Error(`There is no memory at address ${address + at}`);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(memory);
  }
}
