import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from '../root.js';

const FOLDER = join(root, 'tools/site');

/**
 * The schedule explorer as one file. Style and script are inside of the page, because browsers do not load modules
 * from `file:` addresses.
 */
export async function explorerPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, 'src/page/explorer.ts')],
    absWorkingDir: FOLDER,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    write: false,
  });
  const script = outputFiles[0]!.text.replaceAll('</script', '<\\/script');
  const style = readFileSync(join(FOLDER, 'page/explorer.css'), 'utf8');
  const page = readFileSync(join(FOLDER, 'page/explorer.html'), 'utf8');
  return page.replace('/*STYLE*/', () => `\n${style}`).replace('/*SCRIPT*/', () => script);
}
