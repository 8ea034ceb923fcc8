import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'quiet'

/** Beside the colour, for those who do not see it. */
const signs: Readonly<Record<Tone, string>> = { good: '●', warn: '▲', bad: '✕', info: '◆', quiet: '○' }

export function StateBadge({
  tone,
  children,
}: {
  readonly tone: Tone
  readonly children: ComponentChildren
}) {
  return (
    <span class="badge" data-tone={tone}>
      <span aria-hidden="true">{signs[tone]}</span>
      {children}
    </span>
  )
}
