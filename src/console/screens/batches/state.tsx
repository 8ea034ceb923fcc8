import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import type { Batch } from './kinds.ts'
import { words } from './words.ts'

const tones: Readonly<Record<Batch['state'], Tone>> = {
  uploading: 'quiet',
  planned: 'quiet',
  proposed: 'warn',
  scheduled: 'info',
  running: 'info',
  paused: 'warn',
  done: 'good',
  failed: 'bad',
  cancelled: 'quiet',
  undone: 'quiet',
}

export const BatchState = ({ state }: Pick<Batch, 'state'>) => (
  <StateBadge tone={tones[state]}>{words.states[state]}</StateBadge>
)
