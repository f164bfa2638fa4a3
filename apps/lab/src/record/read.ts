import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readShape, ShapeError } from '@rdmc/common/shapes';
import { LabError } from '../errors.js';
import { type FigureRecord, type Panel, RECORD_VERSION, recordShape } from './record.js';

/** The file of a record. */
export function fileOf(folder: string, figure: string, way: string): string {
  return join(folder, `${figure}.${way}.json`);
}

/** All records of a folder, in the order of their names; none if the folder does not exist. @throws LabError */
export function readRecords(folder: string): FigureRecord[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => readRecord(join(folder, name)));
}

/** One record; `undefined` if there is no such file. @throws LabError */
export function recordOf(folder: string, figure: string, way: string): FigureRecord | undefined {
  const path = fileOf(folder, figure, way);
  return existsSync(path) ? readRecord(path) : undefined;
}

/**
 * Reads one file.
 * @throws LabError ERR_RDMC_RECORD_DAMAGED for a file that is cut short or not a record, ERR_RDMC_RECORD_VERSION
 */
export function readRecord(path: string): FigureRecord {
  const name = basename(path);
  const value = parsed(readFileSync(path, 'utf8'), name);
  checkVersion(value, name);
  try {
    const found = readShape(recordShape, value, name);
    checkName(found, name);
    found.panels.forEach((panel, index) => {
      checkPanel(panel, `${name}: panels.${index}`);
    });
    return found;
  } catch (error) {
    if (error instanceof ShapeError) throw damaged(error.message);
    throw error;
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damaged(`${name} is not JSON, perhaps because it was cut short: ${(error as Error).message}`);
  }
}

/** The version first: a record of another version may have any other field. */
function checkVersion(value: unknown, name: string): void {
  const version = (value as { version?: unknown } | null)?.version;
  if (version === RECORD_VERSION) return;
  if (typeof version !== 'number') throw damaged(`${name} does not have a version`);
  throw new LabError(
    'ERR_RDMC_RECORD_VERSION',
    `${name} has version ${version} of the format, and this program reads version ${RECORD_VERSION}`,
  );
}

function checkName({ figure, way }: FigureRecord, name: string): void {
  if (name === basename(fileOf('', figure, way))) return;
  throw damaged(`${name} is the record of ${figure} in the way ${way}`);
}

function checkPanel({ kind, x, y, series }: Panel, where: string): void {
  if (x.scale === 'log2' && x.values.some((value) => typeof value === 'string' || value <= 0)) {
    throw damaged(`${where}: ${x.label} has a value that a logarithmic scale does not have`);
  }
  for (const { name, values } of series) {
    if (values.length !== x.values.length) {
      throw damaged(`${where}: ${name} has ${values.length} values for ${x.values.length} of ${x.label}`);
    }
    const drawn = values.filter((value) => value !== null);
    if (kind !== 'table' && y.scale === 'log10' && drawn.some((value) => value <= 0)) {
      throw damaged(`${where}: ${name} has a value that a logarithmic scale does not have`);
    }
  }
  if (series.every(({ values }) => values.every((value) => value === null))) {
    throw damaged(`${where} does not have a value`);
  }
}

function damaged(message: string): LabError {
  return new LabError('ERR_RDMC_RECORD_DAMAGED', message);
}
