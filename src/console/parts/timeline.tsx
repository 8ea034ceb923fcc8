import type { ComponentChildren } from 'preact'
import type { Tone } from './state-badge.tsx'
import { formatDay, Time } from './time.tsx'

export interface TimelineEntry {
  readonly key: string
  readonly at: string
  readonly tone: Tone
  readonly title: ComponentChildren
  readonly by?: string | null | undefined
  readonly children?: ComponentChildren
}

/** Newest first, with a heading a day. */
export function Timeline({
  entries,
  label,
}: {
  readonly entries: readonly TimelineEntry[]
  readonly label: string
}) {
  const days = new Map<string, TimelineEntry[]>()
  for (const entry of entries) {
    const day = formatDay(entry.at)
    days.set(day, [...(days.get(day) ?? []), entry])
  }
  return (
    <div class="timeline">
      {[...days].map(([day, ofDay]) => (
        <section key={day} aria-label={`${label}, ${day}`}>
          <h3>{day}</h3>
          <ol>
            {ofDay.map(({ key, at, tone, title, by, children }) => (
              <li key={key} data-tone={tone}>
                <div class="timeline-head">
                  <Time at={at} as="clock" />
                  <strong>{title}</strong>
                  {by ? <span class="quiet">{by}</span> : null}
                </div>
                {children === undefined ? null : <div class="timeline-body">{children}</div>}
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
  )
}
