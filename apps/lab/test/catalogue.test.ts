import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { simulationBytes } from '@rdmc/simulator';
import { describe, expect, it } from 'vitest';
import { catalogue, figureOf } from '../src/catalogue/catalogue.js';
import { recordsFolder } from '../src/record/folder.js';
import { readRecords } from '../src/record/read.js';
import { root } from '../src/root.js';

/** Every figure and table of results of the three papers. */
const ALL = [
  ...['4', 'table-1', '5', '6', '7', '8', '9', '10a', '10b', '11', '12', 'section-4-5'].map(
    (id) => `rdmc-${id}`,
  ),
  ...['5a', '5b', '5c', '5d', '5e', '5f', '6a', '6b', '6c', '6d', '6e', 'resnet'].map(
    (id) => `hipower-${id}`,
  ),
  ...['7', '8', '9', '10', '11', '12', '13'].map((id) => `tailwind-${id}`),
];

describe('the catalogue', () => {
  it('has every figure, in the order of the papers', () => {
    expect(catalogue.map(({ id }) => id)).toEqual(ALL);
  });

  it('says for each figure how it is had, or what is lacking', () => {
    for (const { id, ways, lacks, shows } of catalogue) {
      expect(shows, id).not.toBe('');
      expect(ways.length > 0 || lacks !== undefined, id).toBe(true);
    }
  });

  it('names ways and facts once', () => {
    for (const { id, ways, facts } of catalogue) {
      for (const names of [ways.map((way) => way.id), facts.map((fact) => fact.id)]) {
        expect(new Set(names).size, id).toBe(names.length);
      }
    }
  });

  it('refuses a figure that does not exist, and lists those that do', () => {
    expect(() => figureOf('rdmc-99')).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_UNKNOWN_FIGURE',
        message: expect.stringContaining('rdmc-4, rdmc-table-1, rdmc-5'),
      }),
    );
  });
});

const simulated = catalogue.flatMap(({ id, ways }) =>
  ways.flatMap(({ simulations }) => (simulations === undefined ? [] : [{ id, simulations }])),
);

describe('the simulations', () => {
  it.each(simulated)(
    'of $id have options that the simulator takes, and fit into memory',
    ({ simulations }) => {
      const runs = simulations();
      expect(runs.size).toBeGreaterThan(0);
      for (const options of runs.values()) expect(simulationBytes(options)).toBeGreaterThan(0);
    },
  );

  it('are there for every figure of RDMC', () => {
    expect([...new Set(simulated.map(({ id }) => id))]).toEqual(ALL.filter((id) => id.startsWith('rdmc-')));
  });
});

describe('the records of the repository', () => {
  const records = readRecords(recordsFolder);

  it.each(records)('$figure in the way $way is of the catalogue', ({ figure, way, kind, facts }) => {
    const known = figureOf(figure);
    expect(known.ways.find(({ id }) => id === way)?.kind).toBe(kind);
    const ids = known.facts.map(({ id }) => id);
    for (const id of Object.keys(facts)) expect(ids).toContain(id);
  });

  it.each(records.filter(({ kind }) => kind !== 'measured'))(
    '$figure in the way $way has the command of this way alone',
    ({ figure, way, command }) => {
      expect(command).toBe(`npm run reproduce -- --figure ${figure} --way ${way}`);
      expect(figureOf(figure).ways.find(({ id }) => id === way)!.command).toBe(command);
    },
  );

  it('have logarithmic axes where they say so', () => {
    const panels = records.flatMap((each) => each.panels).filter(({ kind }) => kind === 'lines');
    const said = panels.filter(({ description }) => description.includes('both axes are logarithmic'));
    expect(said.length).toBeGreaterThan(20);
    for (const { x, y } of said) expect([x.scale, y.scale]).toEqual(['log2', 'log10']);
  });

  it.each(records.filter(({ page }) => page !== undefined))(
    '$figure in the way $way has the numbers of its page',
    ({ page, panels }) => {
      const text = readFileSync(join(root, 'docs/results', page!), 'utf8').replaceAll(',', '');
      for (const panel of panels) {
        for (const { name, values } of panel.series) {
          for (const value of values) {
            if (value !== null) expect(text, name).toContain(String(value));
          }
        }
      }
    },
  );
});
