import type { LiveTap } from '../../requests.ts'

const minuteMs = 60_000

export interface Minutes {
  /** Seconds since 1970. */
  readonly at: readonly number[]
  readonly valid: readonly number[]
  readonly refused: readonly number[]
}

/** Taps of each of the last minutes, the current one last. */
export function countMinutes(taps: readonly LiveTap[], now: number, minutes: number): Minutes {
  const last = Math.floor(now / minuteMs)
  const first = last - minutes + 1
  const valid = new Array<number>(minutes).fill(0)
  const refused = new Array<number>(minutes).fill(0)
  for (const { at, outcome } of taps) {
    const index = Math.floor(Date.parse(at) / minuteMs) - first
    const counts = outcome === 'valid' ? valid : refused
    if (index >= 0 && index < minutes) counts[index] = (counts[index] ?? 0) + 1
  }
  return { at: valid.map((_, index) => ((first + index) * minuteMs) / 1000), valid, refused }
}
