import { advanced, type Player, playerAt, stepped, toggled } from '../explorer/player.js';
import { readSettings, type Settings, writeSettings } from '../explorer/settings.js';
import { Form } from './form.js';
import { Panel } from './panel.js';
import { byId } from './svg.js';

const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

/** The page: settings, one clock, and one or two schedules that it moves. */
class Explorer {
  #settings!: Settings;
  #player!: Player;
  #panels!: readonly Panel[];
  #frameAt = 0;
  #nextFrame = 0;
  readonly #form = new Form((settings) => this.#configure(settings, 0));
  readonly #scrubber = byId<HTMLInputElement>('time');

  start(): void {
    this.#open();
    addEventListener('hashchange', () => this.#open());
    byId('play').addEventListener('click', () => this.#act(toggled));
    byId('back').addEventListener('click', () => this.#act((player) => stepped(player, -1)));
    byId('forward').addEventListener('click', () => this.#act((player) => stepped(player, 1)));
    byId('restart').addEventListener('click', () => this.#act(({ duration }) => playerAt(0, duration)));
    this.#scrubber.addEventListener('input', () => {
      this.#player = playerAt(this.#scrubber.valueAsNumber, this.#player.duration);
      this.#show();
    });
    // At the end of a drag: browsers limit how often the address may change.
    this.#scrubber.addEventListener('change', () => this.#act((player) => player));
    addEventListener('keydown', (event) => this.#onKey(event));
  }

  #open(): void {
    const { settings, time } = readSettings(location.hash);
    this.#configure(settings, time);
  }

  #configure(settings: Settings, time: number): void {
    this.#settings = settings;
    this.#form.show(settings);
    const { algorithm, beside } = settings;
    const names = beside === 'none' || beside === algorithm ? [algorithm] : [beside, algorithm];
    this.#panels = names.map((name) => new Panel(settings, name));
    byId('panels').replaceChildren(...this.#panels.map(({ element }) => element));
    const duration = Math.max(...this.#panels.map(({ timeline }) => timeline.duration));
    this.#scrubber.max = `${duration}`;
    this.#act(() => playerAt(time, duration));
  }

  #act(change: (player: Player) => Player): void {
    this.#player = change(this.#player);
    this.#show();
    cancelAnimationFrame(this.#nextFrame);
    if (this.#player.isPlaying) {
      this.#frameAt = performance.now();
      this.#nextFrame = requestAnimationFrame((now) => this.#frame(now));
    } else {
      history.replaceState(null, '', this.#address());
    }
  }

  #address(): string {
    return writeSettings(this.#settings, this.#player.time) || location.pathname + location.search;
  }

  #frame(now: number): void {
    this.#player = advanced(this.#player, Math.max(0, now - this.#frameAt), this.#settings.rate);
    this.#frameAt = now;
    if (this.#player.isPlaying) {
      this.#show();
      this.#nextFrame = requestAnimationFrame((later) => this.#frame(later));
    } else {
      this.#act((player) => player);
    }
  }

  #show(): void {
    const { isPlaying, time } = this.#player;
    const isSmooth = !reducedMotion.matches && (isPlaying || !Number.isInteger(time));
    // Without motion the picture changes once per step.
    const shown = reducedMotion.matches && isPlaying ? Math.floor(time) : time;
    for (const panel of this.#panels) panel.show(shown, isSmooth);
    this.#scrubber.value = `${shown}`;
    const text = `${this.#settings.slow ? 'time' : 'step'} ${Math.round(shown * 10) / 10}`;
    this.#scrubber.setAttribute('aria-valuetext', text);
    byId('clock').textContent = text;
    byId('play').textContent = isPlaying ? 'Pause' : 'Play';
  }

  /** Keys work outside of the controls, which have their own. */
  #onKey(event: KeyboardEvent): void {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    if (target instanceof Element && target.closest('input, select, button, a')) return;
    const change = KEYS[key];
    if (!change) return;
    event.preventDefault();
    this.#act(change);
  }
}

const KEYS: Readonly<Record<string, (player: Player) => Player>> = {
  ' ': toggled,
  ArrowRight: (player) => stepped(player, 1),
  ArrowLeft: (player) => stepped(player, -1),
  Home: ({ duration }) => playerAt(0, duration),
  End: ({ duration }) => playerAt(duration, duration),
};

new Explorer().start();
