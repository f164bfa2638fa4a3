import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '@rdmc/common';

/** When this resolves, the file has this text, also after a loss of power. Before, it has the former one, or none. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}.tmp`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
}
