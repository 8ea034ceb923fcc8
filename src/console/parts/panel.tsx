import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface PanelProps {
  readonly title: string
  /** Beside the title: a count, a choice. */
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
  readonly className?: string
}

/** A titled box of a screen. */
export function Panel({ title, aside, children, className = '' }: PanelProps) {
  const id = useId()
  return (
    <section class={`panel ${className}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )
}

/** A number with what it counts. */
export function Figure({
  label,
  value,
  note,
}: {
  readonly label: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
}) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note === undefined ? null : <dd class="quiet figure-note">{note}</dd>}
    </div>
  )
}

export interface Ranked {
  readonly key: string
  readonly label: ComponentChildren
  readonly value: number
  readonly shown: string
}

/** Names with counts as bars, largest first. */
export function Ranking({ rows }: { readonly rows: readonly Ranked[] }) {
  const max = Math.max(1, ...rows.map(({ value }) => value))
  return (
    <ol class="ranking">
      {rows.map(({ key, label, value, shown }) => (
        <li key={key}>
          <span class="ranking-label">{label}</span>
          <span class="ranking-value">{shown}</span>
          <span class="ranking-bar" style={{ width: `${(100 * value) / max}%` }} aria-hidden="true" />
        </li>
      ))}
    </ol>
  )
}

/** A name with what is known, in `<dl class="facts">`. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
