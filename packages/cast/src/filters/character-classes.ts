/** The named classes of bytes in patterns, such as `[[:digit:]]`; only ASCII letters are letters. */

type Test = (byte: number) => boolean;

const between =
  (first: string, last: string): Test =>
  (byte) =>
    byte >= first.charCodeAt(0) && byte <= last.charCodeAt(0);

const digit = between('0', '9');
const lower = between('a', 'z');
const upper = between('A', 'Z');
const alpha: Test = (byte) => lower(byte) || upper(byte);
const alnum: Test = (byte) => alpha(byte) || digit(byte);
const graph = between('!', '~');

const CLASSES: Readonly<Record<string, Test>> = {
  alnum,
  alpha,
  blank: (byte) => byte === 0x20 || byte === 0x09,
  cntrl: (byte) => byte < 0x20 || byte === 0x7f,
  digit,
  graph,
  lower,
  print: between(' ', '~'),
  punct: (byte) => graph(byte) && !alnum(byte),
  space: (byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d),
  upper,
  xdigit: (byte) => digit(byte) || between('a', 'f')(byte) || between('A', 'F')(byte),
};

export function classNamed(name: string): Test | undefined {
  return Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
}
