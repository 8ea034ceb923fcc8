import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import type { LiveTap } from '../../requests.ts'
import { words } from './words.ts'

const tones: Readonly<Record<LiveTap['outcome'], Tone>> = {
  valid: 'good',
  'caught-up': 'quiet',
  replayed: 'warn',
  disabled: 'warn',
  'unknown-chip': 'warn',
  'unknown-key-set': 'warn',
  'wrong-mac': 'bad',
}

export const Outcome = ({ outcome }: Pick<LiveTap, 'outcome'>) => (
  <StateBadge tone={tones[outcome]}>{words.outcomes[outcome]}</StateBadge>
)
