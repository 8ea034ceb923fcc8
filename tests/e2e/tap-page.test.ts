import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { alice } from '../support/seeds.ts'
import {
  action,
  bob,
  carol,
  chips,
  mediaHost,
  phoneAt,
  setHidden,
  startTapPages,
  type TapPages,
} from '../support/tap-page.ts'

// The page of a chip as a person with a phone meets it.

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = (options?: Parameters<Phones['phone']>[0]) => phoneAt(daemon, phones, options)

const short = (address: string) => new RegExp(`${address.slice(0, 4)}.{0,40}${address.slice(-4)}`, 'i')

test('the script is small, and kept by browsers under a name that changes with it', async () => {
  const built = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'))
  const hash = createHash('sha256').update(built).digest('base64url').slice(0, 16)
  const url = `${daemon.ready.url}/t/assets/page-${hash}.js`
  const head = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } })
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    'content-length': String(built.length),
    'x-content-type-options': 'nosniff',
  })
  const sent = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect([head.status, sent.equals(built)]).toEqual([200, true])
  expect(gzipSync(built).length).toBeLessThan(8000)
  expect((await fetch(url.replace(hash, 'x'))).status).toBe(404)
})

test('a claim: the address is checked while it is typed, and the result comes by itself', async () => {
  const phone = await newPhone()
  const url = daemon.tapUrl(chips.jacket(1))
  const left = await phone.open(url)
  const page = await phone.open(url)
  const claim = action(page, 'claim')
  await expect.poll(() => page.locator('[data-owner]').textContent()).toMatch(/alice\.eth|0x8f/i)

  await claim.field.fill('nobody-here.eth')
  const check = claim.check
  await expect.poll(() => check.getAttribute('data-good')).toBe('false')
  await claim.button.tap()
  await claim.is('failed')
  expect(await claim.field.inputValue()).toBe('nobody-here.eth')
  await claim.field.fill('bob.eth')
  // What is being corrected is not called wrong any more.
  expect(await claim.status.textContent()).toBe('')
  await expect.poll(() => check.getAttribute('data-good')).toBe('true')
  expect(await check.textContent()).toMatch(short(bob))

  const status = await claim.status.elementHandle()
  await claim.button.tap()
  await claim.is('confirmed')
  // A screen reader goes on listening to the same element, and the focus is not lost with the form.
  expect(await status?.evaluate((element) => element.isConnected)).toBe(true)
  await expect.poll(() => claim.form.count()).toBe(0)
  expect(await claim.card.getByRole('link').first().getAttribute('href')).toMatch(
    /^https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}$/,
  )
  await expect.poll(() => page.locator('[data-owner]').textContent()).toMatch(/bob\.eth|0xde70/i)

  // A tab that was left knows it as soon as somebody looks at it.
  await left.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await action(left, 'claim').is('confirmed')
  // Loaded again and gone back to, it says the same.
  await page.reload()
  await claim.is('confirmed')
  await page.goto('about:blank')
  await page.goBack()
  await claim.is('confirmed')
  // Elsewhere the tap is used.
  const stranger = await newPhone()
  const answer = await (await stranger.context.newPage()).goto(url)
  expect([answer?.status(), await answer?.text()]).toEqual([410, expect.stringMatching(/used before/)])
  expect(phone.complaints).toEqual([])
  expect(new Set(phone.asked)).toEqual(new Set([mediaHost]))
})

test('two taps: the second in a new tab of the browser, and the first page goes on', async () => {
  const phone = await newPhone()
  const first = await phone.tap(chips.art(1))
  await action(first, 'register').send(carol)
  await action(first, 'register').is('confirmed')

  // A page that nobody looks at asks for nothing.
  const isLive = (request: Request) => request.url().endsWith('/t/live')
  const cut = first.waitForEvent('requestfailed', isLive)
  await setHidden(first, true)
  await cut
  const asked = first.waitForRequest(isLive)
  await setHidden(first, false)
  await asked

  const second = await phone.tap(chips.art(1))
  const claim = action(second, 'claim')
  expect(await claim.field.inputValue()).toMatch(new RegExp(carol, 'i'))
  // The waiting time ends while the page is open.
  await expect.poll(() => claim.button.isEnabled()).toBe(true)
  await claim.button.tap()
  await claim.is('confirmed')
  await first.reload()
  await action(first, 'register').is('confirmed')
  expect(await action(first, 'claim').card.textContent()).toMatch('claimed after this tap')
  expect(phone.complaints).toEqual([])
})

test('several actions are one form, and each says what became of it', async () => {
  const phone = await newPhone()
  const page = await phone.tap(chips.party(1))
  const [badge, guestbook] = [action(page, 'badge'), action(page, 'guestbook')]
  const form = page.locator('form[data-action]')
  expect(await form.evaluateAll((forms) => forms.map((one) => one.getAttribute('data-action')))).toEqual([
    'collect',
  ])
  expect(await form.locator('[type=checkbox]:checked').count()).toBe(2)
  expect(await form.locator('[name=recipient]').count()).toBe(1)

  // A mistake stays where it was made, and is said once.
  await badge.send('carol@@example')
  await badge.is('failed')
  expect(await badge.check.textContent()).toBe('')
  await guestbook.is('none')
  await guestbook.box.check({ force: true })
  await badge.field.fill('bob.eth')
  expect(await badge.status.textContent()).toBe('')
  await badge.button.tap()
  await Promise.all([badge.is('confirmed'), guestbook.is('confirmed')])
  await expect.poll(() => form.count()).toBe(0)
  await page.reload()
  await Promise.all([badge.is('confirmed'), guestbook.is('confirmed')])

  // What this phone has is refused, and the rest is done.
  const again = await phone.tap(chips.party(2))
  const refused = action(again, 'badge')
  await refused.field.fill(alice)
  await refused.button.tap()
  await Promise.all([refused.is('failed'), action(again, 'guestbook').is('confirmed')])
  expect(await refused.status.textContent()).toMatch(/phone|device/i)
  expect([await refused.field.inputValue(), await refused.box.isChecked()]).toEqual([alice, true])
  expect(await again.locator('form[data-action] [type=checkbox]').count()).toBe(1)
  expect(phone.complaints).toEqual([])
})

test('without JavaScript, everything works as forms do', async () => {
  const phone = await newPhone({ javaScriptEnabled: false, viewport: { width: 390, height: 664 } })
  const isInSight = async (page: Page, kind: 'claim' | 'badge' | 'guestbook') => {
    const { y = -1, height = 0 } = (await action(page, kind).status.boundingBox()) ?? {}
    return y >= 0 && height > 0 && y + height <= 664
  }
  for (const [uid, kinds] of [
    [chips.jacket(2), ['claim']],
    [chips.party(3), ['badge', 'guestbook']],
  ] as const) {
    const page = await phone.tap(uid)
    for (const kind of kinds) {
      await action(page, kind).send('nobody-here.eth')
      await action(page, kind).is('failed')
      expect([await page.title(), await isInSight(page, kind)]).toEqual([
        expect.stringMatching(/^Problem: /),
        true,
      ])
      await action(page, kind).send(carol)
      await page.waitForURL(new RegExp(`/t\\?.*#${kind}-`))
      expect([await page.title(), await isInSight(page, kind)]).toEqual([
        expect.not.stringMatching(/^Problem/),
        true,
      ])
      await expect
        .poll(async () => {
          await page.reload()
          return action(page, kind).status.getAttribute('data-state')
        })
        .toBe('confirmed')
    }
  }
})

test('a browser that keeps nothing, and a network that lets no stream through', async () => {
  const phone = await newPhone()
  const streams: string[] = []
  await phone.context.route(/\/t\/live$/, (route) => {
    const accept = route.request().headers().accept ?? ''
    streams.push(accept)
    return accept === 'text/event-stream' ? route.abort() : route.continue()
  })
  const url = daemon.tapUrl(chips.jacket(3))
  const page = await phone.open(url)
  await phone.context.clearCookies()
  // A press that gets lost keeps what was typed, and can be made again.
  await phone.context.setOffline(true)
  await action(page, 'claim').send('bob.eth')
  await expect.poll(() => action(page, 'claim').status.textContent()).toMatch(/cannot be reached/)
  await phone.context.setOffline(false)
  await action(page, 'claim').button.tap()
  await action(page, 'claim').is('confirmed')
  expect(streams).toContain('application/json')
  const again = await page.goto(url)
  expect([again?.status(), await page.locator('h1').textContent()]).toEqual([410, 'This tap was used before'])
})

test('from the keyboard alone, with a wallet, and with nothing that axe finds', async () => {
  const phone = await newPhone()
  await phone.context.addInitScript(`
    let isRefused = true
    const request = async ({ method }) => {
      if (isRefused) throw { code: 4001 }
      return method === 'eth_requestAccounts' ? ['${carol}'] : []
    }
    addEventListener('keyup', ({ key }) => { if (key === 'Escape') isRefused = false })
    const provider = { request }
    const detail = { info: { uuid: '1', name: '<i>Fox</i>', icon: 'data:,', rdns: 'fox' }, provider }
    addEventListener('eip6963:requestProvider', () =>
      dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })))`)
  const page = await phone.tap(chips.jacket(4))
  const claim = action(page, 'claim')
  expect(await audit(page)).toEqual([])
  const wallet = claim.form.getByRole('button', { name: '<i>Fox</i>' })
  for (let presses = 0; !(await wallet.evaluate((button) => button.matches(':focus'))); presses++) {
    expect(presses).toBeLessThan(20)
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await expect.poll(() => claim.check.textContent()).toMatch(/gave no address/)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Enter')
  await expect.poll(() => claim.field.inputValue()).toBe(carol)
  await expect.poll(() => claim.button.evaluate((button) => button.matches(':focus'))).toBe(true)
  await page.keyboard.press('Enter')
  await claim.is('confirmed')
  expect(await audit(page)).toEqual([])
  expect(await page.evaluate('document.activeElement.closest("[data-card]")?.dataset.card')).toBe('claim-0')
  expect(phone.complaints).toEqual([])
})

test('hostile metadata is text, and stays on a narrow screen whose text is twice as large', async () => {
  const phone = await newPhone({ viewport: { width: 320, height: 640 } })
  const page = await phone.tap(chips.hostile)
  const isWide = () => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
  const textSize = () =>
    page.evaluate<number>("parseFloat(getComputedStyle(document.querySelector('label')).fontSize)")
  const before = await textSize()
  expect(await isWide()).toBe(false)
  await page.evaluate('document.documentElement.style.fontSize = "200%"')
  expect([await isWide(), await textSize()]).toEqual([false, 2 * before])
  expect(await page.locator('img[onerror], [onplay], main script, main style').count()).toBe(0)
  expect(new Set(phone.asked)).toEqual(new Set([mediaHost]))
  expect(phone.complaints).toEqual([])
})

test('a video begins by itself, but for somebody who prefers less motion', async () => {
  const plays = async (reducedMotion: 'reduce' | 'no-preference') => {
    const phone = await newPhone({ reducedMotion })
    await phone.context.addInitScript(
      'window.plays = 0; HTMLMediaElement.prototype.play = async () => void window.plays++',
    )
    const page = await phone.tap(chips.film)
    await page.waitForLoadState('load')
    expect(await page.locator('video[controls][muted]:not([autoplay])').count()).toBe(1)
    return page.evaluate('window.plays')
  }
  expect([await plays('no-preference'), await plays('reduce')]).toEqual([1, 0])
})
