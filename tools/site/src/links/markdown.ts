/** A heading or a link of a document. */
export interface Outline {
  /** Names that links may use behind `#`, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
  /** Targets of links and pictures: `../README.md#two-commands`. */
  readonly links: readonly string[];
}

const FENCE = /^(`{3,}|~{3,})/;
const HEADING = /^#{1,6} +(.+?)#*$/;
const LINK = /!?\[(?:[^[\]]|\[[^[\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
const ATTRIBUTE = /<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"/g;

/** Reads what the check of links needs of a Markdown document. Code does not count. */
export function outlineOf(markdown: string): Outline {
  const lines = withoutFences(markdown);
  const anchors = new Set<string>();
  const seen = new Map<string, number>();
  for (const line of lines) {
    const [, title] = HEADING.exec(line) ?? [];
    if (title === undefined) continue;
    const slug = slugOf(title);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  const text = lines.join('\n').replace(/`[^`\n]+`/g, (code) => code.replace(/[[\]()<>]/g, ' '));
  const links = [...text.matchAll(LINK), ...text.matchAll(ATTRIBUTE)].map((match) => match[1]!);
  return { anchors, links };
}

function withoutFences(markdown: string): string[] {
  let fence: string | undefined;
  return markdown.split('\n').filter((line) => {
    const [, mark] = FENCE.exec(line.trimStart()) ?? [];
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence) && line.trim() === mark) {
      fence = undefined;
      return false;
    }
    return fence === undefined;
  });
}

/** The anchor that GitHub gives to a heading. */
export function slugOf(title: string): string {
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}
