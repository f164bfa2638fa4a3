import { createSchedule } from '@rdmc/schedule';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockName } from '../../src/explorer/scene.js';
import { racksOf, readSettings } from '../../src/explorer/settings.js';
import { addressOf, faultsOf, launch, missing, visit } from './browser.js';

const EXPLORER = addressOf('explorer.html');

/** The state that the page shows. */
function stateOf(
  page: Page,
): Promise<{ clock: string; panels: Record<string, string | undefined>[]; moves: string[] }> {
  return page.evaluate(() => {
    const panels = [...document.querySelectorAll<HTMLElement>('.panel')];
    return {
      clock: document.querySelector('#clock')!.textContent!,
      panels: panels.map(({ dataset }) => ({ ...dataset })),
      moves: panels.map((panel) => panel.querySelector('.moves')!.textContent!),
    };
  });
}

describe.skipIf(missing)(
  `the schedule explorer in a browser${missing ? ` [skipped: ${missing}]` : ''}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    });
    afterAll(() => browser?.close());

    it('loads without errors, and shows the pipeline beside sequential sending', async () => {
      await using opened = await visit(browser, EXPLORER);
      const { clock, panels } = await stateOf(opened.page);
      expect(clock).toBe('step 0');
      expect(panels.map(({ algorithm, steps }) => [algorithm, steps])).toEqual([
        ['sequential', '28'],
        ['binomial-pipeline', '6'],
      ]);
      expect(opened.errors).toEqual([]);
    });

    it.each([
      '#beside=none',
      '#algorithm=hybrid&beside=binomial-tree&nodes=12&blocks=7&racks=3',
      '#algorithm=chain&nodes=5&blocks=30&beside=none',
    ])('shows every step of the library: %s', async (hash) => {
      await using opened = await visit(browser, EXPLORER + hash);
      const { settings } = readSettings(hash);
      const algorithms = [settings.beside, settings.algorithm].filter((name) => name !== 'none');
      const schedules = algorithms.map((algorithm) =>
        createSchedule({
          algorithm,
          nodes: settings.nodes,
          blocks: settings.blocks,
          racks: racksOf(settings),
        }),
      );
      const last = Math.max(...schedules.map(({ steps }) => steps));
      for (let step = 0; step < last; step += 1) {
        const { moves, panels } = await stateOf(opened.page);
        schedules.forEach((schedule, index) => {
          const isOver = step >= schedule.steps;
          const transfers = isOver ? [] : [...schedule.at(step)];
          const text = transfers.map(
            ({ from, to, block }) => `${from}→${to} ${blockName(block, settings.blocks)}`,
          );
          if (!isOver) expect(moves[index]).toBe(text.join(', '));
          expect(panels[index]).toMatchObject({
            steps: `${schedule.steps}`,
            total: `${settings.blocks * (settings.nodes - 1)}`,
          });
        });
        await opened.page.getByRole('button', { name: 'One step forward' }).click();
      }
      for (const { delivered, total } of (await stateOf(opened.page)).panels) expect(delivered).toBe(total);
      expect(opened.errors).toEqual([]);
    });

    it('its address keeps settings and time', async () => {
      await using opened = await visit(browser, EXPLORER);
      const { page } = opened;
      await page.getByRole('spinbutton', { name: 'Members' }).fill('11');
      await page.getByRole('spinbutton', { name: 'Blocks' }).fill('6');
      await page.getByRole('combobox', { name: 'Algorithm' }).selectOption('chain');
      await page.getByRole('checkbox', { name: 'One slow link' }).check();
      await page.getByRole('spinbutton', { name: 'and', exact: true }).fill('4');
      await page.getByRole('combobox', { name: 'Beside it' }).selectOption('binomial-tree');
      for (let i = 0; i < 3; i += 1) await page.getByRole('button', { name: 'One step forward' }).click();
      const state = await stateOf(page);
      expect(state.clock).toBe('time 3');
      await using again = await visit(browser, page.url());
      expect(await stateOf(again.page)).toEqual(state);
      expect(await again.page.getByRole('spinbutton', { name: 'Members' }).inputValue()).toBe('11');
      expect([...opened.errors, ...again.errors]).toEqual([]);
    });

    it('follows the keyboard', async () => {
      await using opened = await visit(browser, `${EXPLORER}#rate=20`);
      const { page } = opened;
      const clock = async (): Promise<string> => (await stateOf(page)).clock;
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      expect(await clock()).toBe('step 2');
      await page.keyboard.press('ArrowLeft');
      expect(await clock()).toBe('step 1');
      await page.keyboard.press('End');
      expect(await clock()).toBe('step 28');
      await page.keyboard.press('Home');
      expect(await clock()).toBe('step 0');
      await page.keyboard.press('Space');
      await page.waitForFunction(() => document.querySelector('#clock')!.textContent === 'step 28');
      expect(await page.getByRole('button', { name: 'Play' }).textContent()).toBe('Play');
      // Every control has the focus in turn.
      const ids: string[] = [];
      for (let i = 0; i < 15; i += 1) {
        await page.keyboard.press('Tab');
        ids.push(await page.evaluate(() => document.activeElement!.id));
      }
      for (const id of [
        'algorithm',
        'nodes',
        'blocks',
        'racks',
        'slow',
        'restart',
        'back',
        'play',
        'forward',
        'time',
      ]) {
        expect(ids).toContain(id);
      }
    });

    it('a key in a control belongs to the control', async () => {
      await using opened = await visit(browser, EXPLORER);
      await opened.page.getByRole('spinbutton', { name: 'Members' }).focus();
      await opened.page.keyboard.press('ArrowRight');
      expect((await stateOf(opened.page)).clock).toBe('step 0');
    });

    it('does not move blocks for people who asked for less motion', async () => {
      await using opened = await visit(browser, `${EXPLORER}#rate=20&beside=none&blocks=64`, {
        reducedMotion: 'reduce',
      });
      const { page } = opened;
      await page.evaluate(() => {
        const seen = new Set<string>();
        Object.assign(globalThis, { seen });
        const observe = (): void => {
          const line = document.querySelector('.link');
          const block = document.querySelector('.block');
          if (line && block) {
            const at = (name: string): number => Number(line.getAttribute(name));
            const [x, y] = block
              .getAttribute('transform')!
              .match(/-?\d[\d.]*(?:e-?\d+)?/g)!
              .map(Number) as [number, number];
            const isAtRest =
              Math.hypot(
                x - at('x1') - 0.3 * (at('x2') - at('x1')),
                y - at('y1') - 0.3 * (at('y2') - at('y1')),
              ) < 1e-3;
            seen.add(isAtRest ? 'at rest' : 'on its way');
          }
        };
        new MutationObserver(observe).observe(document.querySelector('#panels')!, {
          childList: true,
          subtree: true,
        });
      });
      await page.getByRole('button', { name: 'Play' }).click();
      await page.waitForFunction(() => document.querySelector('#clock')!.textContent === 'step 66');
      expect(await page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen])).toEqual([
        'at rest',
      ]);
    });

    it.each([
      ['light', 1200],
      ['dark', 1200],
      ['light', 360],
      ['dark', 360],
    ] as const)(
      '%s, %i pixels wide: nothing is cut off, and axe finds no serious fault',
      async (colorScheme, width) => {
        const address = `${EXPLORER}#time=3&slow=0-1x0.5&nodes=16`;
        await using opened = await visit(browser, address, { colorScheme, viewport: { width, height: 800 } });
        const widths = await opened.page.evaluate(
          () => [document.documentElement.scrollWidth, innerWidth] as const,
        );
        expect(widths[0]).toBeLessThanOrEqual(widths[1]);
        expect(await faultsOf(opened.page)).toEqual([]);
      },
    );
  },
);
