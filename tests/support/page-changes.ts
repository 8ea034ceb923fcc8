import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type {
  Action,
  ActionState,
  Failure,
  Reserve,
  TapPage,
} from '../../src/daemon/domain/tap-page/content.ts'
import { actionCards, checkLine } from '../../src/daemon/pages/tap/cards.ts'
import { laidOut } from '../../src/daemon/pages/tap/collect.ts'
import { type Sample, samplePage } from '../../src/daemon/pages/tap/samples.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { moved, watchPlaces } from './still-page.ts'

// Everything that may become of a page while it is open, in a browser, without a daemon.

interface Change {
  what: string
  /** The answer to a press; else the daemon tells of it by itself. */
  isOfPress?: boolean
  becomes: TapPage
}

const address = '0x52908400098527886E0F7030069857D2E4169EE7'
const name = `${'name'.repeat(50)}.eth`
const hash = `0x${'ab'.repeat(32)}`

const isOpen = ({ state }: Action): boolean => state.is === 'open'

const withState = (
  content: TapPage,
  which: (action: Action) => boolean,
  to: (action: Action) => ActionState,
) => ({
  ...content,
  actions: content.actions.map((action) =>
    which(action) ? { ...action, ...(isOpen(action) && { name }), state: to(action) } : action,
  ),
})

const result = (url: string | undefined) => ({ recipient: address, transaction: { hash, url } })

const ownerKnown = 'the owner is known'

function* changesOf(content: TapPage, now: Date): Generator<Change> {
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString()
  let last = content
  if (content.piece.kind === 'token') {
    last = { ...content, piece: { ...content.piece, owner: { address, name } } }
    yield { what: ownerKnown, becomes: last }
  }
  if (content.actions.some(isOpen)) {
    const failures: Failure[] = [
      { code: 'recipient_invalid', mistyped: { is: 'badge' } },
      { code: 'chain_unavailable', retryAfterSeconds: 5000 },
    ]
    for (const failure of failures) {
      const becomes = withState(last, isOpen, () => ({ is: 'open', recipient: name, failure }))
      yield { what: failure.code, isOfPress: true, becomes }
    }
    const isStep = ({ kind }: Action) =>
      kind === 'register' || content.actions.some((one) => one.kind === 'register' && kind === 'claim')
    const registered: ActionState = {
      is: 'registered',
      recipient: address,
      registeredAt: after(0),
      allowedAt: after(600),
      expiresAt: after(6000),
      isSameTap: true,
    }
    // One after another, as a chain confirms them.
    const order = content.actions.filter(isOpen)
    last = withState(last, isOpen, (one) =>
      isStep(one) ? registered : { is: 'pending', ...result(undefined) },
    )
    yield { what: 'pending', isOfPress: true, becomes: last }
    for (const { kind, id } of order) {
      last = withState(
        last,
        (one) => one.kind === kind && one.id === id && !isStep(one),
        () => ({ is: 'confirmed', ...result('https://explorer.example/tx') }),
      )
      yield { what: `${kind} confirmed`, becomes: last }
    }
  }
  const isWaiting = ({ state }: Action) => state.is === 'registered' && !state.isSameTap
  if (content.actions.some(isWaiting)) {
    last = withState(last, isWaiting, ({ state }) =>
      state.is === 'registered' ? { ...state, allowedAt: after(-10), expiresAt: after(600) } : state,
    )
    yield { what: 'the wait is over', becomes: last }
  }
  for (const reserve of reservesAfter(content.reserve, after(3600)))
    yield { what: `${reserve.is} by e-mail`, isOfPress: true, becomes: { ...last, reserve } }
  yield {
    what: 'the time is over',
    becomes: withState({ ...last, endsAt: after(-1) }, isOpen, () => ({ is: 'closed', reason: 'expired' })),
  }
}

function reservesAfter(reserve: Reserve | undefined, until: string): Reserve[] {
  const email = `${'somebody'.repeat(20)}@example.org`
  const failure = { code: 'rate_limited', retryAfterSeconds: 5000 }
  if (reserve?.is === 'elsewhere')
    return [
      { ...reserve, email, failure },
      { is: 'elsewhere', isAsked: true },
    ]
  if (reserve?.is !== 'open') return []
  const asked = { is: 'asked', email, mail: 'queued', triesLeft: 5, until } as const
  return [
    { is: 'open', isShared: false, email, failure: { code: 'recipient_invalid' } },
    { is: 'open', isShared: false, email, failure },
    asked,
    { ...asked, mail: 'failed' },
    { ...asked, triesLeft: 3, failure: { code: 'mail_code_wrong' } },
    { is: 'kept', mail: 'queued', until, isShared: false },
    { is: 'kept', mail: 'failed', until, isShared: true },
  ]
}

const home = 'https://taps.example'
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600"><rect width="800" height="600" fill="#9ab"/></svg>'

/** Notes shifts of the layout. */
const watchShifts = `
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      // A date that is written anew in the phone's zone may be a line shorter.
      if (!sources.every(({ node }) => node?.previousSibling?.localName === 'time'))
      shifts.push(value.toFixed(4) + ' ' + sources.map(({ node, previousRect: was, currentRect: now }) =>
        [was.x, was.y, '>', now.x, now.y].join(' ') + ' ' + (node?.outerHTML ?? node?.data ?? '').slice(0, 60)).join(' | '))
  }).observe({ type: 'layout-shift', buffered: true })
  // Nobody types here: the rest before a check is none.
  const later = setTimeout
  window.setTimeout = (act, ms) => later(act, ms < 500 ? 0 : ms)`

/** Acts, and waits until the page has shown the answer. */
const untilShown = (act: string) => `new Promise((resolve) => {
  document.addEventListener('tapchip:shown', () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true })
  ${act}
})`
const ask = `document.dispatchEvent(new Event('visibilitychange'))`
const announce = `new Promise((resolve) => {
  dispatchEvent(new CustomEvent('eip6963:announceProvider',
    { detail: { info: { uuid: '1', name: 'A wallet of some name' }, provider: { request: async () => [] } } }))
  requestAnimationFrame(() => requestAnimationFrame(resolve))
})`

/** A page of `https://taps.example` whose answers are set by hand. @param script the page's own, as built */
export async function openChanging(
  page: Page,
  script: string,
  settings: Omit<PageSettings, 'home' | 'script'>,
) {
  const own = { ...settings, home, script: '/t/assets/page.js' }
  let body = ''
  let cards: unknown = []
  let check = { html: '', isGood: false }
  await page.addInitScript(watchPlaces)
  await page.addInitScript(watchShifts)
  await page.route('**/*', (route) => {
    const { origin, pathname } = new URL(route.request().url())
    const json = (value: unknown) => route.fulfill({ json: value })
    if (origin !== home) return route.fulfill({ contentType: 'image/svg+xml', body: picture })
    if (pathname === '/t/assets/page.js')
      return route.fulfill({ contentType: 'text/javascript', body: script })
    if (pathname === '/t/check') return json(check)
    if (pathname === '/t') return route.fulfill({ contentType: 'text/html; charset=utf-8', body })
    return json({ cards, isLive: false })
  })

  /** @returns what moved, and by what */
  async function complaints(state: string, what: string, isStill = true): Promise<string[]> {
    const shifts = await page.evaluate<string[]>('shifts.splice(0)')
    const found = [...(await moved(page)), ...(isStill ? shifts : [])]
    await page.evaluate('moved.length = 0')
    return found.map((one) => `${settings.language} ${state}, ${what}: ${one}`)
  }

  async function typed(state: string, content: TapPage): Promise<string[]> {
    const field = page.locator('form[data-action] input[name=recipient]').first()
    if ((await field.count()) === 0) return []
    const kind = content.collected ? 'collectClaim' : (content.actions.find(isOpen)?.kind ?? 'claim')
    const recipient = { is: 'name', address, name } as const
    const wait = kind === 'register' ? { wait: { seconds: 600 } } : {}
    const checks = {
      good: { html: checkLine({ is: 'good', kind, recipient, isMint: true, ...wait }, own), isGood: true },
      bad: {
        html: checkLine(
          { is: 'bad', failure: { code: 'recipient_invalid', mistyped: { is: 'badge' } } },
          own,
        ),
        isGood: false,
      },
    }
    const found: string[] = []
    for (const [what, answer] of Object.entries(checks)) {
      check = answer
      await field.fill(`${what}.eth`)
      await expect
        .poll(() => page.locator('[data-check][data-good]').first().getAttribute('data-good'), {
          interval: 10,
        })
        .toBe(String(answer.isGood))
      found.push(...(await complaints(state, `the check is ${what}`)))
    }
    return found
  }

  /** Loads a sample as it is. */
  async function show(sample: Sample): Promise<void> {
    cards = []
    body = samplePage(sample, own).body
    await page.goto(`${home}/t`)
  }

  /** Lets happen to a sample all that can. @returns what moved by it */
  async function changeAll(sample: Sample): Promise<string[]> {
    const { state, shows } = sample
    if (!('page' in shows)) {
      await show(sample)
      return complaints(state, 'loaded')
    }
    const { owner: _, ...piece } = shows.page.piece
    const content = laidOut({ ...shows.page, piece: { ...piece, owner: undefined } })
    await show({ ...sample, shows: { page: content } })
    const found = await complaints(state, 'loaded')
    await page.evaluate(announce)
    found.push(...(await complaints(state, 'a wallet is there')))
    found.push(...(await typed(state, content)))
    for (const { what, isOfPress, becomes } of changesOf(content, settings.now)) {
      cards = actionCards(becomes, own)
      const form = what.endsWith('by e-mail') ? 'form[data-action^=reserve]' : 'form[data-action]'
      const press = `document.querySelector('${form}')?.requestSubmit()`
      // What is required is there.
      const fill = `for (const input of document.querySelectorAll('${form} input:not([type=hidden],[type=checkbox])')) if (input.value === '') input.value = input.type === 'email' ? 'a@example.org' : input.name === 'code' ? '123456' : 'bob.eth'`
      const canPress = isOfPress && (await page.locator(form).count()) > 0
      await page.evaluate(untilShown(canPress ? `${fill}; ${press}` : ask))
      // A longer text may move the one after it in the same result, as long as nothing to press moves.
      found.push(...(await complaints(state, what, what === ownerKnown)))
    }
    return found
  }
  return { show, changeAll }
}
