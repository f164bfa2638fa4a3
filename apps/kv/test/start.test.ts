/** What a process loads before it knows its options: needs the built dist. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('the package loads no HTTP, no client of etcd and no pool of threads: most servers never need them', () => {
  const lines = [
    `await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)});`,
    "const { createRequire } = await import('node:module');",
    "const files = Object.keys(createRequire('/').cache);",
    'console.log(JSON.stringify([...process.moduleLoadList, ...files]));',
  ];
  const args = ['--input-type=module', '-e', lines.join('\n')];
  const loaded: string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  expect(loaded).toContain('NativeModule tls');
  expect(loaded.filter((name) => /NativeModule (http|https|_http_server)$|piscina/.test(name))).toEqual([]);
});
