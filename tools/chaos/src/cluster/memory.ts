import { open, readFile } from 'node:fs/promises';

const MAX_MAPPING_BYTES = 256 * 1024 * 1024;

/**
 * Flips one bit of another process's shared memory, wherever a text is: damage to a buffer of a backup, without help of
 * the program. Resolves with the number of places where the text was found.
 */
export async function flipBitOf(pid: number, text: string, bit: number): Promise<number> {
  const wanted = Buffer.from(text);
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  const memory = await open(`/proc/${pid}/mem`, 'r+');
  let places = 0;
  try {
    for (const line of maps.split('\n')) {
      const [, from, to, permissions] = /^([0-9a-f]+)-([0-9a-f]+) (\S+) .*memfd:/.exec(line) ?? [];
      if (!permissions?.startsWith('rw')) continue;
      const [start, end] = [Number.parseInt(from!, 16), Number.parseInt(to!, 16)];
      if (end - start > MAX_MAPPING_BYTES) continue;
      const bytes = Buffer.alloc(end - start);
      await memory.read(bytes, 0, bytes.length, start);
      for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
        const place = at + ((bit >>> 3) % wanted.length);
        await memory.write(Buffer.from([bytes[place]! ^ (1 << (bit & 7))]), 0, 1, start + place);
        places += 1;
      }
    }
  } finally {
    await memory.close();
  }
  return places;
}
