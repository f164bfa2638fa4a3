import type { Palette } from '../ui/palette.js';
import { plural } from '../ui/units.js';
import type { CheckResult, CheckStatus, DoctorDocument } from './check.js';

const MARKS: Readonly<Record<CheckStatus, string>> = { ok: 'ok', warn: 'warn', fail: 'FAIL', info: 'info' };

function mark(status: CheckStatus, palette: Palette): string {
  const text = MARKS[status].padEnd(4);
  if (status === 'ok') return palette.green(text);
  if (status === 'warn') return palette.yellow(text);
  return status === 'fail' ? palette.red(palette.bold(text)) : palette.cyan(text);
}

function describe({ status, title, found, advice }: CheckResult, width: number, palette: Palette): string[] {
  const lines = [`${mark(status, palette)}  ${title.padEnd(width)}  ${found}`];
  if (advice) lines.push(`${' '.repeat(width + 8)}→ ${advice}`);
  return lines;
}

function verdict({ checks }: DoctorDocument, palette: Palette): string {
  const count = (status: CheckStatus): number => checks.filter((check) => check.status === status).length;
  const [fails, warns] = [count('fail'), count('warn')];
  if (fails > 0)
    return palette.red(
      `${plural(fails, 'check')} failed: follow the advice after the arrows, and run this again.`,
    );
  if (warns > 0) return palette.yellow(`Usable, with ${plural(warns, 'warning')}.`);
  return palette.green('All checks passed.');
}

/** The checks as text. */
export function describeExamination(document: DoctorDocument, palette: Palette): string[] {
  const width = Math.max(...document.checks.map(({ title }) => title.length));
  const lines = document.checks.flatMap((check) => describe(check, width, palette));
  return [...lines, '', verdict(document, palette)];
}
