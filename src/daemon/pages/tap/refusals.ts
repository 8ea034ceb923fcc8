import type { TeamLook } from '../../domain/tap-page/team-look.ts'
import type { RefusalReason } from '../../domain/taps/open-tap.ts'
import { html, raw } from './html.ts'
import { layout } from './layout.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import type { UnableReason } from './strings/errors.ts'
import { stringsOf } from './strings/strings.ts'
import { teamLinks, teamName } from './team.ts'
import { tryAgainIn } from './wording.ts'

export type Refusal = RefusalReason

/**
 * The chip, the link, or the time is not valid.
 * @param team of the chip, if it did make the tap: anyone else learns nothing
 */
export function refusalPage(reason: Refusal, settings: PageSettings, team?: TeamLook): Page {
  const { refused, refusals } = stringsOf(settings)
  const { title, advice } = refusals[reason]
  return notice({ state: refused, title, advice: [advice], isTap: reason !== 'disabled', team }, settings)
}

/** A mailed link no longer leads to anything that is kept. */
export function keptRefusal(reason: 'ended' | 'unknown', settings: PageSettings): Page {
  const { refused, kept } = stringsOf(settings)
  const { title, advice } = kept[reason]
  return notice({ state: refused, title, advice: [advice], isTap: true }, settings)
}

export interface Failed {
  /** HTTP status code. */
  status: number
  code?: string | undefined
  retryAfterSeconds?: number | undefined
  /** The daemon has just started, and is not ready yet. */
  isStarting?: boolean | undefined
  /** True for a form of the page: the chip need not be tapped again. */
  isForm?: boolean | undefined
}

/** The daemon cannot answer now. @param failed the error, or only its status */
export function failurePage(failed: Failed | number, settings: PageSettings): Page {
  const strings = stringsOf(settings)
  const { refused, notFound, notNow, unable } = strings
  const known = typeof failed === 'number' ? { status: failed } : failed
  const kind = kindOf(known)
  const { title, advice } = unable[kind]
  const state = kind === 'missing' ? notFound : kind === 'malformed' ? refused : notNow
  const wait = known.retryAfterSeconds ?? defaultWaitSeconds[known.status]
  // There may be nothing left to retry.
  const when = wait === undefined || kind === 'interrupted' ? [] : [tryAgainIn(wait, strings)]
  const page = notice({ state, title, advice: [advice, ...when], isTap: known.status !== 429 }, settings)
  return kind === 'busy' && wait !== undefined ? { ...page, reloadsAfter: wait } : page
}

/**
 * The page at the address printed on labels. It is the same for every chip, registered or not: a UID proves nothing,
 * and must not reveal what its chip is attached to.
 */
export const printedPage = (settings: PageSettings): Page => invitation(stringsOf(settings).printed, settings)

/** Says nothing of anybody: for `/`, and for crawlers whose link no chip made. */
export const homePage = (settings: PageSettings): Page => invitation(stringsOf(settings).home, settings)

function invitation({ title, advice }: Record<'title' | 'advice', string>, settings: PageSettings): Page {
  return layout(
    title,
    html`<main class="notice">
${pictogram}
<h1>${title}</h1>
<p>${advice}</p>
</main>`,
    settings,
    { parts: ['notice'] },
  )
}

/** For a phone at a chip, trying again nearly always helps. */
const pictogram = raw(
  '<svg class="pictogram" viewBox="0 0 96 64" width="96" height="64" aria-hidden="true" focusable="false"><rect x="8" y="6" width="30" height="52" rx="6"/><path d="M19 12h8M52 22a16 16 0 0 1 0 20M61 14a28 28 0 0 1 0 36"/><circle cx="82" cy="32" r="6"/></svg>',
)

/** In seconds, if the error does not say how long. */
const defaultWaitSeconds: Record<number, number | undefined> = { 429: 60, 503: 10 }

function kindOf({ status, code, isStarting, isForm }: Failed): UnableReason {
  if (code === 'outcome_unknown') return 'interrupted'
  if (isStarting) return 'starting'
  if (status === 429) return isForm ? 'often' : 'busy'
  if (status === 503) return 'away'
  if (status === 404 || status === 405) return 'missing'
  return status >= 400 && status < 500 ? 'malformed' : 'wrong'
}

interface Notice {
  state: string
  title: string
  advice: readonly string[]
  /** Errors that another tap can resolve. */
  isTap: boolean
  team?: TeamLook | undefined
}

function notice({ state, title, advice, isTap, team }: Notice, plain: PageSettings): Page {
  const settings = { ...plain, ownWords: team?.ownWords }
  return layout(
    title,
    html`${team && html`<header>${teamName(team.brand, settings)}</header>`}
<main class="notice">
${isTap && pictogram}
<p class="state bad"><span class="tick" aria-hidden="true">!</span> ${state}</p>
<h1>${title}</h1>
<p>${advice.join(' ')}</p>
${team?.publicPage && html`<ul class="links"><li><a href="${pathOf(settings, team.publicPage)}">${stringsOf(settings).publicPage.open}</a></li></ul>`}
${team && teamLinks(team.links, settings)}
</main>`,
    settings,
    { brand: team?.brand, parts: ['notice'] },
  )
}
