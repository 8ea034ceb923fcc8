import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { checkLine } from '../../src/daemon/pages/tap/cards.ts'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { failureMessage } from '../../src/daemon/pages/tap/wording.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'
import { openBrowser } from '../support/browser.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { moved, pressAhead, watchPlaces } from '../support/still-page.ts'
import { action, chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = async (at: TapPages, locale: string, width: number) => {
  const phone = await phoneAt(at, phones, { locale, viewport: { width, height: 664 } })
  await phone.context.addInitScript(watchPlaces)
  return phone
}

const kinds = ['claim', 'register', 'badge', 'guestbook'] as const
type Kind = (typeof kinds)[number]
const latencies = [0, 400]
const widths = [320, 390]
const pressesOfEach = 7
const looks = pageLanguages.flatMap((language) => widths.map((width) => ({ language, width })))

/** Presses that are aimed before an answer of the check comes, while it comes, or after it. */
async function pressOften(phone: Awaited<ReturnType<typeof newPhone>>, kind: Kind, latency: number) {
  const chip = latency === 0 ? 1 : 2
  const page = await phone.tap(
    {
      claim: chips.jacket(chip),
      register: chips.art(chip),
      badge: chips.party(chip),
      guestbook: chips.party(2 + chip),
    }[kind],
  )
  const network = await phone.context.newCDPSession(page)
  await network.send('Network.enable')
  const unlimited = { downloadThroughput: -1, uploadThroughput: -1 }
  await network.send('Network.emulateNetworkConditions', { offline: false, latency, ...unlimited })
  const { field, button, is } = action(page, kind)
  for (let press = 0; press < pressesOfEach; press++) {
    await field.fill(`nobody-${press}.eth`)
    const rest = 250 + 60 * press
    await page.evaluate(`new Promise((resolve) => setTimeout(resolve, ${rest}))`)
    const sent = page.waitForRequest(/\/t\/act$/)
    await pressAhead(button, () => page.evaluate('new Promise((resolve) => setTimeout(resolve, 250))'))
    await sent
    await is('failed')
  }
  expect(await moved(page)).toEqual([])
  await phone.close()
  return pressesOfEach
}

test('of 400 presses by fingers that aim 250 ms ahead, on a near and on a far network, none misses', async () => {
  let pressed = 0
  for (const { language, width } of looks) {
    // They wait most of the time, so those of one look are pressed beside each other.
    const together = latencies.flatMap((latency) =>
      kinds.map(async (kind) => pressOften(await newPhone(daemon, language, width), kind, latency)),
    )
    for (const count of await Promise.all(together)) pressed += count
  }
  expect(pressed).toBeGreaterThanOrEqual(400)
}, 1_200_000)

test('when the time of a tap is over, what can still be pressed stays where it is', async () => {
  const brief = await startTapPages({ TAPCHIP_REF_TTL_SECONDS: '6', TAPCHIP_OTP_TTL_SECONDS: '6' })
  onTestFinished(async () => void (await brief.stop()))
  await Promise.all(
    pageLanguages.map(async (language, index) => {
      const phone = await newPhone(brief, language, 320)
      const page = await phone.tap(chips.party(1 + index))
      await expect.poll(() => action(page, 'guestbook').form.count()).toBe(0)
      expect(await moved(page)).toEqual([])
    }),
  )
})

test('every text that a form may have to say has its room, however large the letters are', async () => {
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  const now = new Date()
  const shown = samples(now).flatMap(({ state, shows }) =>
    /^(everything|two-taps|two-taps-second)$/.test(state) && 'page' in shows ? [shows.page] : [],
  )
  const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
  for (const language of pageLanguages)
    for (const width of widths)
      for (const textSize of [100, 200]) {
        const settings = { language, nonce: 'x', now, gateways, script: undefined, home: 'https://t.example' }
        const strings = stringsOf({ language })
        const { reverted, cancelled, ...refusals } = strings.failures
        const failures = [
          ...Object.keys(refusals).map((code) => ({ code })),
          ...['rate_limited', 'chain_unavailable', 'store_unavailable', 'badge_unavailable'].map((code) => ({
            code,
            retryAfterSeconds: 5000,
          })),
          { code: 'recipient_invalid', mistyped: { is: 'unknown-name' } as const },
          { code: 'recipient_invalid', mistyped: { is: 'badge' } as const },
          { code: 'recipient_invalid', mistyped: { is: 'other-chain' } as const },
        ]
        const address = '0x52908400098527886E0F7030069857D2E4169EE7'
        const recipient = { is: 'name', address, name: `${'name'.repeat(60)}.eth` } as const
        const checks = kinds.flatMap((kind) =>
          [true, false].map((isMint) => checkLine({ is: 'good', kind, recipient, isMint }, settings)),
        )
        const page = await browser.newPage({ viewport: { width, height: 844 } })
        for (const content of shown as TapPage[]) {
          const { body } = samplePage({ state: '', status: 200, shows: { page: content } }, settings)
          await page.setContent(body.replace('<style nonce="x">', `$&html{font-size:${textSize}%}`))
          const grown = await page.evaluate<string[]>(`(() => {
            const grown = []
            for (const form of document.querySelectorAll('form')) {
              const card = form.closest('.card')
              const { height } = card.getBoundingClientRect()
              const tell = (line, html) => {
                line.innerHTML = html
                const now = card.getBoundingClientRect().height
                if (now > height + 0.5) grown.push([form.dataset.action, now - height, html].join(' '))
                line.innerHTML = ''
              }
              const status = card.querySelector('[role=status]')
              status.dataset.state = 'failed'
              for (const text of ${JSON.stringify(failures.map((failure) => failureMessage(failure, strings)))})
                tell(status, '<p>' + text + '</p>')
              delete status.dataset.state
              for (const html of ${JSON.stringify(checks)})
                if (html.includes(form.querySelector('[type=submit]').textContent))
                  tell(card.querySelector('[data-check]'), html)
            }
            return grown
          })()`)
          expect(grown).toEqual([])
        }
        await page.close()
      }
})
