import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

describe('README', () => {
  const readme = read('README.md');

  it('shows the example that is in example.mjs, and what it prints', () => expectExample(root));

  it('shows the example of members that come and go, and what it prints', async () => {
    const path = 'examples/members-come-and-go.mjs';
    expect(readme).toContain(`\`\`\`js\n${read(path)}\`\`\``);
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL(path, root))]);
    expect(readme).toContain(`\`\`\`\n${stdout}\`\`\``);
  });

  it('lists every error code of the source', () => {
    const source = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => read(`src/${file}`))
      .join('\n');
    const codes = new Set(source.match(/ERR_RDMC_(?:MESH|ID|REPLACED)(?:_[A-Z]+)*/g));
    const listed = readme.replaceAll('`...', '`ERR_RDMC_MESH');
    expect(codes.size).toBeGreaterThan(25);
    expect([...codes].filter((code) => !listed.includes(`\`${code}\``))).toEqual([]);
  });
});
