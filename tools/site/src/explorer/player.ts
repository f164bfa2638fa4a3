/** The clock of the page: a position between 0 and `duration`, in block times. */
export interface Player {
  readonly time: number;
  readonly duration: number;
  readonly isPlaying: boolean;
}

/** A stopped player at the nearest possible position. */
export function playerAt(time: number, duration: number): Player {
  return { time: Math.min(duration, Math.max(0, time)), duration, isPlaying: false };
}

/** Starts, or stops; at the end it starts again from the beginning. */
export function toggled(player: Player): Player {
  if (player.isPlaying) return { ...player, isPlaying: false };
  return { ...player, isPlaying: true, time: player.time >= player.duration ? 0 : player.time };
}

/** Moves to the next whole step in this direction, and stops there. */
export function stepped(player: Player, direction: 1 | -1): Player {
  const next = direction === 1 ? Math.floor(player.time) + 1 : Math.ceil(player.time) - 1;
  return playerAt(next, player.duration);
}

/** Time has passed: a playing clock goes on, and stops at the end. */
export function advanced(player: Player, milliseconds: number, rate: number): Player {
  if (!player.isPlaying) return player;
  const time = player.time + (milliseconds * rate) / 1000;
  return time < player.duration ? { ...player, time } : playerAt(player.duration, player.duration);
}
