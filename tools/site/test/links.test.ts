import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { PAGES } from '../src/build/pages.js';
import { deadHtmlLinks } from '../src/links/dead-html-links.js';
import { deadLinks } from '../src/links/dead-links.js';
import { documents } from '../src/links/documents.js';
import { outlineOf, slugOf } from '../src/links/markdown.js';
import { root } from '../src/root.js';

it('every link between documents of the repository leads somewhere', () => {
  const found = documents();
  expect(found).toContain('README.md');
  expect(found).toContain('packages/group/README.md');
  expect(found).toContain('docs/guides/first-multicast.md');
  expect(deadLinks(root, found)).toEqual([]);
});

it('every document of docs is a page of the site', () => {
  const pages = ['docs/README.md', ...PAGES.map(({ file }) => file)];
  expect(documents().filter((path) => path.startsWith('docs/') && !pages.includes(path))).toEqual([]);
});

describe('the check of links', () => {
  it('finds files and headings that do not exist', () => {
    const folder = temporaryDirectory('links');
    mkdirSync(join(folder, 'sub'));
    writeFileSync(
      join(folder, 'a.md'),
      '# One, two\n\n[a](b.md) [b](sub) [c](#one-two) [d](none.md) [e](#two)\n',
    );
    writeFileSync(
      join(folder, 'b.md'),
      '[x](a.md#one-two) [y](a.md#three) ![z](z.png) [w](https://example.com/x)\n',
    );
    expect(deadLinks(folder, ['a.md', 'b.md'])).toEqual([
      'a.md: none.md',
      'a.md: #two',
      'b.md: a.md#three',
      'b.md: z.png',
    ]);
  });

  it('does not read code', () => {
    const { links, anchors } = outlineOf(
      '# A\n```\n# B\n[x](y)\n```\n`[x](z)` [[1]](w) <img src="v.svg">\n# A\n',
    );
    expect(links).toEqual(['w', 'v.svg']);
    expect([...anchors]).toEqual(['a', 'a-1']);
  });

  it('names headings as GitHub does', () => {
    expect(slugOf('Two commands')).toBe('two-commands');
    expect(slugOf("Bulk data, and the mesh's `send`")).toBe('bulk-data-and-the-meshs-send');
    expect(slugOf('`RdmcNode.join(options): Promise<RdmcNode>`')).toBe('rdmcnodejoinoptions-promiserdmcnode');
    expect(slugOf('[@rdmc/verbs](../verbs)')).toBe('rdmcverbs');
  });

  it('reads the pages of a site', () => {
    const folder = temporaryDirectory('site');
    mkdirSync(join(folder, 'x'));
    writeFileSync(
      join(folder, 'index.html'),
      '<h2 id="top"></h2><a href="x/a.html#b">1</a><a href="x/">2</a>',
    );
    writeFileSync(
      join(folder, 'x/a.html'),
      '<a href="../index.html#top">1</a><a href="#c">2</a><a href="https://a.b/">3</a>',
    );
    expect(deadHtmlLinks(folder)).toEqual(['index.html: x/a.html#b', 'index.html: x/', 'x/a.html: #c']);
  });
});
