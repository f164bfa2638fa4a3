const ESCAPE = '\u001b[';

/** The styles of the command: codes that turn each on and off. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/** Colours that are distinct on dark and light terminals; entry i marks block i, i + length, … */
const BLOCK_COLOURS = [39, 208, 78, 171, 220, 203, 51, 141, 118, 214, 75, 205];

type Style = (text: string) => string;
export type Palette = Readonly<Record<keyof typeof STYLES, Style>> & {
  readonly enabled: boolean;
  /** Colours text that belongs to a block. */
  block(index: number, text: string): string;
};

/** A palette that colours, or one that leaves text as it is. */
export function createPalette(enabled: boolean): Palette {
  const styles = Object.entries(STYLES).map(([name, [on, off]]): [string, Style] => [
    name,
    enabled ? (text) => `${ESCAPE}${on}m${text}${ESCAPE}${off}m` : (text) => text,
  ]);
  return {
    ...(Object.fromEntries(styles) as Record<keyof typeof STYLES, Style>),
    enabled,
    block(index, text) {
      if (!enabled) return text;
      return `${ESCAPE}38;5;${BLOCK_COLOURS[index % BLOCK_COLOURS.length]}m${text}${ESCAPE}39m`;
    },
  };
}

/** Colours only on a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb. */
export function wantsColour(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv): boolean {
  return Boolean(stream.isTTY) && !environment.NO_COLOR && environment.TERM !== 'dumb';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
const ANSI = /\u001b\[[0-9;]*m/g;

/** Number of columns that a text takes on the terminal. */
export function visibleWidth(text: string): number {
  return [...text.replace(ANSI, '')].length;
}
