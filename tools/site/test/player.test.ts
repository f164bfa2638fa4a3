import { describe, expect, it } from 'vitest';
import { advanced, playerAt, stepped, toggled } from '../src/explorer/player.js';

describe('the clock', () => {
  it('stays between its ends', () => {
    expect(playerAt(-1, 6).time).toBe(0);
    expect(playerAt(7, 6).time).toBe(6);
    expect(stepped(playerAt(0, 6), -1).time).toBe(0);
    expect(stepped(playerAt(6, 6), 1).time).toBe(6);
  });

  it('steps to whole times, and stops there', () => {
    expect(stepped(playerAt(2.5, 6), 1)).toEqual({ time: 3, duration: 6, isPlaying: false });
    expect(stepped(playerAt(2.5, 6), -1).time).toBe(2);
    expect(stepped(playerAt(2, 6), 1).time).toBe(3);
    expect(stepped(toggled(playerAt(2, 6)), -1)).toEqual({ time: 1, duration: 6, isPlaying: false });
  });

  it('plays at its rate until the end, and then starts again', () => {
    const playing = toggled(playerAt(1, 6));
    expect(advanced(playing, 500, 4)).toEqual({ time: 3, duration: 6, isPlaying: true });
    const ended = advanced(playing, 5000, 4);
    expect(ended).toEqual({ time: 6, duration: 6, isPlaying: false });
    expect(toggled(ended)).toEqual({ time: 0, duration: 6, isPlaying: true });
  });

  it('does not move while it is stopped', () => {
    const stopped = toggled(toggled(playerAt(1, 6)));
    expect(advanced(stopped, 500, 4)).toBe(stopped);
  });
});
