/** The example that a package's README shows: the program, and what the README says that it prints. */
export interface ReadmeExample {
  readonly code: string;
  /** Undefined if the README does not say it. */
  readonly prints: string | undefined;
  readonly anyOrder: boolean;
}

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;
/** Between the program and its output. */
const PRINTS = /^\s*It prints(, in some order)?:?\s*$/;

interface Block {
  readonly language: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function blocksOf(readme: string): Block[] {
  return [...readme.matchAll(FENCED)].map((match) => ({
    language: match[1]!,
    text: match[2]!,
    start: match.index,
    end: match.index + match[0].length,
  }));
}

function importsPackage(code: string, name: string): boolean {
  return [`'${name}'`, `'${name}/`].some((specifier) => code.includes(`from ${specifier}`));
}

/** The first program in a README that imports the package itself; undefined if there is none. */
export function readmeExample(readme: string, name: string): ReadmeExample | undefined {
  const blocks = blocksOf(readme);
  const index = blocks.findIndex(({ language, text }) => language === 'js' && importsPackage(text, name));
  if (index < 0) return undefined;
  const { text: code, end } = blocks[index]!;
  const next = blocks[index + 1];
  const between = next?.language === '' ? PRINTS.exec(readme.slice(end, next.start)) : null;
  return { code, prints: between ? next!.text : undefined, anyOrder: between?.[1] !== undefined };
}

/** The packages that a README says to install, from every `npm install`. */
export function readmeInstalls(readme: string): string[] {
  const lines = [...readme.matchAll(/^npm install (?:--?[\w-]+ )*(@rdmc\/.*)$/gm)];
  return [...new Set(lines.flatMap((line) => line[1]!.trim().split(/\s+/)))];
}
