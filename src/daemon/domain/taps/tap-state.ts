import { type ReadTapDeps, readTap, type TapQuery } from './read-tap.ts'

export type TapState = 'malformed' | 'unknown' | 'forged' | 'disabled' | 'replayed' | 'fresh'

/** What would become of a tap, without taking it. */
export async function tapState(deps: ReadTapDeps, query: TapQuery): Promise<TapState> {
  const read = await readTap(deps, query)
  if (read.kind !== 'genuine') return read.kind
  if (read.chip.disabledAt !== null) return 'disabled'
  return read.counter > read.chip.lastCounter ? 'fresh' : 'replayed'
}
