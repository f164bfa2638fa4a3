import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository: the folder of turbo.json. The bundler moves this module, so its own path does not tell. */
export const root = rootAbove(dirname(fileURLToPath(import.meta.url)));

function rootAbove(folder: string): string {
  return existsSync(join(folder, 'turbo.json')) ? folder : rootAbove(dirname(folder));
}
