import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { holdAnswers, moved, pressAhead, watchPlaces } from '../support/still-page.ts'
import {
  action,
  bob,
  carol,
  chips,
  phoneAt,
  setHidden,
  startTapPages,
  type TapPages,
} from '../support/tap-page.ts'

// Fingers are on their way for a while: nothing that appears may move what can be pressed or typed in.

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = async (language: string, width: number) => {
  const phone = await phoneAt(daemon, phones, { locale: language, viewport: { width, height: 664 } })
  await phone.context.addInitScript(watchPlaces)
  return phone
}

const next = { claim: chips.jacket, register: chips.art, badge: chips.party }
const looks = pageLanguages.flatMap((language) => [320, 390].map((width) => [language, width] as const))

describe.each(looks)('in %s, %i pixels wide', (language, width) => {
  const words = stringsOf({ language })
  const chip = looks.findIndex(([of, wide]) => of === language && wide === width) + 1

  test('a finger that aims before the answers are there hits what it aims at', async () => {
    // A browser's profile takes longer to open than a page.
    const phone = await newPhone(language, width)
    for (const kind of ['claim', 'register', 'badge'] as const) {
      await phone.context.clearCookies()
      const page = await phone.tap(next[kind](chip))
      const { field, button, check, is, status } = action(page, kind)
      const checks = await holdAnswers(page, '/t/check')
      const presses = await holdAnswers(page, '/t/act')

      await field.fill('nobody-here.eth')
      await pressAhead(button, async () => {
        await checks.letThrough()
        await expect.poll(() => check.getAttribute('data-good')).toBe('false')
      })
      await field.evaluate((element) => element.blur())
      await pressAhead(field, async () => {
        await presses.letThrough()
        await is('failed')
        // A wallet's browser tells of it when it likes.
        await page.evaluate(`dispatchEvent(new CustomEvent('eip6963:announceProvider',
          { detail: { info: { uuid: '1', name: 'A wallet' }, provider: { request() {} } } }))`)
      })
      await expect.poll(() => field.evaluate((element) => element.matches(':focus'))).toBe(true)

      let line = ''
      await field.fill('bob.eth')
      await pressAhead(button, async () => {
        await checks.letThrough()
        await expect.poll(() => check.getAttribute('data-good')).toBe('true')
        line = `${await check.textContent()}`
      })
      expect(line).toContain(words.buttons[kind === 'badge' ? 'collect' : kind])
      expect(line).toMatch(new RegExp(`bob\\.eth \\(${bob.slice(0, 6)}…${bob.slice(-4)}\\)`, 'i'))
      await expect.poll(presses.count).toBe(2)
      await presses.letThrough()
      await expect.poll(() => status.getAttribute('data-state')).not.toBe(null)
      expect(await moved(page), kind).toEqual([])
      await page.close()
    }
  })
})

test('what happens on another page of the same tap moves nothing', async () => {
  const phone = await newPhone('en', 320)
  const url = daemon.tapUrl(chips.party(5))
  const page = await phone.open(url)
  const other = await phone.open(url)
  const guestbook = action(page, 'guestbook')
  await guestbook.choose()
  await guestbook.field.fill('bob.eth')
  await action(other, 'badge').send(carol)
  await action(other, 'badge').is('confirmed')
  const sent = page.waitForRequest(/\/t\/act$/)
  await pressAhead(guestbook.button, async () => {
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await action(page, 'badge').is('confirmed')
  })
  await sent
  await guestbook.is('confirmed')
  expect(await moved(page)).toEqual([])
  // Nobody's finger is on its way while nobody looks.
  const { card } = action(page, 'badge')
  const height = async () => (await card.boundingBox())?.height ?? 0
  const before = await height()
  await setHidden(page, true)
  expect(await height()).toBeLessThan(before)
})

test('the second tap: when the waiting time ends, the button is where it was', async () => {
  const phone = await newPhone('de', 320)
  await action(await phone.tap(chips.art(5)), 'register').send(bob)
  const page = await phone.tap(chips.art(5))
  const claim = action(page, 'claim')
  const sent = page.waitForRequest(/\/t\/act$/)
  await pressAhead(claim.button, () => expect.poll(() => claim.button.isEnabled()).toBe(true))
  await sent
  await claim.is('confirmed')
  expect(await moved(page)).toEqual([])
})
