import type { PageLanguage } from '../../../values/page-languages.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'

const dayMs = 86_400_000

type TimeSettings = Pick<PageSettings, 'language' | 'now'>

const formats = new Map<PageLanguage, Intl.DateTimeFormat>()
function formatOf(language: PageLanguage): Intl.DateTimeFormat {
  const known =
    formats.get(language) ??
    new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  formats.set(language, known)
  return known
}

/** A date with its time, in UTC and said so; the script writes it in the phone's zone. @param at ISO 8601 */
export const dateAndTime = (at: string, { language }: Pick<PageSettings, 'language'>): Html =>
  html`<time datetime="${at}" data-at="${at}">${formatOf(language).format(new Date(at))} UTC</time>`

/** As long as dates get. */
export const widestDate = ({ language }: Pick<PageSettings, 'language'>): string =>
  `${formatOf(language).format(Date.UTC(2030, 8, 30, 22, 58))} UTC`

const msUntil = (at: string, { now }: TimeSettings): number => Date.parse(at) - now.getTime()

/** Said in days, not counted down. */
const isLong = (ms: number): boolean => ms >= dayMs

/** @param seconds the script counts them down in the same format */
const clockTime = (seconds: number): string => {
  const rounded = Math.max(0, Math.ceil(seconds))
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60]
  const rest = String(rounded % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

const countdown = (until: string, settings: TimeSettings): Html =>
  html`<time datetime="${until}" data-until="${until}">${clockTime(msUntil(until, settings) / 1000)}</time>`

/** The longest that a countdown gets. */
export const widestTime = html`00:00:00`

/** In the largest unit that is not too coarse. */
export function duration(seconds: number, { duration: texts }: Strings): string {
  const [unit, size] =
    seconds < 60
      ? (['seconds', 1] as const)
      : seconds < 5400
        ? (['minutes', 60] as const)
        : seconds < 2 * 86_400
          ? (['hours', 3600] as const)
          : (['days', 86_400] as const)
  return texts[unit]({ count: Math.max(1, Math.round(seconds / size)) })
}

/** When a claim opens: a countdown with a script, words without; a day or more ahead, days and the date. */
export function opening(allowedAt: string, settings: TimeSettings): Html {
  const { wait, waitWords } = stringsOf(settings).registered
  const ms = msUntil(allowedAt, settings)
  if (isLong(ms))
    return html`<span>${waitWords.days({ count: Math.round(ms / dayMs), date: dateAndTime(allowedAt, settings) })}</span>`
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  const words =
    minutes < 90
      ? waitWords.minutes({ count: minutes })
      : waitWords.hours({ count: Math.round(minutes / 60) })
  return html`<span class="ticks">${wait({ time: countdown(allowedAt, settings) })}</span><span class="still">${words}</span>`
}

/** The end of a registration. */
export function holding(expiresAt: string, settings: TimeSettings): Html {
  const { until, untilDays } = stringsOf(settings).registered
  const ms = msUntil(expiresAt, settings)
  if (isLong(ms))
    return html`<span>${untilDays({ count: Math.round(ms / dayMs), date: dateAndTime(expiresAt, settings) })}</span>`
  return html`<span class="ticks">${until({ time: countdown(expiresAt, settings) })}</span>`
}

/** The time left for a page's actions. */
export function timeLeft(endsAt: string, settings: TimeSettings): Html {
  const strings = stringsOf(settings)
  const ms = msUntil(endsAt, settings)
  const atMost = strings.timeAtMost({
    time:
      ms < 5_400_000
        ? strings.duration.minutes({ count: Math.max(1, Math.floor(ms / 60_000)) })
        : duration(ms / 1000, strings),
  })
  if (isLong(ms)) return html`<span>${atMost}</span>`
  return html`<span class="ticks">${strings.timeLeft({ time: countdown(endsAt, settings) })}</span><span class="still">${atMost}</span>`
}

/** @param minutes since the tap; at least one */
export function genuineSince(minutes: number, { genuineSince: texts }: Strings): string {
  if (minutes < 90) return texts.minutes({ count: minutes })
  const hours = Math.round(minutes / 60)
  return hours < 48 ? texts.hours({ count: hours }) : texts.days({ count: Math.round(hours / 24) })
}
