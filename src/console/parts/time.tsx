import { useEffect, useState } from 'preact/hooks'
import { formatNumber, locale } from '../words/language.ts'
import { shell } from '../words/shell.ts'

const full = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
const dateOnly = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })

export const formatMoment = (iso: string): string => full.format(new Date(iso))
export const formatClock = (iso: string): string => clock.format(new Date(iso))
export const formatDay = (iso: string): string => dateOnly.format(new Date(iso))

const minuteMs = 60_000

export function formatAgo(iso: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(iso))
  const { ago } = shell
  if (ms < 5000) return ago.now
  if (ms < minuteMs) return ago.seconds(formatNumber(Math.floor(ms / 1000)))
  if (ms < 60 * minuteMs) return ago.minutes(formatNumber(Math.floor(ms / minuteMs)))
  if (ms < 24 * 60 * minuteMs) return ago.hours(formatNumber(Math.floor(ms / (60 * minuteMs))))
  return ago.days(formatNumber(Math.floor(ms / (24 * 60 * minuteMs))))
}

/** The time, again every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

interface TimeProps {
  readonly at: string | null
  /** `moment`: date and time; `clock`: the time of day; `ago`: how long ago. The others show on hover. */
  readonly as?: 'moment' | 'clock' | 'ago'
}

export function Time({ at, as = 'moment' }: TimeProps) {
  if (at === null) return <span class="quiet">{shell.never}</span>
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {as === 'ago' ? <Ago at={at} /> : as === 'clock' ? formatClock(at) : formatMoment(at)}
    </time>
  )
}

const Ago = ({ at }: { readonly at: string }) => <>{formatAgo(at, useNow(10_000))}</>
